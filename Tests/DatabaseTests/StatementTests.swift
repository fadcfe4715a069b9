import CoreTypes
import Database
import PullboxTesting
import Testing

@Suite struct StatementTests {
  private struct Refusal: Error, Equatable {}

  private let directory: TemporaryDirectory
  private let database: Database

  init() throws {
    directory = try TemporaryDirectory()
    database = try Database.open(path: directory.path("test.sqlite"), migrations: [])
  }

  @Test(
    "a value comes back as it was bound",
    arguments: [
      .null, 0, -1, .integer(Int64.max), .integer(Int64.min), 1.5, "", "héros ✓", "a\0b", .blob([]),
      .blob([0, 255, 0]), .text(String(repeating: "x", count: 100_000)),
    ] as [SQLValue])
  func roundTrip(value: SQLValue) async throws {
    let row = try await database.read {
      try $0.first("SELECT ? AS value, typeof(?) AS type", [value, value])
    }
    #expect(row?["value"] == value)
    let type =
      switch value {
      case .null: "null"
      case .integer: "integer"
      case .real: "real"
      case .text: "text"
      case .blob: "blob"
      }
    #expect(try row?.text("type") == type)
  }

  @Test("columns are read by name and type; anything else is an error") func columns() async throws {
    let row = try #require(
      try await database.read {
        try $0.first(
          "SELECT 7 AS n, 'x' AS t, NULL AS none, 1 AS yes, 2.5 AS r, x'0102' AS b, 1500 AS at")
      })
    #expect(try row.integer("n") == 7)
    #expect(try row.text("t") == "x")
    #expect(try row.optionalText("none") == nil)
    #expect(try row.optionalInteger("none") == nil)
    #expect(try row.optionalTimestamp("none") == nil)
    #expect(try row.boolean("yes"))
    #expect(try row.real("r") == 2.5)
    #expect(try row.real("n") == 7)
    #expect(try row.blob("b") == [1, 2])
    #expect(try row.timestamp("at") == Timestamp(millisecondsSinceEpoch: 1500))
    #expect(try row.byteCount("n") == ByteCount(7))
    let readings: [() throws -> Void] = [
      { _ = try row.text("n") }, { _ = try row.integer("t") }, { _ = try row.text("none") },
      { _ = try row.text("missing") }, { _ = try row.boolean("n") }, { _ = try row.blob("t") },
    ]
    for reading in readings {
      let error = #expect(throws: DatabaseError.self) { try reading() }
      #expect(error?.code == .unexpectedValue)
    }
  }

  @Test("a body may ask the question it is answering") func nested() async throws {
    let pairs = try await database.read { connection in
      var pairs: [[Int64]] = []
      let sql = "WITH n (v) AS (VALUES (1), (2)) SELECT v FROM n"
      try connection.forEach(sql) { outer in
        try connection.forEach(sql) { inner in
          pairs.append([try outer.integer("v"), try inner.integer("v")])
        }
      }
      return pairs
    }
    #expect(pairs == [[1, 1], [1, 2], [2, 1], [2, 2]])
  }

  @Test("a statement left half-way is reset: the write lock is free and it runs again from the start")
  func reset()
    async throws
  {
    let sql = "WITH n (v) AS (VALUES (1), (2)) SELECT v FROM n"
    await #expect(throws: Refusal()) {
      try await database.read { connection in
        try connection.forEach(sql) { _ in throw Refusal() }
      }
    }
    let rows = try await database.read { try $0.query(sql) }
    #expect(try rows.map { try $0.integer("v") } == [1, 2])
    try await database.write(locking: [.everything]) { try $0.execute("CREATE TABLE t (x)") }
  }

  @Test("more statements than the cache holds all work") func cache() async throws {
    let sum = try await database.read { connection in
      var sum: Int64 = 0
      for _ in 0..<2 {
        for number in 0..<300 {
          sum += try connection.first("SELECT \(number) AS n")?.integer("n") ?? 0
        }
      }
      return sum
    }
    #expect(sum == 2 * 299 * 300 / 2)
  }

  @Test("the number of changes is that statement's alone, and the row identifier the last one's")
  func changes()
    async throws
  {
    try await database.write(locking: [.everything]) { connection in
      try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, x)")
      #expect(try connection.execute("INSERT INTO t (x) VALUES (1), (2), (3)") == 3)
      #expect(connection.lastInsertedRowID == 3)
      #expect(try connection.execute("UPDATE t SET x = 9 WHERE id = ?", [2]) == 1)
      #expect(try connection.execute("UPDATE t SET x = 9 WHERE id = ?", [99]) == 0)
    }
  }

  @Test("a statement answers the rows that it changed itself, without those of triggers and cascades")
  func countedRows() async throws {
    try await database.write(locking: [.everything]) { connection in
      try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
      try connection.execute("CREATE TABLE child (t INTEGER REFERENCES t (id) ON DELETE CASCADE)")
      try connection.execute("CREATE TABLE counts (n INTEGER)")
      try connection.execute(
        "CREATE TRIGGER counting AFTER INSERT ON t BEGIN UPDATE counts SET n = n + 1; END")
      #expect(try connection.execute("INSERT INTO counts (n) VALUES (0)") == 1)
      #expect(try connection.execute("INSERT INTO t (id) VALUES (1), (2), (3)") == 3)
      #expect(try connection.execute("INSERT INTO child (t) SELECT id FROM t") == 3)
      #expect(try connection.execute("DELETE FROM t WHERE id < 3") == 2)
      #expect(try connection.execute("DELETE FROM t WHERE id < 3") == 0)
      #expect(try connection.first("SELECT n FROM counts")?.integer("n") == 3)
      #expect(try connection.query("SELECT t FROM child").count == 1)
    }
  }
}
