import Files
import Foundation
import PullboxAPI
import PullboxTesting
import SystemCalls
import Testing

/// The threads that run in an agent that has nothing to do, seen from outside.
@Suite("The threads of an agent, and of those who follow it", .timeLimit(.minutes(10)))
struct AgentThreadsTests {
  @Test("none is libdispatch's, whose workers are counted every second")
  func names() async throws {
    try await Stack.with(Stack.Options(parts: [.store, .server, .agent])) { stack in
      #expect(try await stack.agent.transactions().isEmpty)
      let process = try #require(await stack.processIdentifier(of: .agent))
      @Sendable func threadNames() throws -> [String] {
        try FileSystem.list("/proc/\(process)/task").map { thread in
          try Executables.text("/proc/\(process)/task/\(thread.name)/comm").trimmingCharacters(in: .newlines)
        }
      }
      // A thread that has not named itself has the program's name: the first one, and those of libdispatch, which would stay.
      // Tasks have run by then, and soon one sleeps. One that begins has the program's name for a moment.
      try await eventually {
        guard let names = try? threadNames() else { return false }
        // A sanitizer may have one of its own.
        let unnamed = names.count { $0 == "pullbox-agent" }
        return (unnamed == 1 || Sanitizer.isUsed && unnamed == 2) && names.contains("pullbox-task")
          && names.contains("pullbox-sleep")
      }
    }
  }

  @Test("none is in a command that follows an agent where nothing moves")
  func follower() async throws {
    try await Stack.with { stack in
      let product = "com.example.paused"
      let file = try await Material.file("file.cbz", length: 500_000, in: stack.directory)
      try await stack.publish(file, as: product)
      stack.serverProxy.hold(at: 100)
      _ = try await stack.agent.buy(product)
      await stack.serverProxy.waitUntilHeld()
      stack.serverProxy.setReachable(false)
      _ = try await stack.agent.download(of: product) { $0.state == .waiting }
      let follower = try stack.startPullbox("downloads", "--watch", "--json")
      // The list of the downloads is there: it waits for the next event.
      try await eventually { try Executables.text(stack.directory.path("pullbox.log")).contains(product) }
      @Sendable func threadNames() throws -> [String] {
        try FileSystem.list("/proc/\(follower.identifier)/task").map { thread in
          try Executables.text("/proc/\(follower.identifier)/task/\(thread.name)/comm")
            .trimmingCharacters(in: .newlines)
        }
      }
      // A thread that begins has its maker's name for a moment, and one that ends is listed once more. libdispatch's would stay.
      try await eventually {
        guard let names = try? threadNames() else { return false }
        let unnamed = names.count { $0 == "pullbox" }
        return (unnamed == 1 || Sanitizer.isUsed && unnamed == 2) && names.contains("pullbox-task")
      }
      _ = await follower.terminateAndWait()
    }
  }
}
