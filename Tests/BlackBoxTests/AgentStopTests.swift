import CoreTypes
import Files
import Foundation
import Glibc
import PullboxAPI
import PullboxTesting
import SystemCalls
import Testing

/// SIGTERM while the agent is busy with a disk on which every call takes long.
@Suite("The agent ends in time on a slow disk", .serialized, .timeLimit(.minutes(10)))
struct AgentStopTests {
  private static let deadline: Duration = .seconds(10)

  /// Sends SIGTERM and expects the agent to end well within ``deadline``.
  private static func expectEnd(of stack: Stack, _ what: Comment) async throws {
    let clock = ContinuousClock()
    let begin = clock.now
    let ending = try await stack.terminate(.agent)
    #expect(ending == .exited(0), what)
    #expect(clock.now - begin < deadline, what)
  }

  @Test("while it syncs and while it hashes (R8)") func syncingAndHashing() async throws {
    try await Stack.with(Stack.Options(parts: [.store, .server])) { stack in
      let product = "com.example.slow"
      let file = try await Material.file("issue.cbz", length: 40 << 20, in: stack.directory)
      try await stack.publish(file, as: product)
      let slow = try await KillPoint(in: stack.directory)
      // A dozen calls, none of which can be stopped while it waits.
      try await stack.start(.agent, environment: slow.environment(delaying: .syncs, byMilliseconds: 500))
      try slow.arm()
      #expect(try await stack.agent.buy(product).status == 201)
      _ = try await stack.agent.download(of: product) { $0.reason == "placing" }
      try await Self.expectEnd(of: stack, "syncing")
      let calls = try slow.disarm().count
      #expect(calls > 0)

      try await stack.start(.agent)
      _ = try await stack.agent.finishedTransaction(of: product)
      try await stack.terminate(.agent)

      try await stack.start(.agent, environment: slow.environment(delaying: .reads, byMilliseconds: 300))
      try slow.arm()
      async let verification = stack.agent.web.post("/v1/library/\(product)/verify")
      // There are about 160 reads, which take 48 seconds.
      try await eventually { slow.count > 5 }
      try await Self.expectEnd(of: stack, "hashing")
      _ = try? await verification
      #expect(try slow.disarm().count < 100)
    }
  }

  @Test("a terminal that goes away does not end it (K21)") func hangUp() async throws {
    try await Stack.with { stack in
      try await stack.signal(.agent, SIGHUP)
      #expect(try await stack.agent.web.get("/v1/status").status == 200)
      try await Self.expectEnd(of: stack, "after a hang-up")
    }
  }

  @Test("while it inflates (R8)") func inflating() async throws {
    try await Stack.with(Stack.Options(parts: [.store, .server])) { stack in
      let product = "com.example.deflated"
      let folder = stack.directory.path("deflated")
      try FileSystem.createDirectories(folder)
      let line = Array("All in color for a dime, and the story goes on. ".utf8)
      let text = (0..<(24 << 20) / line.count).flatMap { _ in line }
      try DurableFile.write(text.span, to: folder + "/story.txt")
      try await stack.publishByCommand(folder, as: product)
      let slow = try await KillPoint(in: stack.directory)
      try await stack.start(.agent, environment: slow.environment(delaying: .writes, byMilliseconds: 150))
      stack.serverProxy.hold(at: 100)
      #expect(try await stack.agent.buy(product).status == 201)
      // It has next to nothing to inflate before the writes are slow.
      await stack.serverProxy.waitUntilHeld()
      try slow.arm()
      stack.serverProxy.release()
      try await eventually { slow.count > 10 }
      try await Self.expectEnd(of: stack, "inflating")
      _ = try slow.disarm()
      try await stack.start(.agent)
      _ = try await stack.agent.finishedTransaction(of: product)
    }
  }
}
