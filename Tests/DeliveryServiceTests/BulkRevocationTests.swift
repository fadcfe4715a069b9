import Commerce
import CoreTypes
import Database
import DeliveryModel
import DeliveryTesting
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import DeliveryRecords
@testable import DeliveryService

/// docs/delivery.md, "Revocation": each grant is one write, so that what breaks off has revoked the newest, and the rest stands.
@Suite("Revocations of many grants that break off", .timeLimit(.minutes(2)))
struct BulkRevocationTests {
  private static let transaction = "2000000000000001"
  private static let path = "/v1/operator/revocations"
  private let package = (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }

  /// Grants of one purchase on so many devices, the oldest first.
  private func grants(_ count: Int, on server: ServerHarness) async throws -> [GrantResponse] {
    try await server.publish(package)
    var grants: [GrantResponse] = []
    for number in 0..<count {
      let device = Device(id: try #require(DeviceIdentifier("device-\(number)")))
      grants.append(try await server.grantForPurchase(device: device))
    }
    return grants
  }

  private func revoke(
    _ server: ServerHarness, headers: [(String, String)] = []
  ) async throws -> RevocationReport {
    try await server.operatorAPI.call(
      "POST", Self.path, body: RevocationRequest(transaction: Self.transaction, reason: "a letter"),
      headers: headers, as: RevocationReport.self
    ).value
  }

  private func states(_ grants: [GrantResponse], _ server: ServerHarness) async throws -> [GrantState] {
    var states: [GrantState] = []
    for grant in grants { states.append(try await server.status(grant).state) }
    return states
  }

  /// Each grant that is revoked opens nothing and is in the audit log once; each other one opens its content.
  private func expectTruth(
    _ grants: [GrantResponse], revoked count: Int, _ server: ServerHarness
  ) async throws {
    let expected = grants.indices.map { $0 < grants.count - count ? GrantState.granted : .revoked }
    #expect(try await states(grants, server) == expected)
    let entries = try await server.audit([("action", "grant.revoke")])
    let revoked = try grants.suffix(count).map(server.shortName)
    #expect(entries.map(\.subject) == revoked)
    #expect(entries.allSatisfy { $0.actor == "operator" && $0.detail == "a letter" })
    for (grant, state) in zip(grants, expected) {
      #expect(try await server.fetch(grant).status == (state == .revoked ? 403 : 200))
    }
    let plan: RevocationPlan = try await server.operatorAPI.get(
      "\(Self.path)?transaction=\(Self.transaction)")
    #expect(plan.grants == Int64(grants.count - count) && !plan.hasMore)
  }

  @Test(
    "what a database refuses in the middle leaves the newest revoked, says how many, and goes on when it is asked again",
    .enabled(if: !TestDatabase.isOnServer))
  func databaseError() async throws {
    try await ServerHarness.run(options: ["--store-device-limit", "100"]) { server in
      let grants = try await grants(5, on: server)
      let database = server.server.components.infrastructure.database
      try await database.write(locking: []) { connection in
        try connection.execute(
          """
          CREATE TRIGGER breaks BEFORE INSERT ON audit
          WHEN NEW.action = 'grant.revoke' AND (SELECT count(*) FROM audit WHERE action = 'grant.revoke') = 2
          BEGIN SELECT RAISE(ABORT, 'the disk is full of sand'); END
          """)
      }
      let tag = try #require(
        try await server.operatorAPI.exchange("GET", "\(Self.path)?transaction=\(Self.transaction)").headers[
          "ETag"])
      let once = [("Idempotency-Key", "0123456789abcdef")]
      let broken = try await server.problem { _ = try await revoke(server, headers: once) }
      #expect(broken.status >= 500)
      // What is wrong with a database is the log's to tell.
      #expect(broken.detail?.contains("sand") != true)
      try await expectTruth(grants, revoked: 2, server)
      try await database.write(locking: []) { try $0.execute("DROP TRIGGER breaks") }
      // Under the state from before nothing goes on: other grants stand than those that were looked at.
      let late = try await server.problem { _ = try await revoke(server, headers: [("If-Match", tag)]) }
      #expect(late.code == .preconditionFailed && late.detail?.contains("3") == true)
      try await expectTruth(grants, revoked: 2, server)
      // The same request, by its name, was not answered: it goes on.
      #expect(try await revoke(server, headers: once).revoked == 3)
      try await expectTruth(grants, revoked: 5, server)
      #expect(try await revoke(server).revoked == 0)
      try await expectTruth(grants, revoked: 5, server)
    }
  }

  @Test("a client that goes away in the middle leaves none of the grants standing")
  func cutConnection() async throws {
    try await ServerHarness.run(options: ["--store-device-limit", "100"]) { server in
      let grants = try await grants(12, on: server)
      let database = server.server.components.infrastructure.database
      let port = try #require(
        server.server.addresses.first?.split(separator: ":").last.flatMap { UInt16($0) })
      let client = try RawConnection.tcp(port: port)
      let body = #"{"transaction":"\#(Self.transaction)","reason":"a letter"}"#
      try await database.holdingWrites {
        try await client.send(
          "POST \(Self.path) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(ServerHarness.operatorKey)\r\n"
            + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
        // Its first revocation is on its way.
        while database.waiting.writes == 0 { await Task.yield() }
        client.reset()
      }
      while try await states(grants, server).contains(.granted) {}
      try await expectTruth(grants, revoked: 12, server)
    }
  }
}
