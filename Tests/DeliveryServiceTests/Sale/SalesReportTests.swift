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

@testable import ContentDelivery
@testable import ContentGrants
@testable import DeliveryRecords
@testable import DeliveryService

@Suite("Reports of sales")
struct SalesReportTests {
  private static let monthly = "com.example.monthly"
  /// A day before the server's first moment, at midnight.
  private static let day = SalesTally.day(of: ServerHarness.start) - 10

  private static func at(_ day: Int, hour: Int = 0) -> Timestamp {
    SalesTally.start(of: Self.day + day) + .seconds(hour * 3600)
  }

  private static func name(_ day: Int) -> String { String(at(day).description.prefix(10)) }

  private func sale(
    _ id: String, of product: String = monthly, original: String? = nil, at purchased: Timestamp,
    until expires: Timestamp? = nil, revoked: Timestamp? = nil, quantity: Int = 1, territory: String? = nil,
    in environment: StoreEnvironment = .production
  ) throws -> VerifiedTransaction {
    VerifiedTransaction(
      vouchedForBy: .apple, in: environment, id: try #require(TransactionIdentifier(id)),
      originalID: try #require(TransactionIdentifier(original ?? id)),
      product: try #require(ProductIdentifier(product)), purchaseDate: purchased, expiresDate: expires,
      revokedDate: revoked, quantity: quantity, territory: territory.flatMap { Territory($0) },
      asOf: max(purchased, revoked ?? purchased))
  }

  private func record(_ sales: [VerifiedTransaction], _ server: ServerHarness) async throws {
    let database = server.server.components.infrastructure.database
    let store = GrantStore(database: database, clock: server.clock)
    // Each is a customer of its own.
    for sale in sales { _ = try await store.record([sale], by: .init()) { _ in } }
  }

  private func report(_ query: [(String, String)], _ server: ServerHarness) async throws -> SalesReport {
    try await server.operatorAPI.get("/v1/operator/reports", query: query)
  }

  /// A subscription of three periods that then lapses, one that is refunded within its first, one that runs on, and consumables.
  private func sales() throws -> [VerifiedTransaction] {
    [
      try sale("1", at: Self.at(0, hour: 5), until: Self.at(2, hour: 5), territory: "FRA"),
      try sale("2", original: "1", at: Self.at(2, hour: 5), until: Self.at(4, hour: 5), territory: "FRA"),
      try sale("3", original: "1", at: Self.at(4, hour: 5), until: Self.at(6, hour: 5), territory: "FRA"),
      try sale("4", at: Self.at(1), until: Self.at(9), revoked: Self.at(3, hour: 23), territory: "USA"),
      try sale("5", at: Self.at(-40), until: Self.at(60)),
      try sale("6", of: "com.example.coins", at: Self.at(5), quantity: 3, territory: "FRA"),
      try sale(
        "7", of: "com.example.coins", at: Self.at(-100), revoked: Self.at(5, hour: 1), quantity: 2,
        territory: "FRA"),
      try sale("8", at: Self.at(0), until: Self.at(20), in: .sandbox),
    ]
  }

  @Test("a lapse of one contracted month is counted, also where the subscription goes on afterwards")
  func contractedLapse() async throws {
    try await ServerHarness.run { server in
      let start = ServerHarness.start - .seconds(60)
      try await record(
        [
          try sale("1", at: start, until: start + .seconds(10)),
          try sale("2", original: "1", at: start + .seconds(20), until: start + .seconds(30)),
        ], server)
      let rows = try await report([("by", "product")], server).rows
      #expect(rows.map(\.lapsed).reduce(0, +) == 2)
    }
  }

  @Test("a period that has ended has lapsed once nothing can continue it any more, 300 seconds later")
  func lapsing() async throws {
    try await ServerHarness.run { server in
      let end = ServerHarness.start - .seconds(69)
      try await record([try sale("1", at: end - .seconds(30 * 86_400), until: end)], server)
      func lapsed() async throws -> Int {
        try await report([("by", "product")], server).rows.map(\.lapsed).reduce(0, +)
      }
      #expect(try await lapsed() == 0)
      server.clock.advance(by: .seconds(230))
      #expect(try await lapsed() == 0)
      server.clock.advance(by: .seconds(2))
      #expect(try await lapsed() == 1)
    }
  }

  @Test("each day has its units, refunds, and who began, lapsed and is active")
  func days() async throws {
    try await ServerHarness.run { server in
      try await record(try sales(), server)
      let report = try await report(
        [
          ("from", Self.name(0)), ("to", Self.name(7)), ("by", "day"), ("environment", "Production"),
        ], server)
      let expected: [[Int]] = [
        // units, refunds, new, lapsed, active
        [1, 0, 1, 0, 2], [1, 0, 1, 0, 3], [1, 0, 0, 0, 3], [0, 1, 0, 1, 2], [1, 0, 0, 0, 2],
        [3, 2, 0, 0, 2], [0, 0, 0, 1, 1], [0, 0, 0, 0, 1],
      ]
      #expect(report.rows.map(\.day) == (0...7).map { Self.name($0) })
      #expect(
        report.rows.map { [$0.units, $0.refunds, $0.newSubscribers, $0.lapsed, $0.active] } == expected)
    }
  }

  @Test("what is told apart is asked for, and filters narrow it")
  func dimensions() async throws {
    try await ServerHarness.run { server in
      try await record(try sales(), server)
      let range = [("from", Self.name(0)), ("to", Self.name(7))]
      let places = try await report(range + [("by", "territory"), ("environment", "Production")], server)
      #expect(places.rows.map(\.territory) == ["unknown", "FRA", "USA"])
      #expect(places.rows.map(\.units) == [0, 6, 1])
      #expect(places.rows.map(\.active) == [1, 0, 0])
      #expect(places.rows.allSatisfy { $0.day == nil && $0.product == nil && $0.store == nil })
      let coins = try await report(
        range + [("by", "product,store"), ("product", "com.example.coins")], server)
      #expect(coins.rows.map(\.product?.description) == ["com.example.coins"])
      #expect(coins.rows.map(\.store) == [.apple] && coins.rows.map(\.units) == [3])
      let sandbox = try await report(range + [("by", "environment")], server)
      #expect(sandbox.rows.map(\.environment) == [.production, .sandbox])
      #expect(sandbox.rows.map(\.newSubscribers) == [2, 1])
      let all = try await report(range, server)
      #expect(all.rows.map(\.units).reduce(0, +) == 8)
      #expect(all.rows.contains { $0.day == Self.name(5) && $0.territory == "FRA" && $0.refunds == 2 })

      let text = try await server.operatorAPI.exchange(
        "GET", "/v1/operator/reports", query: range + [("by", "territory"), ("format", "csv")])
      #expect(text.headers["Content-Type"] == "text/csv; charset=utf-8")
      let lines = String(decoding: text.body, as: UTF8.self).split(separator: "\n")
      #expect(
        lines.first == "day,product,territory,store,environment,units,refunds,newSubscribers,lapsed,active")
      #expect(lines.contains(",,FRA,,,6,2,1,1,0"))
      // Nothing in it names a person, a device or a transaction.
      let members = Set(
        Mirror(reflecting: try #require(all.rows.first)).children.compactMap(\.label))
      #expect(
        members == [
          "day", "product", "territory", "store", "environment", "units", "refunds", "newSubscribers",
          "lapsed", "active",
        ])
    }
  }

  @Test(
    "days that are none, too many or to come, and unknown words are refused",
    arguments: [
      [("from", "2026-02-30")], [("from", "yesterday")], [("from", "2020-01-01")], [("by", "customer")],
      [("by", "")], [("format", "xml")], [("from", "2100-01-01"), ("to", "2100-01-02")],
      [("from", "2026-02-02"), ("to", "2026-02-01")], [("territory", "fra")],
    ])
  func refused(query: [(String, String)]) async throws {
    try await ServerHarness.run { server in
      await #expect(throws: APICallError.self) { _ = try await report(query, server) }
    }
  }

  @Test("no report reads the whole ledger")
  func plans() async throws {
    let file = try StateFile()
    let database = try file.open()
    let scans = try await database.read { connection in
      _ = try SalesTable.counts(
        from: Self.at(0), to: Self.at(7), asOf: Self.at(8), by: Set(SalesReport.Dimension.allCases),
        matching: SalesTable.Filter(), in: connection)
      return try connection.recentPlans().filter { $0.sql.contains("transactions AS t") }
        .flatMap(\.steps).filter { $0.hasPrefix("SCAN") }
    }
    #expect(scans == [])
  }

  @Test("what a restore shows again, under a number of its own, is sold once and runs once")
  func restored() async throws {
    try await ServerHarness.run { server in
      try await record(
        [
          try sale("1", at: Self.at(0), until: Self.at(2)),
          try sale("2", original: "1", at: Self.at(2), until: Self.at(4)),
          try sale("r1", original: "1", at: Self.at(0), until: Self.at(2)),
          try sale("r2", original: "1", at: Self.at(2), until: Self.at(4)),
          try sale("5", of: "com.example.book", at: Self.at(0)),
          try sale("r5", of: "com.example.book", original: "5", at: Self.at(1)),
        ], server)
      let found = try await report(
        [("from", Self.name(0)), ("to", Self.name(6)), ("by", "product")], server)
      let units = Dictionary(found.rows.map { ($0.product?.description, $0.units) }) { $1 }
      #expect(units == [Self.monthly: 2, "com.example.book": 1])
      #expect(found.rows.reduce(0) { $0 + $1.lapsed } == 1)
    }
  }
}
