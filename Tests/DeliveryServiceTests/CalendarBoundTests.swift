import Commerce
import CoreTypes
import Foundation
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import Testing

@testable import DeliveryService

/// RFC 3339 has four digits for a year. A store's dates at both ends of that, and what is computed from them, have to be in every
/// answer as RFC 3339 writes them.
@Suite("Dates at the ends of the calendar", .timeLimit(.minutes(2)))
struct CalendarBoundTests {
  private static let plan = "com.example.heroes.plan"
  private static let season = "com.example.heroes.season"
  private static let issue = "com.example.heroes.1"
  private static let single = "com.example.single"
  private let first: Timestamp
  private let last: Timestamp

  init() throws {
    first = try #require(Timestamp(rfc3339: "0001-01-01T00:00:00Z"))
    last = try #require(Timestamp(rfc3339: "9999-12-31T23:59:59Z"))
  }

  /// Products of which the subscriptions open the one issue of their magazine.
  private func open(_ server: ServerHarness) async throws {
    let magazine = ProductIdentifier("com.example.heroes")
    try await server.publish(
      Array("an issue".utf8), as: Self.issue,
      description: ProductDescription(
        publication: magazine, publicationDate: server.clock.now() - .seconds(86_400)))
    try await server.publish(Array("a single".utf8), as: Self.single)
    for (product, type, period) in [
      (Self.plan, .autoRenewableSubscription, "P1M"), (Self.season, .nonRenewingSubscription, "P3M"),
    ] as [(String, ProductType, String)] {
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/\(product)",
        body: ProductDescription(type: type, publication: magazine, period: BillingPeriod(period)),
        as: OperatorProduct.self)
    }
  }

  private func isDate(_ text: String) -> Bool {
    text.contains("T") && text.contains(":")
      && text.utf8.allSatisfy { (0x30...0x39).contains($0) || "-+:.TZ".utf8.contains($0) }
  }

  /// Reads every date in an answer: four digits, and no more, in its year, in UTC with milliseconds.
  private func expectReadable(_ body: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) throws {
    var dates: [String] = []
    func read(_ value: Any) {
      if let text = value as? String {
        if isDate(text) { dates.append(text) }
      } else if let members = value as? [String: Any] {
        for member in members.values { read(member) }
      } else if let elements = value as? [Any] {
        for element in elements { read(element) }
      }
    }
    read(try JSONSerialization.jsonObject(with: Data(body)))
    for date in dates {
      #expect(
        date.utf8.count == 24 && Timestamp(rfc3339: date)?.rfc3339 == date, "\(date)",
        sourceLocation: sourceLocation)
    }
  }

  private func entitlements(
    _ proof: Proof, _ server: ServerHarness, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> EntitlementsResponse {
    let request = try APIJSON.encode(EntitlementsRequest(proof: proof, device: server.device))
    let answer = try await server.api.exchange("POST", "/v1/entitlements", bytes: request)
    try expectReadable(answer.body, sourceLocation: sourceLocation)
    return try APIJSON.decode(EntitlementsResponse.self, from: answer.body)
  }

  private func grant(_ product: String, _ proof: Proof, _ server: ServerHarness) async throws {
    let request = try APIJSON.encode(
      GrantRequest(
        proof: proof, product: try #require(ProductIdentifier(product)), device: server.device))
    try expectReadable(try await server.api.exchange("POST", "/v1/grants", bytes: request).body)
  }

  /// Asks operators' questions about these transactions.
  private func ask(about transactions: [String], _ server: ServerHarness) async throws {
    for transaction in transactions {
      for product in [Self.plan, Self.season, Self.issue, Self.single] {
        for moment in [nil, first, last] {
          let query =
            [("product", product), ("transaction", transaction)] + (moment.map { [("at", "\($0)")] } ?? [])
          let answer = try await server.operatorAPI.exchange("GET", "/v1/operator/explain", query: query)
          try expectReadable(answer.body)
        }
      }
    }
    for path in ["stores", "grants", "audit", "reports", "reports/money"] {
      try expectReadable(try await server.operatorAPI.exchange("GET", "/v1/operator/\(path)").body)
    }
  }

  @Test(
    "an app receipt from the year 1 to the year 9999 opens what it pays for, and every answer is readable")
  func appReceipt() async throws {
    try await ServerHarness.run { server in
      try await open(server)
      func purchase(
        of product: String, _ id: String, at date: Timestamp, to end: Timestamp? = nil
      ) -> InAppPurchase {
        var purchase = server.purchase(of: product, id: id, expires: end)
        (purchase.purchaseDate, purchase.originalPurchaseDate) = (date, date)
        return purchase
      }
      let purchases = [
        purchase(of: Self.plan, "1", at: first, to: last), purchase(of: Self.single, "2", at: last),
        // Its end would be in the year 10000, so that it has none.
        purchase(of: Self.season, "3", at: last),
      ]
      let proof = Proof(
        store: "sandbox", receipt: try server.store.receipt(of: purchases, device: server.device.id))
      let answer = try await entitlements(proof, server)
      #expect(Set(answer.products.map(\.product.description)) == [Self.issue, Self.single])
      #expect(answer.subscribedUntil == [Self.plan: last])
      for product in [Self.issue, Self.single] { try await grant(product, proof, server) }
      try await ask(about: ["1", "2", "3"], server)
    }
  }

  @Test(
    "signed dates outside of the years 1970 to 9999 count as the nearest of these, and every answer is readable"
  )
  func signedTransaction() async throws {
    let apple = try FakeAppleStore()
    try await ServerHarness.run(options: apple.option()) { server in
      try await open(server)
      var bought = apple.transaction("1", product: Self.plan)
      bought.type = "Auto-Renewable Subscription"
      bought.purchaseDate = SignedDate(first)
      bought.originalPurchaseDate = SignedDate(first)
      bought.expiresDate = SignedDate(Timestamp(millisecondsSinceEpoch: .max))
      let proof = Proof(store: "apple", signedTransaction: try apple.sign(bought))
      let answer = try await entitlements(proof, server)
      #expect(answer.products.map(\.product.description) == [Self.issue])
      #expect(answer.subscribedUntil == [Self.plan: last + .milliseconds(999)])
      #expect(answer.subscribedSince == [Self.plan: Timestamp(millisecondsSinceEpoch: 0)])
      try await grant(Self.issue, proof, server)
      try await ask(about: ["1"], server)
    }
    await apple.stop()
  }

  @Test("purchases at Google of the years 1 and 9999 are granted, and are due at a date that can be read")
  func google() async throws {
    let google = try FakeGoogleStore()
    google.sell(Self.single, token: "token-1", order: "GPA.1", at: last)
    google.subscribe(Self.plan, token: "token-2", order: "GPA.2", from: first, to: last)
    try await ServerHarness.run(options: google.option()) { server in
      try await open(server)
      let single = Proof(store: "google", purchaseToken: "token-1")
      let plan = Proof(store: "google", purchaseToken: "token-2")
      #expect(try await entitlements(single, server).products.map(\.product.description) == [Self.single])
      #expect(try await entitlements(plan, server).subscribedUntil == [Self.plan: last])
      try await grant(Self.single, single, server)
      try await grant(Self.issue, plan, server)
      try await ask(about: ["GPA.1", "GPA.2"], server)
      let stores = try await server.operatorAPI.get("/v1/operator/stores", as: StoreStatuses.self).stores
      let due = stores.first { $0.name == "google" }?.nextAcknowledgement
      #expect(due == last + .milliseconds(999))
    }
    await google.stop()
  }
}
