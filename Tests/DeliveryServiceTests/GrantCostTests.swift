import Database
import DeliverySchema
import DeliveryTesting
import PullboxTesting
import Testing

@testable import DeliveryRecords

@Suite(
  "What a statement costs where one product has most of the grants", .enabled(if: !TestDatabase.isOnServer))
struct GrantCostTests {
  @Test("a server that ends leaves statistics for the next one")
  func statisticsAtTheEnd() async throws {
    let directory = try TemporaryDirectory()
    try await ServerHarness.run(in: directory) { harness in
      try await harness.publish([1, 2, 3])
    }
    let database = try Database.open(path: directory.path("state/server.db"), migrations: Migrations.all)
    defer { database.close() }
    let rows = try await database.read { try $0.query("SELECT tbl FROM sqlite_stat1 WHERE tbl = 'versions'") }
    #expect(!rows.isEmpty)
  }
}
