import Database
import PullboxTesting
import Testing

@Suite struct MigrationTests {
  private struct Refusal: Error, Equatable {}

  private let directory: TemporaryDirectory
  private let path: String
  private let first = Migration("first", script: "CREATE TABLE a (x); INSERT INTO a VALUES (1);")
  private let second = Migration("second") { connection in
    try connection.execute("ALTER TABLE a ADD COLUMN y")
    try connection.execute("UPDATE a SET y = x + ?", [1])
  }

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.path("test.sqlite")
  }

  private func version(_ database: Database) async throws -> Int64? {
    try await database.read { try $0.first("PRAGMA user_version")?.integer("user_version") }
  }

  @Test("each migration runs once, in order, also over several openings") func runsOnce() async throws {
    for migrations in [[first], [first], [first, second], [first, second]] {
      let database = try Database.open(path: path, migrations: migrations)
      #expect(try await version(database) == Int64(migrations.count))
      database.close()
    }
    let rows = try await Database.open(path: path, migrations: [first, second])
      .read { try $0.query("SELECT x, y FROM a") }
    #expect(rows.map(\.values) == [[1, 2]])
  }

  @Test("a migration that fails leaves the version and the schema before it") func failure() async throws {
    let broken = Migration("broken") { connection in
      try connection.execute("ALTER TABLE a ADD COLUMN z")
      throw Refusal()
    }
    #expect(throws: Refusal()) { _ = try Database.open(path: path, migrations: [first, broken]) }
    let database = try Database.open(path: path, migrations: [first])
    #expect(try await version(database) == 1)
    #expect(try await database.read { try $0.first("SELECT * FROM a")?.columns } == ["x"])
  }

  @Test("a script that fails in the middle leaves nothing of itself") func scriptFailure() async throws {
    let broken = Migration("broken", script: "CREATE TABLE b (x); CREATE TABLE a (x);")
    #expect(throws: DatabaseError.self) { _ = try Database.open(path: path, migrations: [first, broken]) }
    try await Database.open(path: path, migrations: [first]).write(locking: [.everything]) {
      try $0.execute("CREATE TABLE b (x)")
    }
  }

  @Test("a file from a later version of the program is refused, untouched") func newer() throws {
    try Database.open(path: path, migrations: [first, second]).close()
    let error = #expect(throws: DatabaseError.self) {
      _ = try Database.open(path: path, migrations: [first])
    }
    #expect(error?.code == .newerSchema)
  }
}
