import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryTesting
import PullboxAPI
import PullboxTesting
import Testing

@testable import ContentCatalog
@testable import DeliveryRecords

@Suite("What a change of the catalog costs")
struct CatalogCostTests {
  /// That many products as one import makes them, at one revision, each with a released version of one package.
  private func fill(_ database: Database, products count: Int) throws {
    try database.writeBlocking(locking: [.everything]) { connection in
      let numbers = "WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)"
      try connection.execute(
        """
        \(numbers)
        INSERT INTO products (id, document, type, publication, sale, on_sale, created, changed, revision)
        SELECT 'p' || n, '{"id":"p' || n || '","type":"non-consumable","localizations":{},"prices":{}}',
          'non-consumable', 's' || n / 100, 'cleared', 1, 0, 0, 1
        FROM numbers
        """, [.integer(count - 1)])
      try connection.execute(
        """
        \(numbers)
        INSERT INTO versions (product, version, ordering, state, digest, length, manifest_digest, pieces, files, created,
          released, percentage)
        SELECT 'p' || n, '1.0', '00000001', 'released', CAST(printf('%032d', 7) AS BLOB), 1, CAST(printf('%032d', 8) AS BLOB), 1, 1, 0, 0, 100
        FROM numbers
        """, [.integer(count - 1)])
      try connection.execute("UPDATE catalogue_state SET revision = 1")
    }
  }

  private func costs(products count: Int) async throws -> [String: Int] {
    let file = try StateFile()
    let database = try file.open()
    try fill(database, products: count)
    try await database.optimize()
    let package = try #require(SHA256Digest(Array("00000000000000000000000000000007".utf8)))
    let changed = try #require(ProductIdentifier("p7"))
    let revision = try await database.write(locking: [.everything]) { connection in
      let before = try CatalogRevision.current(in: connection)
      let now = Timestamp(millisecondsSinceEpoch: 1000)
      try CatalogRevision.increment(at: now, by: changed, in: connection)
      return before
    }
    _ = try await database.read { $0.takeSteps() }
    try await database.read { connection in
      let changes = try #require(try CatalogSnapshot.Changes.since(revision, in: connection))
      #expect(changes.products.count == 1 && changes.releases.count == 1)
      #expect(try !VersionTable.isStopped(package, in: connection))
    }
    let taken = try await database.read { $0.takeSteps() }
    return Dictionary(taken.map { ($0.sql, $0.steps) }, uniquingKeysWith: max)
  }

  @Test(
    "what has changed of one product is found with the same steps among 50,000 that were imported at once",
    .enabled(if: !TestDatabase.isOnServer))
  func growth() async throws {
    let few = try await costs(products: 500)
    let many = try await costs(products: 50_000)
    #expect(!many.isEmpty)
    let growing = many.compactMap { sql, steps in
      steps <= (few[sql] ?? 0) + 20 ? nil : "\(few[sql] ?? 0) -> \(steps): \(sql)"
    }
    #expect(growing.sorted() == [])
  }
}
