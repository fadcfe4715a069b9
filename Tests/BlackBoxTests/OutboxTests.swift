import Commerce
import CoreTypes
import Files
import Foundation
import HTTPClient
import PullboxAPI
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

@Suite("Store calls of a server that is killed", .serialized, .timeLimit(.minutes(15)))
struct OutboxTests {
  private static let device = "device-of-the-reader"

  /// A grant of a product of its own, whose bytes were fetched.
  private func delivered(_ product: String, in stack: Stack) async throws -> GrantResponse {
    let file = try await Material.file("\(product).cbz", length: 50_000, in: stack.directory)
    try await stack.publish(file, as: product)
    let grant = try await stack.grant(of: product, device: Self.device)
    let content = try await stack.server.get(
      grant.download.contentURL, headers: [("Authorization", "Bearer \(grant.download.ticket)")])
    #expect(content.status == 200)
    return grant
  }

  private func complete(_ grant: GrantResponse, in stack: Stack) async throws -> Answer {
    let report = CompletionReport(
      digest: grant.download.digest, version: grant.download.version, length: grant.download.length,
      placedAt: SystemWallClock().now())
    return try await stack.device(holding: grant).post("/v1/grants/\(grant.grant)/completion", report)
  }

  private func becomesFinished(_ grant: GrantResponse, in stack: Stack) async throws {
    try await eventually {
      try await stack.device(holding: grant).get("/v1/grants/\(grant.grant)").decoded(GrantStatus.self).state
        == .finished
    }
    #expect(try await stack.unfinishedTransactions().isEmpty)
    let calls = try await stack.operatorWeb.get("/v1/operator/outbox").decoded(Page<OutboxCall>.self).items
    #expect(calls.filter { $0.transaction == grant.transaction.description }.map(\.state) == [.done])
  }

  @Test(
    "ended before any durable step of a completion, the next server and the same report finish it once",
    arguments: [SIGKILL, SIGTERM])
  func endedAtEachStep(signal: Int32) async throws {
    try await Stack.with(Stack.Options(parts: [.store])) { stack in
      let killPoint = try await KillPoint(in: stack.directory)
      var step = 1
      var isKilled = true
      while isKilled {
        try await stack.start(
          .server,
          environment: killPoint.environment(step: step, .order, signal: signal == SIGKILL ? nil : signal))
        let grant = try await delivered("com.example.step\(step)", in: stack)
        try killPoint.arm()
        // The answer is lost with the server, or the server ends after it.
        _ = try? await complete(grant, in: stack)
        isKilled = try killPoint.disarm().count >= step
        if isKilled {
          _ = try await stack.ending(of: .server)
          await stack.kill(.server)
        } else {
          try await stack.terminate(.server)
        }
        try await stack.start(.server)
        _ = try await complete(grant, in: stack)
        try await becomesFinished(grant, in: stack)
        await stack.kill(.server)
        step += 1
      }
      #expect(step > 2, "a completion has no durable step")
    }
  }

  @Test(
    "ended in the middle of a call to a store that hangs, the server makes it after the next start",
    arguments: [true, false])
  func endedInMidCall(isKilled: Bool) async throws {
    try await Stack.with(Stack.Options(parts: [.store])) { stack in
      try await stack.start(.server, arguments: ["--store-patience", "2s"])
      let grant = try await delivered("com.example.hung", in: stack)
      try await stack.signal(.store, SIGSTOP)
      let answer = try await complete(grant, in: stack)
      #expect(answer.status == 202, "\(answer.text)")
      if isKilled { await stack.kill(.server) } else { try await stack.terminate(.server) }
      try await stack.signal(.store, SIGCONT)
      try await stack.start(.server)
      try await becomesFinished(grant, in: stack)
    }
  }

  @Test("the command shows calls, drops one, and has it made after all")
  func command() async throws {
    try await Stack.with(Stack.Options(parts: [.store, .server])) { stack in
      #expect(try await stack.pullbox("outbox").errors.contains("no calls"))
      let grant = try await delivered("com.example.shown", in: stack)
      await stack.kill(.store)
      #expect(try await complete(grant, in: stack).status == 202)
      let shown = try await stack.pullbox("outbox", "--state", "waiting", "--json")
      let call = try APIJSON.decode(OutboxCall.self, from: Array(shown.output.utf8))
      #expect(call.transaction == grant.transaction.description)
      let table = try await stack.pullbox("outbox")
      #expect(table.output.contains("LAST ERROR"))
      #expect(table.output.contains(grant.transaction.description))

      for arguments in [
        ["outbox", "--state", "lost"], ["outbox", "--retry", "x"], ["outbox", "--reason", "none"],
        ["outbox", "--retry", "1", "--drop", "1"], ["outbox", "--retry-parked", "--drop", "1"],
        ["outbox", "--retry-parked", "--state", "parked"],
      ] {
        #expect(try await stack.pullbox(arguments).ending == .exited(2))
      }
      #expect(try await stack.pullbox("outbox", "--drop", "\(call.id)").ending == .exited(1))
      #expect(
        try await stack.pullbox("outbox", "--drop", "999", "--reason", "x").errors.contains(
          "no such store call"))
      // Refused while the call is being made, which the server does again and again by itself.
      var dropped: Executables.Outcome
      repeat {
        dropped = try await stack.pullbox("outbox", "--drop", "\(call.id)", "--reason", "a test", "--json")
      } while dropped.errors.contains("the call is being made")
      #expect(dropped.succeeded, "\(dropped.errors)")
      #expect(try APIJSON.decode(OutboxCall.self, from: Array(dropped.output.utf8)).state == .dropped)
      #expect(try await stack.pullbox("audit", "--action", "outbox.drop").output.contains("a test"))

      try await stack.start(.store)
      let retried = try await stack.pullbox("outbox", "--retry", "\(call.id)")
      #expect(retried.succeeded, "\(retried.errors)")
      try await becomesFinished(grant, in: stack)

      // A call that is over is said to be.
      let again = try await stack.pullbox("outbox", "--retry", "\(call.id)")
      #expect(again.succeeded && again.output.contains("done"), "\(again.output)")
      #expect(
        again.errors.contains("accepted call \(call.id) before: it is not made again"), "\(again.errors)")
      let late = try await stack.pullbox("outbox", "--drop", "\(call.id)", "--reason", "too late")
      #expect(late.ending == .exited(1) && late.output.contains("done"), "\(late.output)")
      #expect(
        late.errors.contains("accepted call \(call.id) before: it cannot be dropped any more"),
        "\(late.errors)")
      try await becomesFinished(grant, in: stack)
    }
  }

  @Test("parked calls are made again with one command, those of one store where it says so")
  func retryParked() async throws {
    try await Stack.with(Stack.Options(parts: [.store])) { stack in
      try await stack.start(.server, environment: ["PULLBOX_STORE_REFUSALS": "1"])
      let grant = try await delivered("com.example.parked", in: stack)
      await stack.kill(.store)
      // A store that knows nothing of the transaction refuses to finish it.
      try FileSystem.removeRecursively(stack.directory.path("store"))
      try await stack.start(.store)
      #expect(try await complete(grant, in: stack).status == 202)
      func parked() async throws -> [OutboxCall] {
        try await stack.operatorWeb.get("/v1/operator/outbox?state=parked").decoded(Page<OutboxCall>.self)
          .items
      }
      try await eventually { try await parked().count == 1 }
      let elsewhere = try await stack.pullbox("outbox", "--retry-parked", "--store-name", "elsewhere")
      #expect(elsewhere.errors.contains("no calls"))
      #expect(try await parked().map(\.attempts) == [1])
      let retried = try await stack.pullbox("outbox", "--retry-parked", "--store-name", "sandbox", "--json")
      #expect(try APIJSON.decode(OutboxCall.self, from: Array(retried.output.utf8)).state == .waiting)
      try await eventually { try await parked().map(\.attempts) == [2] }
    }
  }
}
