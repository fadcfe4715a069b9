import Commerce
import CoreTypes
import Crypto
import Database
import DeliverySchema
import DeliveryTesting
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import Synchronization
import Testing

@testable import ContentDelivery
@testable import ContentGrants
@testable import ContentPublishing
@testable import DeliveryRecords
@testable import DeliveryService

@Suite("Store calls of the outbox", .timeLimit(.minutes(1)))
struct OutboxTests {
  private static let transaction = "2000000000000001"
  /// A completion is answered before the store has.
  private static let impatient = ["--store-patience", "1ms"]
  let package = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 29 >> 3) }

  @Test("a store that answers late is asked once, however often the device reports meanwhile")
  func late() async throws {
    try await ServerHarness.run(options: Self.impatient) { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      _ = try await server.fetch(grant)
      server.store.state.withLock { $0.holdsAnswers = true }
      for _ in 0..<4 {
        let answer = try await server.complete(grant)
        #expect(answer.status == 202)
        #expect(answer.value.state == .completed)
      }
      await server.store.waitForFinished()
      server.store.releaseAnswers()
      while try await server.status(grant).state != .finished { await Task.yield() }
      #expect(server.store.state.withLock { $0.finished } == [Self.transaction])
      #expect(try await server.outboxDepth() == 0)
    }
  }

  @Test("a call, and the work of one process alone, are claimed in the node's name")
  func node() async throws {
    try await ServerHarness.run(options: Self.impatient + ["--node", "shelf-1"]) { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      _ = try await server.fetch(grant)
      server.store.state.withLock { $0.holdsAnswers = true }
      _ = try await server.complete(grant)
      let claims = try await server.server.components.infrastructure.database.read { connection in
        try connection.query("SELECT leased_by FROM outbox").map { try $0.text("leased_by") }
      }
      #expect(claims == ["shelf-1"])
      server.store.releaseAnswers()
      let holders = try await server.server.components.infrastructure.database.read { connection in
        try connection.query("SELECT DISTINCT holder FROM leases").map { try $0.text("holder") }
      }
      #expect(!holders.isEmpty)
      for holder in holders { #expect(holder.hasPrefix("shelf-1 ")) }
    }
  }

  @Test(
    "a shutdown during the call leaves it due, and the next start makes it",
    .enabled(if: !TestDatabase.isOnServer))
  func shutdown() async throws {
    let directory = try TemporaryDirectory()
    try await ServerHarness.run(options: Self.impatient, in: directory) { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      _ = try await server.fetch(grant)
      server.store.state.withLock { $0.holdsAnswers = true }
      #expect(try await server.complete(grant).status == 202)
      await server.store.waitForFinished()
    }
    do {
      let database = try Database.open(path: directory.path + "/state/server.db", migrations: Migrations.all)
      defer { database.close() }
      let waiting = try await database.read { connection in
        try OutboxTable.page(before: .max, matching: .init(state: .waiting), limit: 10, in: connection)
      }
      #expect(waiting.map(\.attempts) == [0])
    }
    try await ServerHarness.run(in: directory) { server in
      await server.store.waitForFinished()
      #expect(server.store.state.withLock { $0.finished } == [Self.transaction])
    }
  }

  @Test("two last completions of one transaction at the same moment are one call")
  func concurrent() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      let first = try await server.grant(receipt: receipt).value
      _ = try await server.fetch(first)
      server.store.state.withLock { $0.holdsAnswers = true }
      let states = try await withThrowingTaskGroup(of: GrantState.self) { group in
        for _ in 0..<8 { group.addTask { try await server.complete(first).value.state } }
        await server.store.waitForFinished()
        server.store.releaseAnswers()
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(states.allSatisfy { $0 == .finished })
      #expect(server.store.state.withLock { $0.finished } == [Self.transaction])
    }
  }

  @Test(
    "a grant that cannot be read parks its own call, and not those behind it",
    .enabled(if: !TestDatabase.isOnServer))
  func damagedGrant() async throws {
    try await ServerHarness.run { server in
      var grants: [GrantResponse] = []
      for number in 1...2 {
        try await server.publish(package + [UInt8(number)], as: "com.example.issue\(number)")
        let receipt = try server.store.receipt(
          of: [server.purchase(of: "com.example.issue\(number)", id: "\(number)")], device: server.device.id)
        let grant = try await server.grant("com.example.issue\(number)", receipt: receipt).value
        _ = try await server.fetch(grant)
        grants.append(grant)
      }
      server.store.state.withLock { $0.isDown = true }
      for grant in grants { #expect(try await server.complete(grant).status == 202) }
      let damaged = grants[0].grant.description
      try await server.server.collector.database.write(locking: [.everything]) {
        try $0.execute("UPDATE grants SET public_key = x'00' WHERE id = ?", [.text(damaged)])
        try $0.execute("UPDATE outbox SET next_attempt = 0")
      }
      server.store.state.withLock { $0.isDown = false }
      server.server.outbox.wake()
      while try await server.status(grants[1]).state != .finished { await Task.yield() }
      while try await server.outboxDepth("parked") != 1 { await Task.yield() }
      #expect(try await server.outboxDepth() == 0)
    }
  }

  @Test(
    "whatever a store asks for, its call is repeated within 45 seconds",
    arguments: [Int.max, Int.min, -1, 0, 30_000])
  func lies(retryAfterSeconds: Int) async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      _ = try await server.fetch(grant)
      server.store.state.withLock {
        $0.isDown = true
        $0.retryAfterSeconds = retryAfterSeconds
      }
      #expect(try await server.complete(grant).value.state == .completed)
      let page = try await server.operatorAPI.get("/v1/operator/outbox", as: Page<OutboxCall>.self)
      let call = try #require(page.items.first)
      #expect(call.attempts == 1)
      let next = try #require(call.nextAttempt)
      let pause = next - server.clock.now()
      #expect(pause > .zero && pause <= .seconds(45))
    }
  }
}
