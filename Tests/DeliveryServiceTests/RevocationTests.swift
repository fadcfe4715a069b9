import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryTesting
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentDelivery
@testable import ContentPublishing
@testable import DeliveryRecords
@testable import DeliveryService

@Suite("Revocations and withdrawals")
struct RevocationTests {
  /// More than all buffers between the server and a slow reader hold together.
  let large = [UInt8](repeating: 7, count: 24 << 20)
  private static let small = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 13 >> 2) }
  let small = Self.small

  private func device(_ name: String) throws -> Device {
    Device(id: try #require(DeviceIdentifier(name)))
  }

  private func transition(_ grant: GrantResponse, _ step: String, _ server: ServerHarness) async throws {
    let status = try await server.operatorAPI.call(
      "POST", "/v1/operator/grants/\(server.shortName(of: grant))/\(step)",
      body: ReasonBody(reason: "refund"), as: OperatorGrant.self
    ).value
    #expect(status.state == (step == "revoke" ? .revoked : .granted))
  }

  private func code(_ response: ClientResponse) throws -> ProblemCode? {
    try APIJSON.decode(Problem.self, from: response.body).code
  }

  @Test("a revocation ends the grant's running bodies within 1 MiB, and no other grant's")
  func runningBodies() async throws {
    try await ServerHarness.run { server in
      try await server.publish(large)
      let revoked = try await server.grantForPurchase()
      let other = try await server.grantForPurchase(device: try device("another-device"))
      #expect(revoked.grant != other.grant)
      let readers = [
        try await server.slowReader(of: revoked), try await server.slowReader(of: revoked),
      ]
      let otherReader = try await server.slowReader(of: other)
      try await transition(revoked, "revoke", server)
      for reader in readers {
        var afterwards = 0
        await #expect(throws: (any Error).self) {
          while true {
            let bytes = try await reader.receive()
            guard !bytes.isEmpty else { throw EndOfBody() }
            afterwards += bytes.count
          }
        }
        #expect(afterwards <= 1 << 20)
      }
      let rest = try await otherReader.receive(exactly: large.count - 1000)
      #expect(rest.count == large.count - 1000)
    }
  }

  private struct EndOfBody: Error {}

  @Test(
    "a revoked grant's valid ticket opens nothing and is not renewed; reinstated, both work from the same byte"
  )
  func requests() async throws {
    try await ServerHarness.run { server in
      try await server.publish(small)
      let grant = try await server.grantForPurchase()
      #expect(try await server.fetch(grant, headers: [("Range", "bytes=0-999")]).status == 206)
      try await transition(grant, "revoke", server)
      for _ in 0..<2 {
        let refused = try await server.fetch(grant, headers: [("Range", "bytes=1000-")])
        #expect(refused.status == 403)
        #expect(try code(refused) == .entitlementRevoked)
      }
      let renewal = try await server.problem {
        _ = try await server.renew(grant)
      }
      #expect(renewal.code == .entitlementRevoked)
      try await transition(grant, "reinstate", server)
      let rest = try await server.fetch(grant, headers: [("Range", "bytes=1000-")])
      #expect(rest.body == Array(small[1000...]))
      #expect(try await server.fetch(grant, ticket: server.renew(grant).ticket).status == 200)
    }
  }

  @Test("only a key with the scope admin revokes, and the audit log names the key")
  func audit() async throws {
    try await ServerHarness.run { server in
      try await server.publish(small)
      let grant = try await server.grantForPurchase()
      let refused = try await server.problem {
        _ = try await server.api.exchange("POST", "/v1/operator/grants/\(server.shortName(of: grant))/revoke")
      }
      #expect(refused.code == .unauthorized)
      try await transition(grant, "revoke", server)
      try await transition(grant, "revoke", server)
      let entries = try await server.operatorAPI.get("/v1/operator/audit", as: Page<AuditEntry>.self).items
      let revocations = entries.filter { $0.action == "grant.revoke" }
      #expect(revocations.map(\.subject) == [try server.shortName(of: grant)])
      #expect(revocations.first?.actor == "operator")
      #expect(revocations.first?.detail == "refund")
    }
  }

  @Test(
    "a check that finds the purchase cancelled revokes all its grants; one that finds it good reinstates them"
  )
  func receiptCheck() async throws {
    try await ServerHarness.run { server in
      try await server.publish(small)
      let second = try device("another-device")
      let grants = [
        try await server.grantForPurchase(), try await server.grantForPurchase(device: second),
      ]
      let others = try await server.grant(
        receipt: try server.store.receipt(
          of: [server.purchase(id: "2000000000000002")], device: server.device.id)
      ).value
      let cancelled = try server.store.receipt(
        of: [server.purchase(cancelled: server.clock.now())], device: server.device.id)
      try await check(cancelled, server)
      for grant in grants {
        #expect(try code(try await server.fetch(grant)) == .entitlementRevoked)
        #expect(try await server.status(grant).state == .revoked)
      }
      #expect(try await server.fetch(others).status == 200)
      server.clock.advance(by: .seconds(1))
      let good = try server.store.receipt(of: [server.purchase()], device: second.id)
      try await check(good, server, second)
      for grant in grants { #expect(try await server.fetch(grant).status == 200) }
    }
  }

  @Test("a receipt from before a refund, shown after it, gives nothing back and opens nothing new")
  func oldReceipt() async throws {
    try await ServerHarness.run { server in
      try await server.publish(small)
      let second = try device("another-device")
      let old = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      let elsewhere = try server.store.receipt(of: [server.purchase()], device: second.id)
      let grant = try await server.grant(receipt: old).value
      server.clock.advance(by: .seconds(60))
      let refund = server.clock.now()
      let cancelled = try server.store.receipt(
        of: [server.purchase(cancelled: refund)], device: server.device.id)
      try await check(cancelled, server)
      server.clock.advance(by: .seconds(60))
      try await check(old, server)
      try await check(elsewhere, server, second)
      #expect(try code(try await server.fetch(grant)) == .entitlementRevoked)
      for (receipt, device) in [(old, server.device), (elsewhere, second)] {
        let refused = try await server.problem {
          _ = try await server.grant(receipt: receipt, device: device)
        }
        #expect(refused.code == .entitlementRevoked)
      }
      // The store took the refund back: a receipt that was made since says so, and the one that showed it is old now.
      let fresh = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      try await check(fresh, server)
      try await check(cancelled, server)
      #expect(try await server.fetch(grant).status == 200)
    }
  }

  @Test("an operator's word over a store's revocation is in the audit log, once")
  func wordOverStore() async throws {
    try await ServerHarness.run { server in
      try await server.publish(small)
      let grant = try await server.grantForPurchase()
      server.clock.advance(by: .seconds(60))
      let cancelled = try server.store.receipt(
        of: [server.purchase(cancelled: server.clock.now())], device: server.device.id)
      try await check(cancelled, server)
      for _ in 0..<2 { try await transition(grant, "revoke", server) }
      #expect(try await server.audit([("action", "grant.revoke")]).map(\.actor) == ["operator"])
      for _ in 0..<2 { try await transition(grant, "reinstate", server) }
      #expect(try await server.audit([("action", "grant.reinstate")]).map(\.actor) == ["operator"])
    }
  }

  @Test("what an operator gave back, the refund that was known does not take again; a later one does")
  func excused() async throws {
    try await ServerHarness.run { server in
      try await server.publish(small)
      let grant = try await server.grantForPurchase()
      for step in 1...2 {
        server.clock.advance(by: .seconds(60))
        let refund = server.clock.now()
        for _ in 1...2 {
          let cancelled = try server.store.receipt(
            of: [server.purchase(cancelled: refund)], device: server.device.id)
          try await check(cancelled, server)
          server.clock.advance(by: .seconds(5))
        }
        #expect(try await server.fetch(grant).status == 403, "refund \(step)")
        try await transition(grant, "reinstate", server)
        let again = try server.store.receipt(
          of: [server.purchase(cancelled: refund)], device: server.device.id)
        try await check(again, server)
        #expect(try await server.fetch(grant).status == 200, "refund \(step)")
      }
    }
  }

  @Test(
    "a revocation is enforced with its commit, before any later write, whoever revokes",
    .enabled(if: !TestDatabase.isOnServer),
    arguments: ["operator", "store"])
  func commit(revoker: String) async throws {
    try await ServerHarness.run { server in
      try await server.publish(small)
      let grant = try await server.grantForPurchase()
      let handle = try server.handle(of: grant)
      let cancelled = try server.store.receipt(
        of: [server.purchase(cancelled: server.clock.now())], device: server.device.id)
      let database = server.server.collector.database
      let revocations = server.server.revocations
      // The state that each later write finds in the database, and the one that is enforced at its commit.
      let seen = Locked<[(isRevoked: Bool, reason: ProblemCode?)]>([])
      try await withThrowingTaskGroup { group in
        try await database.holdingWrites {
          group.addTask {
            if revoker == "operator" {
              try await transition(grant, "revoke", server)
            } else {
              try await check(cancelled, server)
            }
          }
          while database.waiting.writes == 0 { await Task.yield() }
          // An engine that runs bodies twice lets the one behind the revocation overtake it.
          for later in 2...4 {
            group.addTask {
              try await database.write(locking: []) { connection in
                try GrantTable.revoked(in: connection).contains(handle)
              } then: { isRevoked in
                let reason = revocations.reason(for: handle, content: grant.download.digest)
                seen.withLock { $0.append((isRevoked, reason)) }
              }
            }
            while database.waiting.writes < later { await Task.yield() }
          }
        }
        try await group.waitForAll()
      }
      let all = seen.withLock { $0 }
      #expect(all.count == 3)
      for one in all { #expect(one.isRevoked == (one.reason == .entitlementRevoked)) }
      #expect(all.count { $0.isRevoked } >= 2)
    }
  }

  @Test("what an operator revoked, no receipt reinstates")
  func operatorPrevails() async throws {
    try await ServerHarness.run { server in
      try await server.publish(small)
      let grant = try await server.grantForPurchase()
      try await transition(grant, "revoke", server)
      let good = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      try await check(good, server)
      #expect(try code(try await server.fetch(grant)) == .entitlementRevoked)
    }
  }

  private func check(
    _ receipt: String, _ server: ServerHarness, _ device: Device? = nil
  ) async throws {
    _ = try await server.api.call(
      "POST", "/v1/entitlements",
      body: EntitlementsRequest(
        proof: Proof(store: "sandbox", receipt: receipt), device: device ?? server.device),
      as: EntitlementsResponse.self)
  }

  @Test(
    "withdrawn content is 410 for every ticket, and comes back when that is taken back",
    .enabled(if: !TestDatabase.isOnServer))
  func content() async throws {
    try await ServerHarness.run { server in
      try await server.publish(small)
      let grant = try await server.grantForPurchase()
      #expect(try await server.fetch(grant).status == 200)
      server.server.revocations.block(content: grant.download.digest)
      let refused = try await server.fetch(grant)
      #expect(refused.status == 410)
      #expect(try code(refused) == .contentWithdrawn)
      let manifest = try await server.client.send(
        ClientRequest(
          method: "GET",
          url: server.api.url(grant.download.manifestURL, query: [("ticket", grant.download.ticket)])))
      #expect(manifest.status == 410)
      let renewal = try await server.problem {
        _ = try await server.renew(grant)
      }
      #expect(renewal.code == .contentWithdrawn)
      server.server.revocations.unblock(content: grant.download.digest)
      #expect(try await server.fetch(grant).status == 200)
    }
  }

  @Test("a revocation outlives the server's process")
  func restart() async throws {
    let directory = try TemporaryDirectory()
    let kept = Locked<GrantResponse?>(nil)
    try await ServerHarness.run(in: directory) { server in
      try await server.publish(small)
      let grant = try await server.grantForPurchase()
      try await transition(grant, "revoke", server)
      kept.withLock { $0 = grant }
    }
    let grant = try #require(kept.withLock { $0 })
    try await ServerHarness.run(in: directory) { server in
      #expect(try code(try await server.fetch(grant)) == .entitlementRevoked)
      try await transition(grant, "reinstate", server)
      #expect(try await server.fetch(grant).status == 200)
    }
  }
}
