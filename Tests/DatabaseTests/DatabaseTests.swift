import Database
import Files
import PullboxTesting
import SystemCalls
import Testing

@Suite struct DatabaseTests {
  private struct Refusal: Error, Equatable {}

  private let directory: TemporaryDirectory
  private let path: String
  private let migrations = [
    Migration(
      "products",
      script: """
        CREATE TABLE products (id TEXT PRIMARY KEY, price INTEGER NOT NULL) STRICT;
        CREATE TABLE versions (
          product TEXT NOT NULL REFERENCES products (id), version TEXT NOT NULL, UNIQUE (product, version)) STRICT;
        """)
  ]

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.path("test.sqlite")
  }

  private func open() throws -> Database { try Database.open(path: path, migrations: migrations) }

  @Test("statistics are gathered of every table that has rows, and used by what reads") func statistics()
    async throws
  {
    let database = try open()
    try await database.write(locking: [.everything]) { connection in
      for number in 0..<10 {
        try connection.execute("INSERT INTO products VALUES (?, 1)", [.text("product \(number)")])
        try connection.execute("INSERT INTO versions VALUES (?, '1')", [.text("product \(number)")])
      }
    }
    try await database.optimize()
    let tables = try await database.read {
      try $0.query("SELECT DISTINCT tbl FROM sqlite_stat1 ORDER BY tbl")
    }
    #expect(try tables.map { try $0.text("tbl") } == ["products", "versions"])
    database.close()
    await #expect(throws: DatabaseError.self) { try await database.optimize() }
  }

  @Test("a statement that looks at more rows takes more steps, whatever it answers") func steps() async throws
  {
    let database = try open()
    try await database.write(locking: [.everything]) { connection in
      for number in 0..<100 {
        try connection.execute("INSERT INTO products VALUES (?, 1)", [.text("product \(number)")])
      }
    }
    let steps = try await database.read { connection in
      _ = connection.takeSteps()
      _ = try connection.query("SELECT id FROM products WHERE id = 'none'")
      _ = try connection.query("SELECT id FROM products WHERE price = 2")
      return connection.takeSteps().map(\.steps)
    }
    #expect(steps.count == 2)
    #expect(steps[0] < 30 && steps[1] > 200)
    #expect(try await database.read { $0.takeSteps().filter { $0.sql.hasPrefix("SELECT") }.isEmpty })
  }

  private func count(_ database: Database) async throws -> Int64? {
    try await database.read { connection in
      try connection.first("SELECT count(*) AS count FROM products")?.integer("count")
    }
  }

  @Test("what is written can be read, also after reopening") func persists() async throws {
    do {
      let database = try open()
      let changes = try await database.write(locking: [.everything]) { connection in
        try connection.execute("INSERT INTO products VALUES (?, ?), (?, ?)", ["a", 1, "b", 2])
      }
      #expect(changes == 2)
      database.close()
    }
    let rows = try await open().read { try $0.query("SELECT id, price FROM products ORDER BY id") }
    #expect(try rows.map { try $0.text("id") } == ["a", "b"])
    #expect(try rows.map { try $0.integer("price") } == [1, 2])
  }

  @Test("a write whose body throws leaves nothing, and the next one works") func rollsBack() async throws {
    let database = try open()
    await #expect(throws: Refusal()) {
      try await database.write(locking: [.everything]) { connection in
        try connection.execute("INSERT INTO products VALUES ('a', 1)")
        throw Refusal()
      }
    }
    #expect(try await count(database) == 0)
    try await database.write(locking: [.everything]) {
      try $0.execute("INSERT INTO products VALUES ('a', 1)")
    }
    #expect(try await count(database) == 1)
  }

  @Test("a statement that fails takes the whole write with it") func constraintRollsBack() async throws {
    let database = try open()
    let error = await #expect(throws: DatabaseError.self) {
      try await database.write(locking: [.everything]) { connection in
        try connection.execute("INSERT INTO products VALUES (?, ?)", ["a", 1])
        try connection.execute("INSERT INTO products VALUES (?, ?)", ["a", 2])
      }
    }
    #expect(error?.code == .constraint)
    #expect(error?.isUniqueViolation == true)
    #expect(error?.isRetryable == false)
    #expect(try await count(database) == 0)
  }

  @Test("a foreign key is enforced") func foreignKey() async throws {
    let database = try open()
    let error = await #expect(throws: DatabaseError.self) {
      try await database.write(locking: [.everything]) {
        try $0.execute("INSERT INTO versions VALUES ('none', '1.0')")
      }
    }
    #expect(error?.isForeignKeyViolation == true)
  }

  @Test("a read refuses to write") func readOnly() async throws {
    let database = try open()
    let error = await #expect(throws: DatabaseError.self) {
      try await database.read { _ = try $0.execute("INSERT INTO products VALUES ('a', 1)") }
    }
    #expect(error?.code == .readOnly)
    #expect(try await count(database) == 0)
  }

  @Test("an error quotes the statement with its places, never a value") func noValues() async throws {
    let database = try open()
    let insert = "INSERT INTO products VALUES (?, ?)"
    let error = await #expect(throws: DatabaseError.self) {
      try await database.write(locking: [.everything]) { connection in
        for _ in 0..<2 { try connection.execute(insert, ["secret-token", 1]) }
      }
    }
    #expect(error?.description.contains("secret-token") == false)
    #expect(
      error?.description
        == "constraint (1555): UNIQUE constraint failed: products.id in: INSERT INTO products VALUES (?, ?)")
  }

  @Test(
    "wrong SQL is misuse",
    arguments: [
      "SELECT", "SELECT * FROM nothing", "", "SELECT 1; SELECT 2", #"SELECT "no column""#, "SELECT ?",
    ])
  func misuse(sql: String) async throws {
    let database = try open()
    let error = await #expect(throws: DatabaseError.self) {
      try await database.read { _ = try $0.query(sql) }
    }
    #expect(error?.code == .misuse)
  }

  @Test("a closed database says so") func closed() async throws {
    let database = try open()
    database.close()
    database.close()
    let error = await #expect(throws: DatabaseError.self) { try await database.read { _ in } }
    #expect(error?.code == .closed)
  }

  @Test("the file is its owner's alone, and so are its companions") func permissions() async throws {
    let database = try open()
    try await database.write(locking: [.everything]) {
      try $0.execute("INSERT INTO products VALUES ('a', 1)")
    }
    let entries = try FileSystem.list(directory.path)
    #expect(entries.count == 3)
    for entry in entries {
      #expect(try FileSystem.status(of: directory.path(entry.name))?.permissions == 0o600)
    }
  }

  @Test("a file that is no database is refused as corrupt") func notADatabase() throws {
    let noise = [UInt8](repeating: 0x58, count: 8192)
    try DurableFile.write(noise.span, to: path)
    let error = #expect(throws: DatabaseError.self) { _ = try open() }
    #expect(error?.code == .corrupt)
  }

  @Test("a lock held by another connection past the timeout is busy, and worth another try") func busy()
    async throws
  {
    let first = try open()
    let second = try Database.open(
      path: path, migrations: migrations, options: .init(busyTimeout: .zero))
    let error = await #expect(throws: DatabaseError.self) {
      try await first.write(locking: [.everything]) { connection in
        try connection.execute("INSERT INTO products VALUES ('a', 1)")
        try second.writeBlocking(locking: [.everything]) { _ in }
      }
    }
    #expect(error?.code == .busy)
    #expect(error?.isRetryable == true)
  }

  @Test("a thread of our own may block for an answer") func blocking() async throws {
    let database = try open()
    let count = try await BlockingPool.shared.run {
      try database.writeBlocking(locking: [.everything]) {
        try $0.execute("INSERT INTO products VALUES ('a', 1)")
      }
      return try database.readBlocking { try $0.first("SELECT count(*) AS n FROM products")?.integer("n") }
    }
    #expect(count == 1)
  }

  @Test("many writers at once lose nothing") func concurrency() async throws {
    let database = try Database.open(
      path: path, migrations: migrations, options: .init(durability: .normal))
    try await withThrowingTaskGroup { group in
      for number in 0..<200 {
        group.addTask {
          try await database.write(locking: [.everything]) {
            try $0.execute("INSERT INTO products VALUES (?, ?)", ["product-\(number)", .integer(number)])
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await count(database) == 200)
  }
}
