import Commerce
import CoreTypes
import Database
import DeliveryModel
import DeliveryRecords
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI
import SystemCalls

/// The reports of sales, for operators. See docs/catalogue.md ("Reports").
struct SalesReportRoutes: Sendable {
  let database: Database
  /// Tells which day is today, and up to which moment events count.
  let clock: any WallClock

  /// The query parameters of the report of sales; any other is refused.
  private static let query: Set<String> = [
    "from", "to", "by", "product", "territory", "store", "environment", "format", "only",
  ]

  /// The query parameters of the sums of money, which have neither dimensions nor a format.
  private static let moneyQuery = query.subtracting(["by", "format", "only"])

  /// Adds the report of sales, as JSON or as comma-separated values, and the sums of money. Both need the scope
  /// `read`.
  func add(to routes: inout ScopedRoutes) {
    routes.on(.get, "/v1/operator/reports", requires: .read, query: Self.query) { request, _, _ in
      let isCSV = try request.filter("format") { ["csv": true, "json": false][$0] } ?? false
      let report = try await report(for: request)
      guard isCSV else { return try .json(report) }
      return HTTPResponse(
        status: .ok, headers: ["Content-Type": "text/csv; charset=utf-8"],
        body: .bytes(Array(report.commaSeparated.utf8)))
    }
    routes.on(.get, "/v1/operator/reports/money", requires: .read, query: Self.moneyQuery) { request, _, _ in
      try .json(try await money(for: request))
    }
  }

  /// Throws `request-malformed` for days that are none, or too many. Without parameters they are today and the
  /// thirty days before, in UTC.
  private func days(of request: HTTPRequest) throws -> Range<Int> {
    let today = SalesTally.day(of: clock.now())
    let first = try request.filter("from", Self.day) ?? today - 30
    // What is to come is not counted: a period that ends tomorrow has not lapsed.
    let end = min(try request.filter("to", Self.day).map { $0 + 1 } ?? today + 1, today + 1)
    guard first < end, end - first <= SalesReport.maximumDays else {
      throw Problem(
        .requestMalformed, "a report has 1 to \(SalesReport.maximumDays) days, none of them to come")
    }
    return first..<end
  }

  /// Throws `request-malformed` as ``days(of:)`` does. Purchases of the sandbox count only where the request
  /// asks for them.
  private func money(for request: HTTPRequest) async throws -> MoneyReport {
    let days = try days(of: request)
    let filter = try Self.filter(of: request, tellsEnvironmentsApart: false)
    let (from, to) = (SalesTally.start(of: days.lowerBound), SalesTally.start(of: days.upperBound))
    let (sold, refunded) = try await database.read { connection in
      (
        try SalesTable.payments(refunded: false, from: from, to: to, matching: filter, in: connection),
        try SalesTable.payments(refunded: true, from: from, to: to, matching: filter, in: connection)
      )
    }
    var tally = MoneyTally()
    for payments in sold { tally.add(payments, isRefund: false) }
    for payments in refunded { tally.add(payments, isRefund: true) }
    return MoneyReport(from: from, to: to, rows: tally.rows, withoutPrice: tally.withoutPrice)
  }

  /// Returns the filter of the request. A report that does not tell environments apart is of production, unless
  /// it names one.
  private static func filter(
    of request: HTTPRequest, tellsEnvironmentsApart: Bool
  ) throws -> SalesTable.Filter {
    SalesTable.Filter(
      product: try request.filter("product") { ProductIdentifier($0) },
      territory: try request.filter("territory") { Territory($0) },
      store: try request.filter("store") { StoreIdentifier($0) },
      // What cost nothing is never added to what did.
      environment: try request.filter("environment") { StoreEnvironment(rawValue: $0) }
        ?? (tellsEnvironmentsApart ? nil : .production))
  }

  /// Throws `request-malformed` for days that are none, too many, or more rows than a report has. Events up to
  /// now count. The rows are put together on a thread for computations.
  private func report(for request: HTTPRequest) async throws -> SalesReport {
    let days = try days(of: request)
    let (first, end) = (days.lowerBound, days.upperBound)
    let dimensions = try request.filter("by", Self.dimensions) ?? Set(SalesReport.Dimension.allCases)
    let unitsAlone = try request.filter("only") { $0 == "units" ? true : nil } ?? false
    let filter = try Self.filter(of: request, tellsEnvironmentsApart: dimensions.contains(.environment))
    let (from, to) = (SalesTally.start(of: first), SalesTally.start(of: end))
    let now = clock.now()
    let until = min(to, now)
    let counts = try await database.read { connection in
      try SalesTable.counts(
        from: from, to: until, asOf: now, by: dimensions, matching: filter, unitsAlone: unitsAlone,
        in: connection)
    }
    let rows = await BlockingPool.computing.run {
      var tally = SalesTally(days: first..<end, dimensions: dimensions)
      for count in counts { tally.add(count) }
      return tally.rows(atMost: SalesReport.maximumRows)
    }
    guard let rows else {
      throw Problem(
        .requestMalformed, "more than \(SalesReport.maximumRows) rows; ask for fewer days or dimensions")
    }
    return SalesReport(from: from, to: to, rows: rows)
  }

  /// `2026-11-23`, in UTC.
  private static func day(_ text: String) -> Int? {
    guard text.utf8.count == 10, let date = Timestamp(rfc3339: text + "T00:00:00Z") else { return nil }
    return date.millisecondsSinceEpoch >= 0 ? SalesTally.day(of: date) : nil
  }

  /// Dimensions with commas between them; nil for a text that has another word.
  private static func dimensions(_ text: String) -> Set<SalesReport.Dimension>? {
    var dimensions: Set<SalesReport.Dimension> = []
    for word in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let dimension = SalesReport.Dimension(rawValue: String(word)) else { return nil }
      dimensions.insert(dimension)
    }
    return dimensions
  }
}

extension SalesReport {
  /// With a header; no cell holds a comma, a quotation mark or what a spreadsheet would run, but for identifiers that begin with a
  /// minus, which an apostrophe keeps.
  var commaSeparated: String {
    var text = "day,product,territory,store,environment,units,refunds,newSubscribers,lapsed,active\n"
    for row in rows {
      let cells = [
        row.day, row.product?.description, row.territory, row.store?.description, row.environment?.rawValue,
      ].map { $0.map { $0.hasPrefix("-") ? "'\($0)" : $0 } ?? "" }
      let numbers = [row.units, row.refunds, row.newSubscribers, row.lapsed, row.active].map { "\($0)" }
      text += (cells + numbers).joined(separator: ",") + "\n"
    }
    return text
  }
}
