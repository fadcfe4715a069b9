import Database
import PullboxTesting
import Testing

@testable import SandboxRecords

@Suite("State directories of earlier versions of the sandbox store")
struct StoreSchemaTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func open(_ migrations: some Collection<Migration>) throws -> Database {
    try Database.open(path: directory.path("store.sqlite"), migrations: Array(migrations))
  }

  /// The revision of the one transaction that there is, after a change of it.
  private func revision(_ database: Database, after change: String) throws -> Int64? {
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute("UPDATE transactions SET \(change)")
      return try connection.first("SELECT revision FROM transactions")?.optionalInteger("revision")
    }
  }

  @Test(
    "what was sold before a license that is taken back was a change has its revision, and a new one from then on"
  )
  func licenses() throws {
    let place = try #require(
      StoreSchema.migrations.firstIndex { $0.name == "licenses that are taken back in the order of changes" })
    let before = try open(StoreSchema.migrations.prefix(place))
    try before.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        """
        INSERT INTO accounts (id, name, title, territory, token_digest, created)
        VALUES (1, 'reader', 'A reader', 'FRA', x'00', 0)
        """)
      try connection.execute(
        """
        INSERT INTO transactions (account, product, quantity, requested, state, revision, license)
        VALUES (1, 'com.example.issue', 1, 0, 'purchased', 7, 1)
        """)
    }
    #expect(try revision(before, after: "license_ends = 1000") == 7)
    before.close()

    let database = try open(StoreSchema.migrations)
    defer { database.close() }
    #expect(try revision(database, after: "license_ends = 1000") == 7, "nothing has changed")
    #expect(try revision(database, after: "license_ends = 2000") == 8)
    #expect(try revision(database, after: "finished = 3000") == 8)
    #expect(try revision(database, after: "revoked = 4000") == 9)
  }
}
