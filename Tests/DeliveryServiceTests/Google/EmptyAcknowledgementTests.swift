import Commerce
import CoreTypes
import Database
import DeliveryTesting
import Monitoring
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import Synchronization
import Testing

@testable import ContentGrants
@testable import DeliveryRecords
@testable import DeliveryService
@testable import RouteAccess

/// Google gives back what it is not told of within three days: of a purchase that leaves nothing to deliver no device will tell.
@Suite("Sales that leave nothing to deliver, at a store that takes purchases back", .timeLimit(.minutes(2)))
struct EmptyAcknowledgementTests {
  private static let monthly = "com.example.magazine.monthly"
  private static let issue = "com.example.magazine.issue1"
  private static let month = Duration.seconds(30 * 86_400)
  /// Half of Google's three days.
  private static let halfTime = Duration.seconds(3 * 86_400 / 2)
  private static let year = Duration.seconds(365 * 86_400)
  /// Steps of the wall clock: a year ahead and back, and a year behind and back.
  private static let steps: [Duration] = [year, .zero - year, .zero - year, year]
  private let package = (0..<3000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
  private let google: FakeGoogleStore

  init() throws {
    google = try FakeGoogleStore()
  }

  private func run(
    withIssue: Bool = true, database: Database.Options = TestDatabase.options,
    _ body: (ServerHarness) async throws -> Void
  ) async throws {
    try await ServerHarness.run(options: google.option(), database: database) { server in
      var subscription = ProductDescription(type: .autoRenewableSubscription)
      subscription.publication = ProductIdentifier("com.example.magazine")
      subscription.period = BillingPeriod("P1M")
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/\(Self.monthly)", body: subscription, as: OperatorProduct.self)
      if withIssue { try await server.publish(package, as: Self.issue, description: issue()) }
      try await body(server)
    }
    await google.stop()
  }

  private func issue(at date: Timestamp = ServerHarness.start) -> ProductDescription {
    ProductDescription(publication: ProductIdentifier("com.example.magazine"), publicationDate: date)
  }

  private func subscribe(
    _ token: String, _ order: String, at start: Timestamp, linked: String? = nil, acknowledged: Bool = false
  ) {
    google.subscribe(
      Self.monthly, token: token, order: order, from: start, to: start + Self.month, linked: linked,
      acknowledged: acknowledged)
  }

  private func show(_ token: String, _ server: ServerHarness, on device: Device? = nil) async throws {
    let request = EntitlementsRequest(
      proof: Proof(store: "google", purchaseToken: token), device: device ?? server.device)
    _ = try await server.api.call("POST", "/v1/entitlements", body: request, as: EntitlementsResponse.self)
  }

  private func deliver(
    _ token: String, _ server: ServerHarness, of product: String = issue, to device: Device? = nil
  ) async throws {
    let device = device ?? server.device
    let request = GrantRequest(
      proof: Proof(store: "google", purchaseToken: token), product: try #require(ProductIdentifier(product)),
      device: device)
    let grant = try await server.api.call("POST", "/v1/grants", body: request, as: GrantResponse.self).value
    try await server.deliver(grant, to: device)
  }

  /// The tokens that were acknowledged once the server has looked at all that it was told to look at.
  private func acknowledged(_ server: ServerHarness) async throws -> [String] {
    try await wait(for: server.server.grants.sales)
    while try await openCalls(server) > 0 { try Task.checkCancellation() }
    return google.state.withLock { $0.calls }.filter { $0.hasSuffix(":acknowledge") }
      .compactMap { $0.split(separator: "/").last?.split(separator: ":").first.map(String.init) }
  }

  private func transaction(_ order: String) throws -> TransactionKey {
    TransactionKey(
      store: try #require(StoreIdentifier("google")), environment: .production,
      id: try #require(TransactionIdentifier(order)))
  }

  /// Writes down what would be known if the device had shown the purchase, too.
  private func know(_ device: Device, of order: String, _ server: ServerHarness) async throws {
    let (now, transaction) = (server.clock.now(), try transaction(order))
    try await server.server.grants.grantStore.database.write(locking: [.transaction(transaction)]) {
      connection in
      let customer = try #require(try CustomerTable.customer(of: transaction, in: connection))
      try CustomerTable.note(device.id, of: customer, at: now, in: connection)
    }
    server.server.grants.sales.note([transaction])
  }

  private func tell(_ content: String, id: String, _ server: ServerHarness) async throws {
    let now = server.clock.now()
    _ = try await server.api.exchange(
      "POST", "/v1/notifications/google", bytes: google.message(content, id: id, at: now),
      mediaType: "application/json", headers: [("Authorization", "Bearer \(google.identity(at: now))")])
  }

  private func wait(for sales: EmptySales) async throws {
    while !sales.isIdle {
      try Task.checkCancellation()
      await Task.yield()
    }
  }

  private func wait(forAcknowledgements count: Int) async throws {
    while google.state.withLock({ $0.calls.count { $0.hasSuffix(":acknowledge") } }) < count {
      try Task.checkCancellation()
      await Task.yield()
    }
  }

  /// One that looks at the purchases beside the server's own, on a clock that the test moves.
  private func makeSales(
    _ server: ServerHarness, log: Log = Log(level: .error)
  ) throws -> (sales: EmptySales, timer: ManualMonotonicClock) {
    let (grants, timer) = (server.server.grants, ManualMonotonicClock())
    let sales = EmptySales(
      at: [try #require(StoreIdentifier("google"))], grantStore: grants.grantStore, catalog: grants.catalog,
      rules: grants.rules, timer: timer, log: log, didAdd: { grants.outbox.wake() })
    return (sales, timer)
  }

  private func openCalls(_ server: ServerHarness) async throws -> Int64 {
    try await server.server.grants.grantStore.database.read { connection in
      try connection.first("SELECT count(*) AS calls FROM outbox WHERE done IS NULL")?.integer("calls") ?? 0
    }
  }

  @Test("a subscription that is bought again and whose issues are all here is acknowledged at once, and once")
  func boughtAgain() async throws {
    let start = ServerHarness.start
    subscribe("first", "GPA.1", at: start)
    try await run { server in
      try await deliver("first", server)
      #expect(try await acknowledged(server) == ["first"])
      server.clock.advance(by: Self.month * 2)
      subscribe("second", "GPA.2", at: start + Self.month * 2)
      try await show("second", server)
      #expect(try await acknowledged(server) == ["first", "second"])
      try await show("second", server)
      try await deliver("second", server)
      server.server.grants.sales.sweep()
      #expect(try await acknowledged(server) == ["first", "second"])
    }
  }

  @Test("a purchase that is told, and not shown, is looked at too; a first one waits for its delivery")
  func told() async throws {
    subscribe("first", "GPA.1", at: ServerHarness.start)
    try await run { server in
      func bought(_ token: String) -> String {
        #""subscriptionNotification":{"notificationType":4,"purchaseToken":"\#(token)"}"#
      }
      try await tell(bought("first"), id: "1", server)
      #expect(try await acknowledged(server).isEmpty)
      try await deliver("first", server)
      server.clock.advance(by: Self.month / 2)
      // An upgrade, which replaces the token in the middle of the month.
      subscribe("upgraded", "GPA.2", at: server.clock.now(), linked: "first")
      try await tell(bought("upgraded"), id: "2", server)
      #expect(try await acknowledged(server) == ["first", "upgraded"])
    }
  }

  @Test("a purchase waits for each device that has shown one, and at half of the time for one that has it")
  func devices() async throws {
    subscribe("first", "GPA.1", at: ServerHarness.start)
    try await run { server in
      try await deliver("first", server)
      server.clock.advance(by: Self.month * 2)
      subscribe("second", "GPA.2", at: server.clock.now())
      try await show("second", server, on: ServerHarness.late)
      try await know(server.device, of: "GPA.2", server)
      #expect(try await acknowledged(server) == ["first"])
      server.clock.advance(by: Self.halfTime - .seconds(1))
      server.server.grants.sales.sweep()
      #expect(try await acknowledged(server) == ["first"])
      // Nothing is told to look then: it is planned.
      let (sales, timer) = try makeSales(server)
      let work = Task { await sales.run() }
      defer { work.cancel() }
      try await wait(for: sales)
      #expect(try await acknowledged(server) == ["first"])
      server.clock.advance(by: .seconds(1))
      while google.state.withLock({ $0.calls.count { $0.hasSuffix(":acknowledge") } }) < 2 {
        timer.advance(by: .seconds(1))
        try Task.checkCancellation()
        await Task.yield()
      }
      #expect(try await acknowledged(server) == ["first", "second"])
    }
  }

  @Test(
    "the device that the delivery was for completes it, and the other purchase that it settles is told of too"
  )
  func secondDevice() async throws {
    let start = ServerHarness.start
    subscribe("first", "GPA.1", at: start)
    try await run { server in
      try await deliver("first", server)
      server.clock.advance(by: Self.month * 2)
      subscribe("second", "GPA.2", at: server.clock.now())
      subscribe("third", "GPA.3", at: server.clock.now())
      for token in ["second", "third"] { try await show(token, server, on: ServerHarness.late) }
      #expect(try await acknowledged(server) == ["first"])
      try await deliver("second", server, to: ServerHarness.late)
      try await show("third", server, on: ServerHarness.late)
      #expect(try await Set(acknowledged(server)) == ["first", "second", "third"])
    }
  }

  @Test("where a publication has no issue, none yet, or none any more, its subscription is not held back")
  func nothingToHave() async throws {
    subscribe("first", "GPA.1", at: ServerHarness.start)
    try await run(withIssue: false) { server in
      try await show("first", server)
      #expect(try await acknowledged(server) == ["first"])
      // One that is announced and has no version.
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/\(Self.issue)", body: issue(), as: OperatorProduct.self)
      subscribe("second", "GPA.2", at: ServerHarness.start)
      try await show("second", server)
      #expect(try await acknowledged(server) == ["first", "second"])
      try await server.approve(package, "1.0", of: Self.issue)
      try await server.release("1.0", of: Self.issue)
      subscribe("third", "GPA.3", at: ServerHarness.start)
      try await show("third", server)
      #expect(try await acknowledged(server) == ["first", "second"], "there is something to deliver")
      try await server.step("withdraw", "1.0", of: Self.issue, ReasonBody(reason: "a fault"))
      #expect(try await acknowledged(server) == ["first", "second", "third"])
    }
  }

  @Test("a consumable, and a single issue that cannot be had, wait for their delivery")
  func neverEmpty() async throws {
    google.sell("com.example.coins", token: "coins", order: "GPA.1")
    google.sell("com.example.single", token: "single", order: "GPA.2")
    google.sell("com.example.unknown", token: "unknown", order: "GPA.3")
    try await run { server in
      for (product, type) in [("coins", ProductType.consumable), ("single", .nonConsumable)] {
        _ = try await server.operatorAPI.call(
          "PUT", "/v1/operator/products/com.example.\(product)", body: ProductDescription(type: type),
          as: OperatorProduct.self)
      }
      for token in ["coins", "single", "unknown"] { try await show(token, server) }
      server.clock.advance(by: .seconds(2 * 86_400))
      server.server.grants.sales.sweep()
      #expect(try await acknowledged(server).isEmpty)
    }
  }

  @Test("what was refunded meanwhile is not told of")
  func refunded() async throws {
    subscribe("first", "GPA.1", at: ServerHarness.start)
    try await run { server in
      try await deliver("first", server)
      server.clock.advance(by: Self.month * 2)
      subscribe("second", "GPA.2", at: server.clock.now())
      try await show("second", server, on: ServerHarness.late)
      try await know(server.device, of: "GPA.2", server)
      try await tell(
        #""voidedPurchaseNotification":{"purchaseToken":"second","orderId":"GPA.2","productType":1,"refundType":1}"#,
        id: "1", server)
      server.clock.advance(by: .seconds(2 * 86_400))
      server.server.grants.sales.sweep()
      #expect(try await acknowledged(server) == ["first"])
    }
  }

  @Test(
    "what the database refuses to write during a look is acknowledged after the next one, and once",
    .enabled(if: !TestDatabase.isOnServer),
    arguments: [true, false])
  func refusedWrite(isSweep: Bool) async throws {
    var options = TestDatabase.options
    options.longestWait = .seconds(2)
    subscribe("first", "GPA.1", at: ServerHarness.start)
    try await run(database: options) { server in
      try await deliver("first", server)
      server.clock.advance(by: Self.month * 2)
      subscribe("second", "GPA.2", at: server.clock.now())
      // It waits for a device that has nothing, until it is pressing.
      try await show("second", server, on: ServerHarness.late)
      try await know(server.device, of: "GPA.2", server)
      #expect(try await acknowledged(server) == ["first"])
      let warnings = Locked(0)
      let log = Log(level: .warning, output: { _ in warnings.withLock { $0 += 1 } })
      let (sales, timer) = try makeSales(server, log: log)
      let work = Task { await sales.run() }
      defer { work.cancel() }
      await timer.waitForSleepers()
      server.clock.advance(by: Self.halfTime)
      let second = try transaction("GPA.2")
      try await server.server.grants.grantStore.database.holdingWrites {
        if isSweep { sales.sweep() } else { sales.note([second]) }
        while warnings.current == 0 {
          try Task.checkCancellation()
          await Task.yield()
        }
        #expect(!sales.isIdle, "what it could not write is forgotten")
      }
      #expect(try await acknowledged(server) == ["first"])
      await timer.waitForSleepers()
      timer.advance(by: try #require(timer.timeToNextSleeper))
      try await wait(forAcknowledgements: 2)
      for _ in 0..<2 {
        sales.sweep()
        try await wait(for: sales)
        server.server.grants.sales.sweep()
        #expect(try await acknowledged(server) == ["first", "second"])
      }
    }
  }

  @Test(
    "a clock that is set a year ahead or behind, and right again, has nothing acknowledged before its delivery, nor twice"
  )
  func clockSteps() async throws {
    subscribe("first", "GPA.1", at: ServerHarness.start)
    try await run { server in
      try await show("first", server)
      #expect(try await acknowledged(server).isEmpty)
      for step in Self.steps {
        server.clock.advance(by: step)
        try await show("first", server)
        server.server.grants.sales.sweep()
        #expect(try await acknowledged(server).isEmpty, "at \(server.clock.now())")
      }
      try await deliver("first", server)
      #expect(try await acknowledged(server) == ["first"])
      subscribe("first", "GPA.1", at: ServerHarness.start, acknowledged: true)
      for step in Self.steps {
        server.clock.advance(by: step)
        // With the clock ahead, the call that was made is forgotten.
        try await server.server.components.retention.run()
        try await show("first", server)
        server.server.grants.sales.sweep()
        #expect(try await acknowledged(server) == ["first"], "at \(server.clock.now())")
      }
    }
  }

  @Test("a clock that is set a year ahead or behind, and right again, ends no wait for a device")
  func clockStepsDuringWait() async throws {
    subscribe("first", "GPA.1", at: ServerHarness.start)
    try await run { server in
      try await deliver("first", server)
      server.clock.advance(by: Self.month * 2)
      subscribe("second", "GPA.2", at: server.clock.now())
      try await show("second", server, on: ServerHarness.late)
      try await know(server.device, of: "GPA.2", server)
      for step in Self.steps {
        server.clock.advance(by: step)
        server.server.grants.sales.sweep()
        #expect(try await acknowledged(server) == ["first"], "at \(server.clock.now())")
      }
      server.clock.advance(by: Self.halfTime)
      server.server.grants.sales.sweep()
      #expect(try await acknowledged(server) == ["first", "second"])
    }
  }

  @Test(
    "a purchase that leaves nothing, and is shown while the clock is a year ahead, is acknowledged an hour after it is right again"
  )
  func shownAhead() async throws {
    let start = ServerHarness.start
    subscribe("first", "GPA.1", at: start)
    try await run { server in
      try await deliver("first", server)
      server.clock.advance(by: Self.month * 2 + Self.year)
      subscribe("second", "GPA.2", at: start + Self.month * 2)
      try await show("second", server)
      #expect(try await acknowledged(server) == ["first"])
      let (sales, timer) = try makeSales(server)
      let work = Task { await sales.run() }
      defer { work.cancel() }
      await timer.waitForSleepers()
      server.clock.advance(by: .zero - Self.year)
      timer.advance(by: EmptySales.interval)
      try await wait(forAcknowledgements: 2)
      server.server.grants.sales.sweep()
      #expect(try await acknowledged(server) == ["first", "second"])
    }
  }
}
