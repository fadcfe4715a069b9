import Database
import Files
import PullboxTesting
import SystemCalls
import Testing

@Suite("A file that is made from rows at once")
struct FilledFileTests {
  private struct BrokenOff: Error {}

  private let directory: TemporaryDirectory
  private let path: String
  private let tables = Migration(
    "books",
    script: """
      CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT NOT NULL) STRICT;
      CREATE TABLE pages (book INTEGER NOT NULL REFERENCES books (id)) STRICT;
      CREATE TABLE counts (books INTEGER NOT NULL) STRICT;
      INSERT INTO counts VALUES (0);
      CREATE TRIGGER books_count AFTER INSERT ON books BEGIN UPDATE counts SET books = books + 1; END;
      """)

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.path("test.sqlite")
  }

  private func make(_ body: (borrowing Connection) throws -> Void) throws {
    try Database.create(path, migrations: [tables], body)
  }

  @Test(
    "it has the tables of the migrations and the rows, which no trigger has seen, and is its owner's alone")
  func made() throws {
    try make { try $0.execute("INSERT INTO books VALUES (7, 'a')") }
    #expect(try FileSystem.status(of: path)?.permissions == 0o600)
    let database = try Database.open(path: path, migrations: [tables])
    defer { database.close() }
    let before = try database.readBlocking { try $0.query("SELECT id, title FROM books").map(\.values) }
    #expect(before == [[7, "a"]])
    #expect(try database.readBlocking { try $0.first("SELECT books FROM counts")?.integer("books") } == 0)
    // A server that opens it has the triggers.
    try database.writeBlocking(locking: [.everything]) { try $0.execute("INSERT INTO books VALUES (8, 'b')") }
    #expect(try database.readBlocking { try $0.first("SELECT books FROM counts")?.integer("books") } == 1)
  }

  @Test("rows may come before those that they refer to; one that refers to none is found afterwards")
  func references() throws {
    try make { connection in
      try connection.execute("INSERT INTO pages VALUES (7), (8)")
      try connection.execute("INSERT INTO books VALUES (7, 'a')")
    }
    let faults = try Database.inspect(path) { try $0.faults() }
    #expect(faults == ["a row of pages refers to none of books"])
  }

  @Test("a file that is there is refused and left as it is; what its body throws ends the making")
  func refused() throws {
    try make { try $0.execute("INSERT INTO books VALUES (7, 'a')") }
    #expect(throws: SystemError.self) { try make { _ in } }
    #expect(try Database.inspect(path) { try $0.query("SELECT id FROM books").count } == 1)
    #expect(throws: BrokenOff.self) {
      try Database.create(directory.path("other.sqlite"), migrations: [tables]) { _ in throw BrokenOff() }
    }
  }

  @Test("tables in memory are there while they are asked")
  func memory() throws {
    let names = try Database.inMemory(migrations: [tables]) { connection in
      try connection.query("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").map {
        try $0.text("name")
      }
    }
    #expect(names == ["books", "counts", "pages"])
    #expect(try FileSystem.list(directory.path).isEmpty)
  }
}
