import Commerce
import CoreTypes
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentGrants
@testable import DeliveryRecords
@testable import DeliveryService

@Suite("Money by territory and currency", .timeLimit(.minutes(1)))
struct MoneyReportTests {
  private func price(_ amount: String, _ currency: String) throws -> Price {
    try #require(Price(amount: amount, currency: currency))
  }

  @Test(
    "sums are exact in currencies of no, two and three decimals, of many sales, and never over currencies")
  func sums() throws {
    var tally = MoneyTally()
    func add(_ territory: String?, _ amount: String?, _ currency: String, _ count: Int, refund: Bool = false)
      throws
    {
      tally.add(
        .init(
          territory: try territory.map { try #require(Territory($0)) },
          price: try amount.map { try price($0, currency) }, count: count), isRefund: refund)
    }
    try add("JPN", "120", "JPY", 3)
    try add("KWT", "0.250", "KWD", 7)
    try add("KWT", "1.5", "KWD", 1, refund: true)
    try add("FRA", "0.10", "EUR", 3)
    try add("FRA", "0.20", "EUR", 1)
    try add("FRA", "999999999.99", "EUR", 2_000_000_000)
    try add("FRA", "2.99", "USD", 1)
    try add(nil, "2.99", "USD", 2)
    try add("USA", nil, "", 5)
    let rows = tally.rows.map {
      "\($0.territory) \($0.currency) \($0.sales) \($0.sold) \($0.refunds) \($0.refunded)"
    }
    #expect(
      rows == [
        "FRA EUR 2000000004 1999999999980000000.50 0 0.00", "FRA USD 1 2.99 0 0.00", "JPN JPY 3 360 0 0",
        "KWT KWD 7 1.750 1 1.500", "unknown USD 2 5.98 0 0.00",
      ])
    #expect(tally.withoutPrice == 5)
  }

  @Test(
    "what a store told of prices is reported for the days that are asked for; a sandbox only where it is asked for"
  )
  func told() async throws {
    try await ServerHarness.run { server in
      let now = server.clock.now()
      func paid(_ id: String, _ amount: String?, revoked: Timestamp? = nil) throws -> VerifiedTransaction {
        VerifiedTransaction(
          vouchedForBy: .sandbox, in: .sandbox, id: try #require(TransactionIdentifier(id)),
          originalID: try #require(TransactionIdentifier(id)),
          product: try #require(ProductIdentifier("com.example.a")), purchaseDate: now, revokedDate: revoked,
          price: try amount.map { try price($0, "USD") }, territory: Territory("USA"), asOf: now)
      }
      _ = try await server.server.grants.grantStore.record(
        [
          try paid("2000000000000001", "2.99"), try paid("2000000000000002", "0.99", revoked: now),
          try paid("2000000000000003", nil),
        ], by: .init()
      ) { _ in }
      func report(_ query: [(String, String)]) async throws -> MoneyReport {
        try await server.operatorAPI.get("/v1/operator/reports/money", query: query)
      }
      #expect(try await report([]).rows.isEmpty, "that is a sandbox")
      let found = try await report([("environment", "Sandbox")])
      #expect(
        found.rows == [
          .init(territory: "USA", currency: "USD", sales: 2, sold: "3.98", refunds: 1, refunded: "0.99")
        ])
      #expect(found.withoutPrice == 1)
      #expect(
        try await report([("environment", "Sandbox"), ("to", "2026-09-01"), ("from", "2026-08-30")]).rows
          .isEmpty)
      for query in [[("by", "day")], [("from", "x")]] {
        await #expect(throws: APICallError.self) { try await report(query) }
      }
    }
  }
}
