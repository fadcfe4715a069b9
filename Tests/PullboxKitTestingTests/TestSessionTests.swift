import Foundation
import PullboxKit
import PullboxKitTesting
import Testing

/// The tests that an app's developer writes against the testing library, with the kit alone beside it.
@Suite("A store, a server and an agent in the process of an app's tests", .timeLimit(.minutes(3)))
struct TestSessionTests {
  private static func page(_ seed: UInt8, length: Int = 40_000) -> [UInt8] {
    // JPEG's first bytes, and bytes that no compressor shortens much.
    var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
    return [0xFF, 0xD8, 0xFF, 0xE0]
      + (0..<length).map { _ in
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return UInt8(truncatingIfNeeded: state)
      }
  }

  @Test("a purchase is confirmed at its price, delivered byte for byte, and finished by the agent")
  func purchase() async throws {
    try await TestSession.with { session in
      let page = Self.page(1)
      let id = try await session.publish(
        "com.example.issue1", title: "Heroes 1", price: "2.99", pages: ["pages/1.jpg": page])
      let shown = try await Product.products(
        for: ["com.example.issue1", "com.example.none"], from: session.agent)
      let product = try #require(shown.first)
      #expect(shown.count == 1 && product.displayName == "Heroes 1" && product.displayPrice == "$2.99")
      let result = try await product.purchase { offer in
        #expect(offer.displayPrice == "$2.99" && offer.isTest)
        return true
      }
      let transaction = try await Self.paid(result, id, session)
      let delivery = try await transaction.delivered
      let path = try #require(delivery.path)
      #expect(try Self.read("\(path)/pages/1.jpg") == page)
      #expect(delivery.items.map(\.product) == [id])
      for try await unfinished in Transaction.unfinished(from: session.agent) {
        Issue.record("\(unfinished.id)")
      }
      #expect(try await Transaction.latest(for: id, from: session.agent)?.state == .finished)
      // Bought again, it charges nothing and asks no one.
      let again = try #require(try await Product.products(for: [id.description], from: session.agent).first)
      let held = try await again.purchase { _ in
        Issue.record("what is owned is not asked about")
        return true
      }
      guard case .delivered(let here) = held else {
        Issue.record("\(held)")
        return
      }
      #expect(here == delivery)
      // Removed, it is fetched again, and charged no more than before.
      try await session.agent.remove(id)
      let fetched = try await Self.paid(try await again.purchase(confirm: { _ in false }), id, session)
      #expect(try await fetched.delivered.items.map(\.version) == delivery.items.map(\.version))
      #expect(try Self.read("\(path)/pages/1.jpg") == page)
    }
  }

  @Test("a buyer who says no, and a payment that is declined, buy nothing")
  func declines() async throws {
    try await TestSession.with { session in
      try await session.publish(
        "com.example.issue1", title: "Heroes 1", price: "2.99", pages: ["1.jpg": Self.page(1)])
      let product = try #require(
        try await Product.products(for: ["com.example.issue1"], from: session.agent).first)
      guard case .declined(let refusal) = try await product.purchase(confirm: { _ in false }) else {
        Issue.record("bought")
        return
      }
      #expect(refusal.reason == .cancelledByBuyer)
      try await session.declineNextPurchase()
      let declined = try await product.purchase(confirm: { _ in true })
      guard case .declined(let payment) = declined else {
        Issue.record("\(declined)")
        return
      }
      #expect(payment.reason == .paymentFailed)
    }
  }

  @Test("a purchase that waits for a decision is pending, and comes once it is approved")
  func approval() async throws {
    try await TestSession.with { session in
      try await session.publish(
        "com.example.issue1", title: "Heroes 1", price: "2.99", pages: ["1.jpg": Self.page(1)])
      let product = try #require(
        try await Product.products(for: ["com.example.issue1"], from: session.agent).first)
      try await session.interruptNextPurchase()
      guard case .pending(let transaction) = try await product.purchase(confirm: { _ in true }) else {
        Issue.record("not pending")
        return
      }
      try await session.decide(transaction.id, approve: true)
      #expect(try await transaction.delivered.items.count == 1)
    }
  }

  @Test("what was refunded is owned no more, and is again when the refund is taken back")
  func refund() async throws {
    try await TestSession.with { session in
      let id = try await session.publish(
        "com.example.issue1", title: "Heroes 1", price: "2.99", pages: ["1.jpg": Self.page(1)])
      let product = try #require(try await Product.products(for: [id.description], from: session.agent).first)
      let transaction = try await Self.paid(try await product.purchase(confirm: { _ in true }), id, session)
      _ = try await transaction.delivered
      #expect(try await Self.owned(session) == [id])
      try await session.refund(transaction.id)
      // Receipts are fetched once for the questions of a minute, and a store's word serves for five.
      session.advance(by: .seconds(400))
      #expect(try await Self.owned(session).isEmpty)
      try await session.reverseRefund(of: transaction.id)
      session.advance(by: .seconds(400))
      #expect(try await Self.owned(session) == [id])
    }
  }

  @Test("a refund is asked for by the app, decided by the store, and not asked for what cost nothing")
  func refundRequest() async throws {
    try await TestSession.with { session in
      let id = try await session.publish(
        "com.example.issue1", title: "Heroes 1", price: "2.99", pages: ["1.jpg": Self.page(1)])
      let product = try #require(try await Product.products(for: [id.description], from: session.agent).first)
      let transaction = try await Self.paid(try await product.purchase(confirm: { _ in true }), id, session)
      _ = try await transaction.delivered
      try await transaction.requestRefund(reason: .unintendedPurchase)
      #expect(try await Self.owned(session) == [id], "the store has not decided")
      try await session.refund(transaction.id)
      let error = await #expect(throws: APICallError.self) { try await transaction.requestRefund() }
      guard case .problem(let problem)? = error else { throw CancellationError() }
      #expect(problem.code == .transactionUnpaid)
    }
  }

  @Test(
    "a slow way shows progress on the way, a broken one loses nothing, and no server means what this device knows"
  )
  func ways() async throws {
    try await TestSession.with { session in
      let pages = Dictionary(
        uniqueKeysWithValues: (1...4).map { ("\($0).jpg", Self.page(UInt8($0), length: 1 << 20)) })
      let id = try await session.publish("com.example.issue1", title: "Heroes 1", price: "2.99", pages: pages)
      let product = try #require(try await Product.products(for: [id.description], from: session.agent).first)
      session.slowDown(to: .mebibytes(2))
      let transaction = try await Self.paid(try await product.purchase(confirm: { _ in true }), id, session)
      var between = 0
      for try await download in transaction.progress where (0.01..<0.99).contains(download.progress) {
        between += 1
        if between == 1 { session.breakConnections() }
        if between == 2 { session.slowDown(to: nil) }
      }
      #expect(between >= 2)
      let path = try #require(try await transaction.delivered.path)
      for (name, bytes) in pages { #expect(try Self.read("\(path)/\(name)") == bytes) }

      session.setServerReachable(false)
      var known: [Transaction.Entitlement] = []
      for try await entitlement in Transaction.currentEntitlements(from: session.agent) {
        known.append(entitlement)
      }
      #expect(known.map(\.product) == [id])
      #expect(known.first?.asOf != nil)
      session.setServerReachable(true)
    }
  }

  @Test(
    "a subscription's life in one test: price that needs consent, declined renewal, grace, end; each has its message"
  )
  func subscription() async throws {
    try await TestSession.with { session in
      try await session.publish(
        "com.example.issue1", title: "Heroes 1", price: "2.99", publication: "com.example.heroes",
        pages: ["1.jpg": Self.page(1)])
      let id = try await session.publishSubscription(
        "com.example.heroes.monthly", title: "Heroes", price: "4.99", publication: "com.example.heroes")
      let product = try #require(try await Product.products(for: [id.description], from: session.agent).first)
      #expect(product.subscription?.displayTerms == "$4.99 a month")
      _ = try await product.purchase { _ in true }
      let begun = try #require(try await SubscriptionInfo.status(for: id, from: session.agent))
      #expect(begun.state == .subscribed && begun.willAutoRenew)
      let price = try #require(Price(amount: "5.99", currency: "USD"))
      try await session.raisePrice(of: begun.id, to: price, needsConsent: true)
      let asked = try #require(try await SubscriptionInfo.status(for: id, from: session.agent))
      guard case .priceConsent(let pending) = asked.state else {
        Issue.record("\(asked.state)")
        return
      }
      #expect(pending.price == price)
      var messages = Message.messages(from: session.agent).makeAsyncIterator()
      #expect(try await messages.next()?.reason == .priceIncrease(subscription: begun.id, pending))
      #expect(try await asked.manage(.acceptPrice).state == .subscribed)
      try await session.failRenewals(of: begun.id)
      session.advance(by: .seconds(32 * 86_400))
      let grace = try #require(try await SubscriptionInfo.status(for: id, from: session.agent))
      guard case .inGracePeriod(let until) = grace.state else {
        Issue.record("\(grace.state)")
        return
      }
      #expect(until > begun.expires)
      messages = Message.messages(from: session.agent).makeAsyncIterator()
      #expect(try await messages.next()?.reason == .renewalDeclined(subscription: begun.id))
      try await session.letRenewalsSucceed(of: begun.id)
      #expect(try await SubscriptionInfo.status(for: id, from: session.agent)?.state == .subscribed)
      try await session.expire(begun.id)
      let over = try #require(try await SubscriptionInfo.status(for: id, from: session.agent))
      guard case .expired = over.state else {
        Issue.record("\(over.state)")
        return
      }
    }
  }

  @Test(
    "a subscription whose payment was given back is revoked, and is subscribed to again when that is taken back"
  )
  func revocation() async throws {
    try await TestSession.with { session in
      try await session.publish(
        "com.example.issue1", title: "Heroes 1", price: "2.99", publication: "com.example.heroes",
        pages: ["1.jpg": Self.page(1)])
      let id = try await session.publishSubscription(
        "com.example.heroes.monthly", title: "Heroes", price: "4.99", publication: "com.example.heroes")
      let product = try #require(
        try await Product.products(for: [id.description], from: session.agent).first)
      _ = try await product.purchase { _ in true }
      let begun = try #require(try await SubscriptionInfo.status(for: id, from: session.agent))
      try await session.refund(begun.id)
      guard case .revoked = try await SubscriptionInfo.status(for: id, from: session.agent)?.state else {
        Issue.record("not revoked")
        return
      }
      try await session.reverseRefund(of: begun.id)
      #expect(try await SubscriptionInfo.status(for: id, from: session.agent)?.state == .subscribed)
      // By the publication as well.
      let series = try #require(ProductIdentifier("com.example.heroes"))
      #expect(try await SubscriptionInfo.status(for: series, from: session.agent)?.id == begun.id)
    }
  }

  @Test("a code gives what it is for; storefront and restore plan tell what they are asked")
  func codes() async throws {
    var options = TestSession.Options()
    options.territory = "FRA"
    try await TestSession.with(options) { session in
      let id = try await session.publish(
        "com.example.issue1", title: "Heroes 1", pages: ["1.jpg": Self.page(1)])
      #expect(try await Storefront.current(from: session.agent).countryCode == "FRA")
      let code = try await session.makeCode(for: id)
      let transaction = try await Self.paid(
        try await AppStore.redeem(code, from: session.agent), id, session)
      _ = try await transaction.delivered
      try await session.agent.remove(id)
      // Where the feed tells of it only now, it comes back by itself.
      let plan = try await AppStore.plan(from: session.agent)
      #expect((plan.missing + plan.present).map(\.product) == [id])
      #expect(try await AppStore.sync([], from: session.agent).isEmpty)
      let begun = try await AppStore.sync([id], from: session.agent)
      let downloads = try await session.agent.downloads().filter { $0.product == id }
      #expect((begun == [id] || begun.isEmpty) && downloads.count == 2, "\(begun) \(downloads)")
    }
  }

  @Test(
    "what an app buys, redeems and restores bears its name, so that it finds its own when it starts again")
  func ownDownloads() async throws {
    try await TestSession.with { session in
      let name = try #require(SessionName("org.example.Reader"))
      var agent = session.agent
      agent.session = name
      var ids: [ProductIdentifier] = []
      for issue in 1...4 {
        ids.append(
          try await session.publish(
            "com.example.issue\(issue)", title: "Heroes \(issue)", pages: ["1.jpg": Self.page(UInt8(issue))]))
      }
      func own() async throws -> Set<ProductIdentifier> {
        Set(try await session.agent.downloads(of: name).map(\.product))
      }
      // An app without a name has none.
      let other = try #require(
        try await Product.products(for: [ids[3].description], from: session.agent).first)
      _ = try await Self.paid(try await other.purchase(confirm: { _ in true }), ids[3], session).delivered
      #expect(try await own().isEmpty)

      let product = try #require(try await Product.products(for: [ids[0].description], from: agent).first)
      _ = try await Self.paid(try await product.purchase(confirm: { _ in true }), ids[0], session).delivered
      let queued = try await PaymentQueue(agent).add(Payment(product: ids[1]))
      _ = try await Transaction(try await agent.transaction(queued.id), agent: agent).delivered
      let code = try await session.makeCode(for: ids[2])
      _ = try await Self.paid(try await AppStore.redeem(code, from: agent), ids[2], session).delivered
      #expect(try await own() == Set(ids[..<3]))
      #expect(try await session.agent.transactions(of: name).count == 3)
    }
  }

  /// The transaction of a purchase that was paid. A page of a few kilobytes may be here by the time the purchase returns.
  private static func paid(
    _ result: PullboxKit.Product.PurchaseResult, _ id: ProductIdentifier, _ session: TestSession
  ) async throws -> Transaction {
    if case .delivering(let transaction) = result { return transaction }
    guard case .delivered = result else { throw Unpaid(result: result) }
    return try #require(try await Transaction.latest(for: id, from: session.agent))
  }

  private struct Unpaid: Error {
    let result: PullboxKit.Product.PurchaseResult
  }

  private static func owned(_ session: TestSession) async throws -> [ProductIdentifier] {
    var found: [ProductIdentifier] = []
    for try await entitlement in Transaction.currentEntitlements(from: session.agent) {
      found.append(entitlement.product)
    }
    return found
  }

  private static func read(_ path: String) throws -> [UInt8] { try [UInt8](contentsOf: path) }
}

extension [UInt8] {
  fileprivate init(contentsOf path: String) throws { self = Array(try Data(contentsOf: URL(filePath: path))) }
}
