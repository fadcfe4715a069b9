import Commerce
import CoreTypes
import Crypto
import HTTPClient
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

@Suite("Completions from outside", .timeLimit(.minutes(10)))
struct CompletionTests {
  private static let product = "com.example.completed"
  private static let device = "device-of-the-reader"

  @Test(
    "a completion before the bytes were sent, or with another digest, version, length or device, is refused, and the transaction stays unfinished"
  )
  func mismatches() async throws {
    try await Stack.with(Stack.Options(parts: [.store, .server])) { stack in
      let file = try await Material.file("file.cbz", length: 500_000, in: stack.directory)
      try await stack.publish(file, as: Self.product)
      let grant = try await stack.grant(of: Self.product, device: Self.device)
      let honest = Self.report(of: grant)

      let early = try await Self.complete(grant, honest, in: stack)
      #expect(early.status == 409)
      #expect(early.problem?.code == .completionMismatch)
      #expect(early.problem?.missingStep == "delivery")

      let content = try await stack.server.get(
        grant.download.contentURL, headers: [("Authorization", "Bearer \(grant.download.ticket)")])
      #expect(content.status == 200)

      var cases: [(CompletionReport, String)] = []
      var report = honest
      report.digest = SHA256Digest.of([1, 2, 3])
      cases.append((report, "digest"))
      report = honest
      report.version = try #require(ContentVersion("9.9"))
      cases.append((report, "version"))
      report = honest
      report.length = ByteCount(1)
      cases.append((report, "length"))
      report = honest
      report.device = DeviceIdentifier("another-device")
      cases.append((report, "device"))
      for (report, step) in cases {
        let answer = try await Self.complete(grant, report, in: stack)
        #expect(answer.status == 409, "\(step): \(answer.text)")
        #expect(answer.problem?.code == .completionMismatch)
        #expect(answer.problem?.missingStep == step)
      }
      #expect(try await stack.unfinishedTransactions().count == 1)

      let answer = try await Self.complete(grant, honest, in: stack)
      #expect(answer.status == 200, "\(answer.text)")
      #expect(try answer.decoded(CompletionResponse.self).state == .finished)
      #expect(try await stack.unfinishedTransactions().isEmpty)
    }
  }

  @Test("a completion reported while the store is down is finished once it is back")
  func storeDown() async throws {
    try await Stack.with(Stack.Options(parts: [.store, .server])) { stack in
      let file = try await Material.file("file.cbz", length: 500_000, in: stack.directory)
      try await stack.publish(file, as: Self.product)
      let grant = try await stack.grant(of: Self.product, device: Self.device)
      _ = try await stack.server.get(
        grant.download.contentURL, headers: [("Authorization", "Bearer \(grant.download.ticket)")])
      await stack.kill(.store)

      let answer = try await Self.complete(grant, Self.report(of: grant), in: stack)
      #expect(answer.status == 202, "\(answer.text)")
      #expect(try answer.decoded(CompletionResponse.self).state == .completed)
      // The server's promise outlives the server.
      try await stack.restart(.server)
      try await stack.start(.store)
      try await eventually { try await stack.unfinishedTransactions().isEmpty }
      try await eventually {
        try await stack.device(holding: grant).get("/v1/grants/\(grant.grant)").decoded(GrantStatus.self)
          .state
          == .finished
      }
    }
  }

  @Test("while the store is down grants are undetermined, the agent waits, and goes on by itself")
  func agentWaitsForStore() async throws {
    try await Stack.with { stack in
      let file = try await Material.file("file.cbz", length: 2 << 20, in: stack.directory)
      try await stack.publish(file, as: Self.product)
      // A product that another device buys is not the agent's to deliver.
      _ = try await stack.agent.buy(Self.product)
      let receipt = try await stack.receipt(device: Self.device)
      _ = try await stack.agent.finishedTransaction(of: Self.product)

      try await stack.publish(
        try await Material.file("second.cbz", length: 2 << 20, seed: 3, in: stack.directory),
        as: "com.example.second")
      stack.serverProxy.hold(at: 1 << 20)
      _ = try await stack.agent.buy("com.example.second")
      await stack.serverProxy.waitUntilHeld()
      await stack.kill(.store)
      let answer = try await stack.askForGrant(of: Self.product, receipt: receipt, device: Self.device)
      #expect(answer.status == 503)
      #expect(answer.problem?.code == .verificationUndetermined, "\(answer.text)")
      #expect(answer.headers["Retry-After"].flatMap { Int($0) }.map { $0 > 0 } == true)

      // The bytes need no store: placed and reported, but not finished.
      stack.serverProxy.release()
      let waiting = try await stack.agent.transaction(of: "com.example.second") {
        $0.step == "waiting-for-server"
      }
      #expect(waiting.state == "purchased")
      try await stack.start(.store)
      _ = try await stack.agent.finishedTransaction(of: "com.example.second")
      #expect(try await stack.unfinishedTransactions().isEmpty)
    }
  }

  /// The report of an honest device without a key.
  private static func report(of grant: GrantResponse) -> CompletionReport {
    CompletionReport(
      digest: grant.download.digest, version: grant.download.version, length: grant.download.length,
      placedAt: SystemWallClock().now())
  }

  private static func complete(
    _ grant: GrantResponse, _ report: CompletionReport, in stack: Stack
  ) async throws -> Answer {
    try await stack.device(holding: grant).post("/v1/grants/\(grant.grant)/completion", report)
  }
}
