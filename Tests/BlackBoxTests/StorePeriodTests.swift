import CoreTypes
import Foundation
import PullboxAPI
import PullboxTesting
import Testing

/// A month of five seconds, so that a subscription's whole course takes half a minute.
@Suite("A subscription's periods, as the store tells them", .serialized, .timeLimit(.minutes(5)))
struct StorePeriodTests {
  private static let product = "com.example.magazine.monthly"
  private static let month: Int64 = 5000
  private static let renewals = 6

  /// When a period begins and ends, in milliseconds since the epoch.
  private struct Period: Hashable {
    var start: Int64
    var end: Int64
  }

  @Test(
    "bought, renewed six times, expired: list, receipt and verifyReceipt tell the same seven periods without a gap"
  )
  func course() async throws {
    try await Stack.with(Stack.Options(parts: [.store, .server])) { stack in
      let bought = try await begin(in: stack)
      try await eventually { try await state(in: stack) == .expired }
      try await expectCourse(of: bought, in: stack)
    }
  }

  @Test("SIGKILL of the store at every renewal loses none and makes none twice")
  func kills() async throws {
    try await Stack.with(Stack.Options(parts: [.store, .server])) { stack in
      let bought = try await begin(in: stack)
      for renewal in 1...Self.renewals {
        let moment = bought.purchaseDate + .milliseconds(Int64(renewal) * Self.month)
        // Nothing asks about it before the kill: the renewal is the worker's.
        try await eventually { SystemWallClock().now() >= moment }
        try await stack.restart(.store)
        #expect(try await transactions(in: stack).count == renewal + 1)
      }
      try await eventually { try await state(in: stack) == .expired }
      try await expectCourse(of: bought, in: stack)
    }
  }

  /// A subscription that begins now.
  private func begin(in stack: Stack) async throws -> StoreTransaction {
    let file = try await Material.file("issue.cbz", length: 10_000, in: stack.directory)
    try await stack.publish(file, as: "com.example.magazine.issue1")
    for (product, description) in [
      (
        "com.example.magazine.issue1",
        #"{"publication":"com.example.magazine","publicationDate":"2026-11-01T00:00:00Z"}"#
      ),
      (
        Self.product,
        #"{"type":"auto-renewable-subscription","publication":"com.example.magazine","period":"P1M","onSale":true}"#
      ),
    ] {
      let answer = try await stack.operatorWeb.send(
        "PUT", "/v1/operator/products/\(product)", headers: [("Content-Type", "application/json")],
        body: Array(description.utf8))
      guard (200..<300).contains(answer.status) else { throw Stack.Failure(description: answer.text) }
    }
    let time = try await stack.store().send(
      "PUT", "/sandbox/v1/time", headers: [("Content-Type", "application/json")],
      body: try APIJSON.encode(StoreTime(month: "5s", renewals: Self.renewals)))
    #expect(time.status == 200)
    return try await stack.buy(Self.product, device: "reader-1")
  }

  private func transactions(in stack: Stack) async throws -> [StoreTransaction] {
    try await stack.store().get("/store/v1/transactions").decoded(TransactionsResponse.self).transactions
  }

  private func state(in stack: Stack) async throws -> StoreSubscription.State? {
    try await stack.store().get("/store/v1/subscriptions").decoded(SubscriptionsResponse.self)
      .subscriptions.first?.state
  }

  private func expectCourse(of bought: StoreTransaction, in stack: Stack) async throws {
    let start = bought.purchaseDate.millisecondsSinceEpoch
    let expected = (0...Int64(Self.renewals)).map {
      Period(start: start + $0 * Self.month, end: start + ($0 + 1) * Self.month)
    }
    let all = try await transactions(in: stack)
    #expect(
      all.map {
        Period(
          start: $0.purchaseDate.millisecondsSinceEpoch, end: $0.expiresDate?.millisecondsSinceEpoch ?? 0)
      } == expected)
    #expect(all.allSatisfy { $0.originalId == bought.id })

    let answer = try await stack.store().post(
      "/verifyReceipt", ["receipt-data": try await stack.receipt(device: "reader-1")])
    let document = try answer.decoded(JSONValue.self)
    func periods(_ entries: JSONValue) -> [Period] {
      entries.items.map {
        Period(
          start: Int64($0["purchase_date_ms"].text ?? "") ?? 0,
          end: Int64($0["expires_date_ms"].text ?? "") ?? 0)
      }.sorted { $0.start < $1.start }
    }
    #expect(document["status"].number == 0)
    #expect(periods(document["receipt"]["in_app"]) == expected)
    #expect(periods(document["latest_receipt_info"]) == expected)
    let renewal = document["pending_renewal_info"].items.first
    #expect(renewal?["auto_renew_status"].text == "0" && renewal?["expiration_intent"].text == "1")
  }
}
