import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import Crypto
import Database
import Files
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords
@testable import DownloadAgent

/// The whole agent where what a service said is taken back, or was wrong.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SecondChanceTests {
  private static let mebibyte = 1 << 20
  private static let quick = Backoff(initial: .milliseconds(20), factor: 1, cap: .milliseconds(20), jitter: 0)
  /// Refusals are asked about at once.
  private static let attentive = RetryPolicy(
    backoff: quick, checks: quick, longestRequestedDelay: .milliseconds(40), requestedJitter: 0)

  @Test("a revocation that is taken back goes on by itself, from the same byte (K6)") func reinstated()
    async throws
  {
    let package = try FixturePackage.file(length: 4 * Self.mebibyte)
    let server = FakeServer([package])
    server.change {
      $0.contentFaults = [.cut(after: 2 * Self.mebibyte), .problem(.entitlementRevoked)]
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url, retry: Self.attentive) { agent in
        server.change { $0.refusals["POST /v1/grants"] = [] }
        try server.queuePurchase()
        _ = try await agent.transaction("finished")
      }
    }
    #expect(try harness.placed(package))
    #expect(server.timesSent(package).allSatisfy { $0 == 1 })
  }

  @Test("while a refusal stands it is asked about, and what failed stays shown as failed (K6)")
  func standing()
    async throws
  {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    server.change { $0.refusals["POST /v1/grants"] = [Problem(.purchaseRequired)] }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url, retry: Self.attentive) { agent in
        try server.queuePurchase()
        _ = try await agent.transaction("delivering", "download-failed")
        let asked = server.state.current.asked.count { $0 == "POST /v1/grants" }
        while server.state.current.asked.count(where: { $0 == "POST /v1/grants" }) < asked + 3 {
          #expect(try await harness.downloads().map(\.state) == [.failed])
        }
        server.change { $0.refusals = [:] }
        _ = try await agent.transaction("finished")
      }
    }
  }

  @Test("a version that is withdrawn in mid-download gives way to its correction (K6)") func corrected()
    async throws
  {
    let first = try FixturePackage.file(length: 3 * Self.mebibyte)
    let second = try FixturePackage.file(length: 2 * Self.mebibyte, version: "1.1", seed: 8)
    let server = FakeServer([first])
    server.change {
      $0.contentFaults =
        [.cut(after: Self.mebibyte)] + Array(repeating: .problem(.contentWithdrawn), count: 1000)
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url, retry: Self.attentive) { agent in
        try server.queuePurchase()
        let asking = try await agent.download(.waiting, "content-withdrawn")
        #expect(asking.error?.code == .contentWithdrawn)
        server.change {
          $0.package = [first, second]
          $0.contentFaults = []
        }
        _ = try await agent.transaction("finished")
      }
    }
    #expect(try harness.placed(second))
    #expect(try FileSystem.list("\(harness.library)/.staging").isEmpty)
  }

  @Test("a publisher's key that was wrong for a while is judged by a new grant after a restart (K6)")
  func mendedKey() async throws {
    let key = try #require(SigningKey(seed: [UInt8](repeating: 7, count: 32)))
    let other = try #require(SigningKey(seed: [UInt8](repeating: 8, count: 32)))
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    server.change { state in
      state.publisherKeys = [other.verificationKey.publisherKeyIdentifier]
      state.signingKeys = [key]
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url) { agent in
        let reason = try await agent.ended().reason
        #expect(reason == "publisher-signature")
      }
      server.change { $0.publisherKeys = [key.verificationKey.publisherKeyIdentifier] }
      try await harness.run(server: url) { agent in _ = try await agent.transaction("finished") }
    }
    #expect(try harness.placed(package))
  }

  @Test("what a failed download has staged goes once it is old, and not before (R17)", arguments: [6, 8])
  func oldStaging(days: Int64) async throws {
    let package = try FixturePackage.file(length: 4 * Self.mebibyte)
    let server = FakeServer([package])
    server.change { $0.contentFaults = [.cut(after: 2 * Self.mebibyte), .problem(.entitlementRevoked)] }
    let harness = try AgentHarness()
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url) { agent in _ = try await agent.download(.failed) }
      server.change { $0.refusals["POST /v1/grants"] = [Problem(.entitlementRevoked)] }
      #expect(try FileSystem.list("\(harness.library)/.staging").count == 1)
      let database = try AgentDatabase(path: harness.directory.path("state/agent.sqlite"))
      try database.database.writeBlocking(locking: [.everything]) { connection in
        try connection.execute(
          "UPDATE content_jobs SET failed_at = failed_at - ?", [.integer(days * 86_400_000)])
      }
      database.close()
      try await harness.run(server: url) { agent in
        let kept = try await agent.download(.failed)
        if days < 7 {
          #expect(kept.bytesVerified == .mebibytes(2))
          #expect(try FileSystem.list("\(harness.library)/.staging").count == 1)
        } else {
          while try !FileSystem.list("\(harness.library)/.staging").isEmpty { await Task.yield() }
          #expect(try await harness.downloads().map(\.bytesVerified) == [.zero])
        }
      }
    }
  }

  @Test("a server that was restored from a backup gets its grant again when content is reported (K8)")
  func restoredServer() async throws {
    let package = try FixturePackage.file(length: 2 * Self.mebibyte)
    let server = FakeServer([package])
    server.change { $0.refusals["POST /v1/grants/completion"] = [Problem(.unavailable)] }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        _ = try await agent.download(.waiting, "server-unavailable")
        server.change { state in
          state.grants = [:]
          state.refusals = [:]
        }
        _ = try await agent.transaction("finished")
      }
    }
    #expect(server.state.current.asked.count { $0 == "POST /v1/grants" } == 2)
    #expect(server.timesSent(package).allSatisfy { $0 == 1 })
  }

  @Test("a server that has lost its count of what it sent sends it again, and the transaction ends (K8)")
  func lostCount() async throws {
    let package = try FixturePackage.file(length: 2 * Self.mebibyte)
    let server = FakeServer([package])
    server.change {
      $0.refusals["POST /v1/grants/completion"] = [Problem(.completionMismatch, missingStep: .delivery)]
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url) { agent in
        _ = try await agent.transaction("delivering", "download-failed")
        server.change { $0.refusals = [:] }
        let failed = try #require(try await harness.downloads().first)
        #expect(try await harness.ask("POST", "/v1/downloads/\(failed.id)/resume").status == 200)
        _ = try await agent.transaction("finished")
      }
    }
    #expect(server.timesSent(package).allSatisfy { $0 == 2 })
    #expect(try harness.placed(package))
  }

  @Test("a cancelled download shows no bytes (D18)") func cancelled() async throws {
    let package = try FixturePackage.file(length: 4 * Self.mebibyte)
    let server = FakeServer([package])
    server.change { $0.contentFaults = [.stall(after: 2 * Self.mebibyte)] }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        let active = try await agent.event { event in
          guard case .download(let status) = event else { return false }
          return status.bytesVerified == .mebibytes(2)
        }
        guard case .download(let status) = active else { return }
        let answer = try await harness.ask("POST", "/v1/downloads/\(status.id)/cancel")
        let cancelled = try APIJSON.decode(DownloadStatus.self, from: answer.body)
        #expect(cancelled.bytesVerified == .zero && cancelled.progress == 0)
        #expect(cancelled.bytesReceived >= .mebibytes(2))
      }
    }
  }

  @Test("a waiting download says when it tries again, also after a restart") func notBefore() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    server.change { $0.refusals["POST /v1/grants"] = [Problem(.unavailable, retryAfterSeconds: 600)] }
    let harness = try AgentHarness()
    let patient = RetryPolicy(backoff: Self.quick)
    try await server.open { url in
      try server.queuePurchase()
      let first = try await harness.run(server: url, retry: patient) { agent in
        try await agent.download(.waiting, "server-unavailable")
      }
      let second = try await harness.run(server: url, retry: patient) { agent in
        try await agent.download(.waiting, "server-unavailable")
      }
      let due = try #require(first.notBefore)
      #expect(due - SystemWallClock().now() > .seconds(500) && second.notBefore == due)
      #expect(server.state.current.asked.count { $0 == "POST /v1/grants" } == 1)
    }
  }
}
