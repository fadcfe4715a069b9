import Commerce
import CoreTypes
import Entitlements
import Foundation
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

/// A month of five seconds, so that a subscription's whole course takes half a minute.
@Suite("A subscription's periods, as the store tells them", .serialized, .timeLimit(.minutes(5)))
struct StorePeriodTests {
  private static let product = "com.example.magazine.monthly"
  private static let month: Int64 = 5000
  private static let renewals = 6

  private static var options: Stack.Options {
    var options = Stack.Options(parts: [.store, .server])
    options.signsData = true
    return options
  }

  /// When a period begins and ends, in milliseconds since the epoch.
  private struct Period: Hashable {
    var start: Int64
    var end: Int64
  }

  @Test(
    "bought, renewed six times, expired: all that store and server tell are the same seven periods without a gap"
  )
  func course() async throws {
    try await Stack.with(Self.options) { stack in
      let bought = try await begin(in: stack)
      try await eventually { try await state(in: stack) == .expired }
      try await expectCourse(of: bought, in: stack)
    }
  }

  @Test("SIGKILL of store and server at every renewal loses none and makes none twice, in both")
  func kills() async throws {
    try await Stack.with(Self.options) { stack in
      let bought = try await begin(in: stack)
      for renewal in 1...Self.renewals {
        let moment = bought.purchaseDate + .milliseconds(Int64(renewal) * Self.month)
        // Nothing asks about it before the kill: the renewal is the worker's.
        try await eventually { SystemWallClock().now() >= moment }
        await stack.kill(.server)
        try await stack.restart(.store)
        try await stack.start(.server)
        let count = try await transactions(in: stack).count
        let age = (SystemWallClock().now() - bought.purchaseDate).components.seconds
        // A slow start of both may take until the next renewal, or the one after it.
        #expect(count > renewal && count <= min(Int(age * 1000 / Self.month), Self.renewals) + 1)
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

  @Test(
    "an issue of a lapse of one contracted month stays closed to who subscribes again, and explain and report say the lapse"
  )
  func lapse() async throws {
    try await Stack.with(Stack.Options(parts: [.store, .server])) { stack in
      let magazine = ProductIdentifier("com.example.magazine")
      func release(_ number: Int) async throws {
        let file = try await Material.file(
          "issue\(number).cbz", length: 10_000, seed: number, in: stack.directory)
        try await stack.describe(
          "com.example.magazine.issue\(number)",
          ProductDescription(publication: magazine, publicationDate: SystemWallClock().now()))
        try await stack.release(file, as: "com.example.magazine.issue\(number)")
      }
      try await release(1)
      try await stack.describe(
        Self.product,
        ProductDescription(
          type: .autoRenewableSubscription, publication: magazine, period: BillingPeriod("P1M"), onSale: true)
      )
      let time = try await stack.store().send(
        "PUT", "/sandbox/v1/time", headers: [("Content-Type", "application/json")],
        body: try APIJSON.encode(StoreTime(month: "4s", renewals: 1)))
      #expect(time.status == 200)
      let first = try await stack.buy(Self.product, device: "reader-1")
      let off = try await stack.store().send(
        "PATCH", "/store/v1/subscriptions/\(first.originalId)",
        headers: [("Content-Type", "application/json")],
        body: Array(#"{"autoRenew":false}"#.utf8))
      #expect(off.status == 200, "\(off.text)")
      try await eventually { try await state(in: stack) == .expired }
      // A month behind it.
      let end = try #require(first.expiresDate)
      try await eventually { SystemWallClock().now() >= end + .seconds(1) }
      try await release(2)
      try await eventually { SystemWallClock().now() >= end + .seconds(4) }
      try await release(3)
      // Periods begin with whole seconds: it is the latest issue when this one does.
      let latest = SystemWallClock().now()
      try await eventually { SystemWallClock().now() >= latest + .seconds(1) }
      let second = try await stack.buy(Self.product, device: "reader-1")
      let receipt = try await stack.receipt(device: "reader-1")
      for (number, status) in [(1, 201), (3, 201), (2, 402)] {
        let answer = try await stack.askForGrant(
          of: "com.example.magazine.issue\(number)", receipt: receipt, device: "reader-1")
        #expect(answer.status == status, "issue \(number): \(answer.text)")
      }
      let told = try await stack.pullbox(
        "explain", "com.example.magazine.issue2", "--transaction", "\(second.id)", "--json")
      let explained = try APIJSON.decode(ExplanationResponse.self, from: Array(told.output.utf8))
      #expect(!explained.allowed && explained.because.isEmpty)
      #expect(explained.against.map(\.rule.rawValue).contains("published-outside-periods"), "\(told.output)")
      let report = try await stack.pullbox("report", "--json")
      #expect(
        report.output.contains(#""lapsed":1"#) || report.output.contains(#""lapsed": 1"#), "\(report.output)")
    }
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

    func periods(_ signed: [String]) throws -> [Period] {
      try signed.map { text in
        let payload = try Stack.payload(of: text)
        return Period(
          start: Int64(payload["purchaseDate"].number ?? 0), end: Int64(payload["expiresDate"].number ?? 0))
      }
    }
    let history = try await stack.interface("GET", "/v2/history/\(bought.id)?sort=ASCENDING")
    #expect(try periods(history["signedTransactions"].items.compactMap(\.text)) == expected)
    let statuses = try await stack.interface("GET", "/v1/subscriptions/\(bought.id)")
    let last = try #require(statuses["data"].items.first?["lastTransactions"].items.first)
    #expect(last["status"].number == 2)
    #expect(try periods([last["signedTransactionInfo"].text ?? ""]) == [try #require(expected.last)])

    let now = SystemWallClock().now().millisecondsSinceEpoch
    let told = try await stack.interface(
      "POST", "/v1/notifications/history",
      body: "{\"startDate\":\(start - 60_000),\"endDate\":\(now + 60_000)}")
    let notifications = try told["notificationHistory"].items.map {
      try Stack.payload(of: $0["signedPayload"].text)
    }
    #expect(
      notifications.map { $0["notificationType"].text }
        == ["SUBSCRIBED"] + Array(repeating: "DID_RENEW", count: Self.renewals) + ["EXPIRED"])
    #expect(
      try periods(notifications.dropLast().compactMap { $0["data"]["signedTransactionInfo"].text })
        == expected)

    // A server that was told of each has written all of it down, also the notifications that were sent while it was away.
    try await eventually { try await ledger(in: stack).count == expected.count }
    #expect(try await ledger(in: stack) == expected)
  }

  /// The periods that the server knows, by its database.
  private func ledger(in stack: Stack) async throws -> [Period] {
    let outcome = try await Executables.run(
      "/usr/bin/python3",
      [
        "-c",
        """
        import sqlite3, sys
        database = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
        for row in database.execute('''
            SELECT purchased, expires FROM transactions WHERE store = 'apple' AND product IS NOT NULL
            ORDER BY purchased'''):
            print(*row)
        """, stack.directory.path("server/server.db"),
      ], in: stack.directory)
    guard outcome.succeeded else { throw Stack.Failure(description: outcome.errors) }
    return outcome.output.split(separator: "\n").compactMap { line in
      let parts = line.split(separator: " ").compactMap { Int64($0) }
      return parts.count == 2 ? Period(start: parts[0], end: parts[1]) : nil
    }
  }
}
