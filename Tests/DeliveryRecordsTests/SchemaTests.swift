import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryTesting
import PullboxAPI
import ServiceAPI
import Testing

@testable import DeliveryRecords
@testable import DeliverySchema

@Suite("The database's own rules", .enabled(if: !TestDatabase.isOnServer))
struct SchemaTests {
  private let file: StateFile
  private let now = Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)

  init() throws {
    file = try StateFile()
  }

  /// The message that the database refuses `sql` with.
  private func refusal(_ database: Database, _ sql: String) async throws -> String? {
    do {
      try await database.write(locking: [.everything]) { try $0.execute(sql) }
      return nil
    } catch let error as DatabaseError {
      return error.message
    }
  }

  @Test(
    "nothing is changed in the audit log, and nothing removed",
    arguments: [
      "UPDATE audit SET actor = 'nobody'", "DELETE FROM audit", "DELETE FROM audit WHERE id = 1",
      "INSERT OR REPLACE INTO audit (id, at, actor, action, subject) VALUES (1, 0, 'nobody', 'a', 'b')",
    ])
  func auditOnlyGrows(sql: String) async throws {
    let database = try file.open()
    let entry = AuditEntry(at: now, actor: "ada", action: "product.create", subject: "com.example.a")
    try await database.write(locking: [.everything]) { try AuditTable.add(entry, in: $0) }
    #expect(try await refusal(database, sql) == "the audit log only grows")
    let rows = try await database.read { try $0.query("SELECT actor FROM audit") }
    #expect(try rows.map { try $0.text("actor") } == ["ada"])
  }

  @Test(
    "a version's content is never changed",
    arguments: [
      "UPDATE versions SET digest = x'00'", "UPDATE versions SET length = 2",
      "UPDATE versions SET version = '2.0'",
      "UPDATE versions SET manifest_digest = x'00'",
    ])
  func versionsNeverChange(sql: String) async throws {
    let database = try oldDatabase()
    #expect(try await refusal(database, sql) == "the content of a version never changes")
  }

  @Test("two spellings of one version are one version")
  func oneSpelling() async throws {
    let database = try oldDatabase()
    let product = try #require(ProductIdentifier("com.example.a"))
    let version = try #require(ContentVersion("1.10.0"))
    let record = try #require(
      try await database.read { try VersionTable.find(product, version, in: $0) })
    #expect(record.version.description == "1.10")
    await #expect(throws: DatabaseError.self) {
      var other = record
      other.version = version
      let inserted = other
      try await database.write(locking: [.everything]) {
        try VersionTable.insert(inserted, manifest: [], cover: nil, title: nil, in: $0)
      }
    }
  }

  /// Versions as the first schema wrote them, brought up to date.
  private func oldDatabase() throws -> Database {
    let old = try file.open(Array(Migrations.all.prefix(1)))
    let now = now
    try old.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        "INSERT INTO products (id, document, type, created, changed) VALUES (?, ?, ?, 0, 5000)",
        [
          "com.example.a", #"{"id":"com.example.a","localizations":{},"prices":{},"type":"non-consumable"}"#,
          "non-consumable",
        ])
      for (version, state) in [("1.9", "superseded"), ("1.10", "released"), ("0", "draft")] {
        try connection.execute(
          """
          INSERT INTO versions (product, version, state, digest, length, manifest, manifest_digest, pieces, files, created)
          VALUES ('com.example.a', ?, ?, ?, 1, ?, ?, 1, 1, 0)
          """,
          [
            .text(version), .text(state), .blob(SHA256Digest.of(Array(version.utf8)).array),
            .blob(Array("manifest of \(version)".utf8)),
            .blob(SHA256Digest.of(Array("manifest of \(version)".utf8)).array),
          ])
        try connection.execute(
          "INSERT INTO audit (at, actor, action, subject) VALUES (?, 'ada', 'version.submit', ?)",
          [.timestamp(now), .text("com.example.a \(version)")])
      }
    }
    old.close()
    return try file.open()
  }

  @Test(
    "a database that stands at any step of the schema comes to the tables of a new one",
    arguments: 0..<Migrations.all.count)
  func everyStep(count: Int) async throws {
    let tables = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
    let other = try StateFile()
    let fresh = try await other.open().read { try $0.query(tables).map(\.values) }
    #expect(fresh.count > 30)
    try file.open(Array(Migrations.all.prefix(count))).close()
    let database = try file.open()
    #expect(try await database.read { try $0.query(tables).map(\.values) } == fresh)
    #expect(try await database.read { try $0.query("PRAGMA foreign_key_check").isEmpty })
  }

  @Test("a new database has the catalog's first revision and counters of nothing")
  func newDatabase() async throws {
    // PostgreSQL's schema brings the first of them, and a counter there has no row before it counts.
    let database = try file.open()
    let rows = try await database.read { connection in
      var rows: [String: Int64] = [:]
      let tables = try connection.query(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      for table in try tables.map({ try $0.text("name") }) {
        rows[table] = try connection.first("SELECT count(*) AS count FROM \(table)")?.integer("count")
      }
      return rows.filter { $0.value > 0 }
    }
    #expect(rows == ["catalogue_state": 1, "counters": 19])
    let values = try await database.read { connection in
      try connection.query("SELECT id, revision, changed, price_tiers FROM catalogue_state").map(\.values)
        + [try connection.first("SELECT sum(value) AS counted FROM counters")?.values ?? []]
    }
    #expect(values == [[1, 1, 0, 0], [0]])
  }

  @Test("what the ledger of an earlier schema has a payment for was bought")
  func boughtProducts() async throws {
    let step = try #require(Migrations.all.firstIndex { $0.name == Migrations.boughtProducts.name })
    let old = try file.open(Array(Migrations.all.prefix(step)))
    try old.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        """
        INSERT INTO transactions (store, environment, transaction_id, as_of, product)
        VALUES ('sandbox', 'Sandbox', '1', 0, 'com.example.a'), ('sandbox', 'Sandbox', '2', 0, 'com.example.a'),
          ('sandbox', 'Sandbox', '3', 0, NULL)
        """)
    }
    old.close()
    let database = try file.open()
    let names = try ["com.example.a", "com.example.b"].map { try #require(ProductIdentifier($0)) }
    let bought = try await database.read { connection in
      var bought: [Bool] = []
      for name in names { bought.append(try ProductTable.isBought(name, in: connection)) }
      return bought
    }
    #expect(bought == [true, false])
  }

  @Test("a grant of an earlier schema gets its name's bytes as its handle, of however many there are")
  func handles() async throws {
    let old = try file.open(Array(Migrations.all.prefix(1)))
    try old.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        """
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2500)
        INSERT INTO grants (id, store, transaction_id, product, version, device, digest, length, manifest_digest,
          state, created)
        SELECT printf('%032x', n * 7919), 'sandbox', 't', 'p', '1.0', 'd' || n, zeroblob(32), 1, zeroblob(32),
          'granted', n FROM numbers
        """)
    }
    old.close()
    let database = try file.open()
    let grants = try await database.read { try $0.query("SELECT * FROM grants").map(GrantTable.record) }
    #expect(grants.count == 2500)
    #expect(grants.allSatisfy { $0.handle.bytes == $0.id.bytes && $0.renewalDigest == nil })
  }

  @Test("what was revoked before words had dates stays so, as of when it was noted, and whose word it was")
  func standings() async throws {
    let old = try file.open(Array(Migrations.all.prefix(13)))
    let store = StoreIdentifier.sandbox
    try old.writeBlocking(locking: [.everything]) { connection in
      for (name, state, source) in [
        ("good", "granted", nil), ("refunded", "revoked/finished", "store"),
        ("forgotten", "revoked/finished", "store"), ("stopped", "revoked/granted", "operator"),
      ] as [(String, String, String?)] {
        let row = try connection.first(
          """
          INSERT INTO grants (id, handle, store, transaction_id, product, version, device, digest, length,
            manifest_digest, state, created, revoked_by)
          VALUES (?, randomblob(16), 'sandbox', ?, 'p', '1.0', 'd', zeroblob(32), 1, zeroblob(32), ?, 1000, ?)
          RETURNING number
          """,
          [
            .identifier(try #require(GrantIdentifier(RandomBytes.make(16)))), .text(name), .text(state),
            .optional(source),
          ])
        guard let source, name != "forgotten" else { continue }
        try connection.execute(
          "INSERT INTO grant_events (grant_number, state, at, detail) VALUES (?, 'revoked', 5000, ?)",
          [.integer(try #require(row).integer("number")), .text(source)])
      }
    }
    old.close()
    let database = try file.open()
    let noted = Timestamp(millisecondsSinceEpoch: 5000)
    for name in ["good", "refunded", "forgotten", "stopped"] {
      let transaction = try #require(TransactionIdentifier(name))
      let key = TransactionKey(store: store, environment: .sandbox, id: transaction)
      let (word, grant) = try await database.read { connection in
        (
          try TransactionTable.word(on: key, in: connection),
          try GrantTable.all(paidBy: key, in: connection).first
        )
      }
      let standing = TransactionStanding(storeWord: word, operatorWord: grant?.operatorWord)
      switch name {
      case "good":
        #expect(standing.revocation == nil)
        #expect(word?.asOf == Timestamp(millisecondsSinceEpoch: 0))
      case "refunded":
        #expect(standing.revocation == .store)
        #expect(word == TransactionStanding.StoreWord(asOf: noted, revoked: noted))
      case "forgotten":
        #expect(standing.revocation == .store)
        #expect(try #require(word).asOf > noted)
      default:
        #expect(standing.revocation == .operator)
        #expect(grant?.operatorWord?.asOf == noted)
      }
    }
  }

  @Test("a database of the first schema keeps its versions, manifests, releases and who did what")
  func migration() async throws {
    let database = try oldDatabase()
    let product = try #require(ProductIdentifier("com.example.a"))
    let records = try await database.read {
      try VersionTable.page(of: product, after: nil, limit: 10, in: $0)
    }
    #expect(records.map(\.version.description) == ["1.10", "1.9", "0"])
    #expect(records.map(\.percentage) == [100, nil, nil])
    #expect(records.map(\.submittedBy) == ["ada", "ada", "ada"])
    for record in records {
      let document = try await database.read { try VersionTable.manifest(of: record.digest, in: $0) }
      #expect(document == Array("manifest of \(record.version)".utf8))
    }
    let entries = try await database.read { connection in
      try AuditTable.page(
        matching: AuditTable.Filter(product: product), limit: 10, in: connection)
    }
    #expect(entries.count == 3)
    #expect(
      try await database.read { try CatalogRevision.current(in: $0).changed.millisecondsSinceEpoch } == 5000)
  }
}
