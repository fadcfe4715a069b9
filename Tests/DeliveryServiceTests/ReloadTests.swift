import CoreTypes
import DeliveryTesting
import Files
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import SystemCalls
import Testing

@testable import ContentDelivery
@testable import DeliveryService

@Suite("Reloading")
struct ReloadTests {
  private static let small = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 13 >> 2) }
  let small = Self.small

  private func keyFile(_ server: ServerHarness) -> String {
    TicketKeyFile.path(in: server.configuration.state)
  }

  @Test(
    "a rotated key seals from then on, and tickets that are out stay good on open and new connections",
    .enabled(if: !TestDatabase.isOnServer))
  func rotation() async throws {
    try await ServerHarness.run { server in
      try await server.publish(small)
      let before = try await server.grantForPurchase()
      #expect(try await server.fetch(before).status == 200)
      let id = try TicketKeyFile.rotate(keyFile(server), at: server.clock.now(), memory: .seconds(3600))
      #expect(id == 2)
      let configuration = server.configuration
      await server.server.reload { configuration }
      #expect(try await server.fetch(before).status == 200)
      let renewed = try await server.renew(before)
      #expect(renewed.ticket != before.download.ticket)
      #expect(try await server.fetch(before, ticket: renewed.ticket).status == 200)
    }
  }

  @Test(
    "a key that was dropped opens nothing any more, not even where it was let in before",
    .enabled(if: !TestDatabase.isOnServer))
  func droppedKey() async throws {
    try await ServerHarness.run { server in
      try await server.publish(small)
      let before = try await server.grantForPurchase()
      #expect(try await server.fetch(before).status == 200)
      let path = keyFile(server)
      let start = server.clock.now()
      _ = try TicketKeyFile.rotate(path, at: start, memory: .seconds(3600))
      // An hour later the first key is forgotten with the next rotation.
      _ = try TicketKeyFile.rotate(path, at: start + .seconds(3601), memory: .seconds(3600))
      let configuration = server.configuration
      await server.server.reload { configuration }
      #expect(try await server.fetch(before).status == 403)
    }
  }

  @Test("operator keys and limits take effect at once")
  func settings() async throws {
    try await ServerHarness.run(timer: ManualMonotonicClock()) { server in
      try await server.publish(small)
      let grant = try await server.grantForPurchase()
      #expect(try await server.fetch(grant).status == 200)
      var configuration = server.configuration
      configuration.operatorKey = Redacted("another-key-of-the-operator")
      configuration.limits.ratePerGrant = .bytes(1 << 20)
      configuration.limits.burst = ConfigurationSize(.kibibytes(64))
      let changed = configuration
      await server.server.reload { changed }
      let refused = try await server.problem {
        _ = try await server.operatorAPI.get("/v1/operator/audit", as: Page<AuditEntry>.self)
      }
      #expect(refused.code == .unauthorized)
      #expect(try await server.fetch(grant).status == 429)
    }
  }

  @Test("whether review takes two keys can change while the server runs")
  func secondKey() async throws {
    try await ServerHarness.run { server in
      try await server.publish(small)
      _ = try await server.submit([1] + small, as: "com.example.issue1", version: "1.1")
      try await server.step("submit", "1.1")
      var configuration = server.configuration
      configuration.requireSecondKey = true
      let strict = configuration
      await server.server.reload { strict }
      let refused = try await server.problem { try await server.step("approve", "1.1") }
      #expect(refused.code == .secondKeyRequired)
      configuration.requireSecondKey = nil
      let lenient = configuration
      await server.server.reload { lenient }
      #expect(try await server.step("approve", "1.1").state == .approved)
    }
  }

  @Test("a file that cannot be used leaves everything as it was", .enabled(if: !TestDatabase.isOnServer))
  func invalid() async throws {
    try await ServerHarness.run { server in
      try await server.publish(small)
      let grant = try await server.grantForPurchase()
      let broken = Array("{\"keys\":[]}".utf8)
      try DurableFile.write(broken.span, to: keyFile(server), permissions: 0o600)
      var configuration = server.configuration
      configuration.operatorKey = Redacted("another-key-of-the-operator")
      let changed = configuration
      await server.server.reload { changed }
      #expect(try await server.fetch(grant).status == 200)
      _ = try await server.operatorAPI.get("/v1/operator/audit", as: Page<AuditEntry>.self)
      await server.server.reload {
        throw ConfigurationError(subject: "state", message: "broken for the test")
      }
      #expect(try await server.fetch(grant).status == 200)
    }
  }
}
