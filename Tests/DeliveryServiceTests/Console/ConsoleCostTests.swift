import ContentPublishing
import CoreTypes
import Database
import DeliveryTesting
import PullboxTesting
import ServiceRuntime
import Testing

@testable import ContentPublishing
@testable import DeliveryService

/// Today, Deliveries and Customers show a page of what there is: what they ask of the database is found by an index, however many grants,
/// deliveries and customers there are.
@Suite("The plans of what the console's pages ask", .serialized, .enabled(if: !TestDatabase.isOnServer))
struct ConsoleCostTests {
  private static let pages = [
    "", "deliveries", "deliveries?progress=stuck", "deliveries?progress=waiting", "deliveries?state=finished",
    "deliveries?state=revoked", "deliveries?product=com.example.issue1", "deliveries?transaction=t-51",
    "deliveries?device=d-51", "deliveries?after=60", "customers?transaction=t-51", "customers?device=d-51",
    "customers?transaction=t-51&product=com.example.issue1", "customers/revoke?transaction=t-51",
    "customers/revoke?device=d-51", "approvals", "approvals?state=waiting",
  ]

  /// Tables that have few rows, however much is sold; a row of a plan may call them by a name of the statement's own.
  private static let small: Set<String> = [
    "products", "publications", "price_tiers", "catalogue_state", "nodes", "runs", "versions",
    "package_checks", "counters", "outbox_counts", "console_sessions", "product_reviews",
  ]

  /// The plan's rows by which the statement goes over a table, or an index, from its beginning to its end.
  private func scans(_ sql: String, in connection: borrowing Connection) throws -> [String] {
    let values = [SQLValue](repeating: .null, count: sql.filter { $0 == "?" }.count)
    let tables = try connection.query("SELECT name FROM sqlite_schema WHERE type = 'table'").map {
      try $0.text("name")
    }
    return try connection.query("EXPLAIN QUERY PLAN " + sql, values).map { try $0.text("detail") }
      .filter { row in
        guard row.hasPrefix("SCAN ") else { return false }
        let name = String(row.dropFirst(5).prefix { $0 != " " })
        // The rows of a subquery are those that another row of the plan finds.
        let table = tables.first { $0 == name || sql.contains("\($0) AS \(name)") }
        return table.map { !Self.small.contains($0) } ?? false
      }
  }

  @Test("no page goes over a table that grows with what is sold")
  func plans() async throws {
    let directory = try TemporaryDirectory()
    let timer = ManualMonotonicClock()
    try await ServerHarness.run(in: directory, timer: timer) { server in try await server.publish([1, 2, 3]) }
    try StatementCostTests().fill(directory.path("state/server.db"), grants: 500)
    try await ServerHarness.run(options: ["--console", "everywhere"], in: directory, timer: timer) { server in
      let database = server.server.collector.database
      let browser = ConsoleBrowser(server)
      try await browser.signIn()
      _ = try await database.read { $0.takeSteps() }
      var count = 0
      for path in Self.pages {
        let page = try await browser.get("/console/\(path)")
        #expect(page.status == 200, "\(path)")
        let statements = try await database.read { $0.takeSteps() }.map(\.sql).filter {
          $0.hasPrefix("SELECT") || $0.hasPrefix("WITH")
        }
        count += statements.count
        for sql in statements {
          let scans = try await database.read { try self.scans(sql, in: $0) }
          #expect(scans == [], "\(path): \(sql)")
          // It finds all periods that run by an index, and counts them.
          #expect(!sql.hasPrefix("SELECT 0 AS day"), "\(path): \(sql)")
        }
      }
      #expect(count > 40)
    }
  }
}
