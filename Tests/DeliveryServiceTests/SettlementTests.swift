import Commerce
import CoreTypes
import Database
import DeliveryModel
import DeliverySchema
import DeliveryTesting
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Synchronization
import Testing

@testable import ContentDelivery
@testable import ContentPublishing
@testable import DeliveryRecords
@testable import DeliveryService

@Suite("What lessens a debt settles it", .timeLimit(.minutes(1)))
struct SettlementTests {
  private static let transaction = "2000000000000001"
  private static let package = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 29 >> 3) }
  let package = Self.package

  /// A subscription that pays for `com.example.latest` and `com.example.during`; its receipt.
  private func subscribe(
    _ server: ServerHarness, device: Device, to percentage: Int? = nil
  ) async throws -> String {
    let now = server.clock.now()
    let magazine = ProductIdentifier("com.example.magazine")
    try await server.publish(
      package, as: "com.example.latest",
      description: ProductDescription(publication: magazine, publicationDate: now - .seconds(86_400)))
    _ = try await server.operatorAPI.call(
      "PUT", "/v1/operator/products/com.example.during",
      body: ProductDescription(publication: magazine, publicationDate: now + .seconds(86_400)),
      as: OperatorProduct.self)
    try await server.approve(package + [2], "1.0", of: "com.example.during")
    try await server.release("1.0", of: "com.example.during", to: percentage)
    _ = try await server.operatorAPI.call(
      "PUT", "/v1/operator/products/com.example.monthly",
      body: ProductDescription(
        type: .autoRenewableSubscription, publication: magazine, period: BillingPeriod("P1M")),
      as: OperatorProduct.self)
    let purchase = server.purchase(of: "com.example.monthly", expires: now + .seconds(30 * 86_400))
    server.clock.advance(by: .seconds(2 * 86_400))
    return try server.store.receipt(of: [purchase], device: device.id)
  }

  /// The grant of the first product, complete; the transaction still owes `com.example.during`.
  private func completeFirst(
    _ server: ServerHarness, receipt: String, device: Device
  ) async throws -> GrantResponse {
    let first = try await server.grant("com.example.latest", receipt: receipt, device: device).value
    _ = try await server.fetch(first)
    let waiting = try await complete(first, device, server)
    #expect(waiting.state == .completed)
    #expect(waiting.remaining?.map(\.description) == ["com.example.during"])
    return first
  }

  private func complete(
    _ grant: GrantResponse, _ device: Device, _ server: ServerHarness
  ) async throws -> CompletionResponse {
    var report = server.report(grant)
    report.device = device.id
    return try await server.complete(grant, report).value
  }

  /// That `step` alone puts the transaction's end in the outbox, and that the worker then makes the call.
  private func expectSettled(
    _ first: GrantResponse, _ device: Device, _ server: ServerHarness, by step: () async throws -> Void
  ) async throws {
    #expect(try await server.outboxDepth() == 0)
    server.store.state.withLock { $0.holdsAnswers = true }
    try await step()
    try #require(try await server.outboxDepth() == 1)
    await server.store.waitForFinished()
    server.store.releaseAnswers()
    #expect(try await complete(first, device, server).state == .finished)
    #expect(Set(server.store.state.withLock { $0.finished }) == [Self.transaction])
  }

  @Test("withdrawing the last product that is owed finishes the transaction")
  func withdrawal() async throws {
    try await ServerHarness.run { server in
      let receipt = try await subscribe(server, device: server.device)
      let first = try await completeFirst(server, receipt: receipt, device: server.device)
      try await expectSettled(first, server.device, server) {
        try await server.step("withdraw", "1.0", of: "com.example.during")
      }
    }
  }

  @Test(
    "however many debts a withdrawal lessens, and however many grants were completed since, all are settled",
    .enabled(if: !TestDatabase.isOnServer))
  func manyDebts() async throws {
    let debts = 2 * ObligationTable.maximumSettledAtOnce + 50
    try await ServerHarness.run { server in
      for product in ["com.example.latest", "com.example.during", "com.example.other"] {
        try await server.publish(Array(product.utf8), as: product)
      }
      let database = server.server.collector.database
      try await database.write(locking: [.everything]) { connection in
        // The newer ones owe another product, which stays for sale.
        for (name, owed, count) in [("old", "com.example.during", debts), ("new", "com.example.other", 1200)]
        {
          try connection.execute(
            """
            WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
            INSERT INTO grants (id, handle, store, transaction_id, product, version, device, digest, length,
              manifest_digest, state, created, placed)
            SELECT lower(hex(randomblob(16))), randomblob(16), 'sandbox', ? || n, product, version, 'd-' || n, digest, length,
              manifest_digest, 'completed', n, n
            FROM numbers JOIN versions ON product = 'com.example.latest'
            """, [.integer(count), .text(name)])
          try connection.execute(
            """
            INSERT INTO obligations (store, environment, transaction_id, device, product)
            SELECT store, environment, transaction_id, device, column1 FROM grants
            JOIN (VALUES ('com.example.latest'), (?)) WHERE transaction_id LIKE ? || '%'
            """, [.text(owed), .text(name)])
        }
      }
      #expect(try await server.outboxDepth() == 0)
      try await server.step("withdraw", "1.0", of: "com.example.during")
      await server.store.waitForFinished(debts)
      let finished = server.store.state.withLock { Set($0.finished) }
      #expect(finished == Set((1...debts).map { "old\($0)" }))
    }
  }

  @Test("revoking the grant of the last product that is owed finishes the transaction")
  func revocation() async throws {
    try await ServerHarness.run { server in
      let receipt = try await subscribe(server, device: server.device)
      let first = try await completeFirst(server, receipt: receipt, device: server.device)
      let second = try await server.grant("com.example.during", receipt: receipt).value
      try await expectSettled(first, server.device, server) {
        _ = try await server.operatorAPI.call(
          "POST", "/v1/operator/grants/\(server.shortName(of: second))/revoke",
          body: ReasonBody(reason: "refund"), as: OperatorGrant.self)
      }
    }
  }

  @Test(
    "a device whose grant an operator revoked is told what is owed besides, until the store refunds it all")
  func besidesRevocation() async throws {
    try await ServerHarness.run { server in
      let receipt = try await subscribe(server, device: server.device)
      let first = try await completeFirst(server, receipt: receipt, device: server.device)
      _ = try await server.operatorAPI.call(
        "POST", "/v1/operator/grants/\(server.shortName(of: first))/revoke",
        body: ReasonBody(reason: "damaged"), as: OperatorGrant.self)
      let status = try await server.status(first)
      #expect(status.state == .revoked)
      #expect(status.remaining?.map(\.description) == ["com.example.during"])
      let refunded = server.purchase(
        of: "com.example.monthly", expires: server.clock.now() + .seconds(28 * 86_400),
        cancelled: server.clock.now())
      let after = try server.store.receipt(of: [refunded], device: server.device.id)
      _ = try? await server.grant("com.example.during", receipt: after)
      let over = try await server.status(first)
      #expect(over.state == .revoked && over.remaining == nil)
    }
  }

  @Test("a rollout that shrinks past the device finishes the transaction")
  func rollout() async throws {
    try await ServerHarness.run { server in
      let place = RolloutPercentage.place(
        of: server.device.id, for: try #require(ProductIdentifier("com.example.during")))
      let percentage = Int(place / 100) + 1
      let receipt = try await subscribe(server, device: server.device, to: min(percentage, 99))
      let first = try await completeFirst(server, receipt: receipt, device: server.device)
      try await expectSettled(first, server.device, server) {
        try await server.release("1.0", of: "com.example.during", to: 1)
      }
    }
  }

  @Test("a withdrawal finishes nothing of which the device completed nothing")
  func nothingDelivered() async throws {
    try await ServerHarness.run { server in
      let receipt = try await subscribe(server, device: server.device)
      _ = try await server.grant("com.example.latest", receipt: receipt).value
      try await server.step("withdraw", "1.0", of: "com.example.during")
      try await server.step("withdraw", "1.0", of: "com.example.latest")
      #expect(try await server.outboxDepth() == 0)
      #expect(server.store.state.withLock { $0.finished }.isEmpty)
    }
  }

  @Test(
    "a transaction that an earlier server left without a debt is finished after the start",
    .enabled(if: !TestDatabase.isOnServer))
  func leftBehind() async throws {
    let directory = try TemporaryDirectory()
    try await ServerHarness.run(in: directory) { server in
      let receipt = try await subscribe(server, device: server.device)
      _ = try await completeFirst(server, receipt: receipt, device: server.device)
    }
    do {
      let database = try Database.open(path: directory.path + "/state/server.db", migrations: Migrations.all)
      defer { database.close() }
      try await database.write(locking: [.everything]) { connection in
        try connection.execute(
          "UPDATE versions SET state = 'withdrawn', percentage = NULL WHERE product = 'com.example.during'")
      }
    }
    try await ServerHarness.run(in: directory) { server in
      await server.store.waitForFinished()
      #expect(server.store.state.withLock { $0.finished } == [Self.transaction])
    }
  }
}

extension ServerHarness {
  /// The metric `pullbox_outbox_` and `name` of the store's ends of transactions.
  func outboxDepth(_ name: String = "depth") async throws -> Int? {
    let page = try await api.exchange("GET", "/metrics")
    let line = String(decoding: page.body, as: UTF8.self).split(separator: "\n").first {
      $0.hasPrefix("pullbox_outbox_\(name){store=\"sandbox\",kind=\"finish\"} ")
    }
    return line.flatMap { $0.split(separator: " ").last.flatMap { Int($0) } }
  }
}
