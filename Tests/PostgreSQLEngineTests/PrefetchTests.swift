import CoreTypes
import Database
import Testing

@testable import PostgreSQLEngine

@Suite("Reads that are sent ahead of their use", .enabled(if: PostgreSQLServer.isThere))
struct PrefetchTests {
  private static let schema = SchemaDefinition(
    version: 1,
    script: """
      CREATE TABLE books (id BIGINT PRIMARY KEY, title TEXT COLLATE "C" NOT NULL UNIQUE);
      CREATE TABLE readers (id BIGINT PRIMARY KEY, name TEXT COLLATE "C" NOT NULL);
      INSERT INTO books VALUES (1, 'one'), (2, 'two');
      INSERT INTO readers VALUES (1, 'Ada');
      """)

  private let database: Database
  /// Writes beside the bodies of ``database``.
  private let other: Database

  init() throws {
    let address = try PostgreSQLServer.emptyAddress()
    let options = PostgreSQLOptions(writers: 1, readers: 1)
    database = try Database.open(address, schema: Self.schema, options: options)
    other = try Database.open(address, schema: Self.schema, options: options)
  }

  private static func title(_ id: Int64, in connection: borrowing Connection) throws -> String? {
    try connection.first("SELECT title FROM books WHERE id = ?", [.integer(id)])?.text("title")
  }

  private func end() {
    database.close()
    other.close()
  }

  /// A body that prefetches the first title, waits for another answer, and reads by `body` once another process has changed all titles to
  /// `theirs`.
  private func read<Value: Sendable>(
    _ body: @escaping @Sendable (borrowing Connection) throws -> Value
  ) async throws -> Value {
    let other = other
    return try await database.write(locking: []) { connection in
      connection.prefetch { connection in _ = try Self.title(1, in: connection) }
      _ = try connection.first("SELECT name FROM readers")
      try other.writeBlocking(locking: []) {
        try $0.execute("UPDATE books SET title = 'theirs ' || id")
      }
      return try body(connection)
    }
  }

  @Test("a read gets the rows of the moment when it was sent, and another read those of now")
  func ahead() async throws {
    defer { end() }
    let titles = try await read { [try Self.title(1, in: $0), try Self.title(2, in: $0)] }
    #expect(titles == ["one", "theirs 2"])
  }

  @Test("in a body that writes an answer serves one read, and the next one finds what there is")
  func once() async throws {
    defer { end() }
    let titles = try await read { [try Self.title(1, in: $0), try Self.title(1, in: $0)] }
    #expect(titles == ["one", "theirs 1"])
  }

  @Test(
    "a write of the table, or one that may change any, in between lets the read be made anew; one of another table does not",
    arguments: [
      ("UPDATE books SET title = 'mine' WHERE id = 1", "mine"),
      ("DELETE FROM books WHERE id = 1", nil), ("DELETE FROM readers", "theirs 1"),
      ("INSERT INTO readers VALUES (2, 'Grace')", "one"),
    ])
  func writes(statement: String, found: String?) async throws {
    defer { end() }
    let title = try await read { connection in
      try connection.enqueue(statement)
      return try Self.title(1, in: connection)
    }
    #expect(title == found)
  }

  @Test("what was read before a lock was taken is read again once it is held")
  func locks() async throws {
    defer { end() }
    let title = try await read { connection in
      try connection.lock(DatabaseLock(kind: "customer", name: "a", isFoundOnTheWay: true))
      return try Self.title(1, in: connection)
    }
    #expect(title == "theirs 1")
  }

  @Test("what would write is not sent, and ends what is prefetched; all before it is")
  func writing() async throws {
    defer { end() }
    let other = other
    let titles = try await database.write(locking: []) { connection in
      connection.prefetch { connection in
        _ = try Self.title(1, in: connection)
        try connection.enqueue("UPDATE books SET title = 'lost' WHERE id = 1")
        _ = try Self.title(2, in: connection)
      }
      connection.prefetch { try $0.execute("DELETE FROM books") }
      _ = try connection.first("SELECT name FROM readers")
      try other.writeBlocking(locking: []) { try $0.execute("UPDATE books SET title = title || '!'") }
      return [try Self.title(1, in: connection), try Self.title(2, in: connection)]
    }
    #expect(titles == ["one", "two!"])
  }

  @Test("an answer that nobody wants, and an error of what was sent ahead, leave the next body as it is")
  func unused() async throws {
    defer { end() }
    for _ in 1...3 {
      _ = try await database.read { connection in
        connection.prefetch { connection in _ = try Self.title(1, in: connection) }
      }
      try await database.write(locking: []) { connection in
        connection.prefetch { connection in _ = try Self.title(1, in: connection) }
        try connection.enqueue("UPDATE readers SET name = name")
      }
      let error = await #expect(throws: DatabaseError.self) {
        try await database.write(locking: []) { connection in
          connection.prefetch { connection in _ = try connection.first("SELECT 1 / 0") }
          _ = try Self.title(1, in: connection)
        }
      }
      #expect(error?.state == "22012")
    }
    let title = try await database.write(locking: []) { try Self.title(1, in: $0) }
    #expect(title == "one")
  }

  @Test("in a body that reads an answer serves any number of the same reads")
  func many() async throws {
    defer { end() }
    let titles = try await database.read { connection in
      connection.prefetch { connection in _ = try Self.title(1, in: connection) }
      return [try Self.title(1, in: connection), try Self.title(1, in: connection)]
    }
    #expect(titles == ["one", "one"])
  }

  @Test("a part that prefetches within another one ends nothing but itself")
  func nested() async throws {
    defer { end() }
    let titles = try await database.write(locking: []) { connection in
      connection.prefetch { connection in
        connection.prefetch { connection in _ = try Self.title(1, in: connection) }
        try connection.execute("UPDATE books SET title = 'lost'")
      }
      return [try Self.title(1, in: connection), try Self.title(2, in: connection)]
    }
    #expect(titles == ["one", "two"])
  }

  @Test("where answers are checked, one that is what there is serves")
  func checked() async throws {
    defer { end() }
    var options = PostgreSQLOptions(writers: 1, readers: 1)
    options.checksPrefetched = true
    let checking = try Database.open(
      try PostgreSQLServer.emptyAddress(), schema: Self.schema, options: options)
    defer { checking.close() }
    let title = try await checking.write(locking: []) { connection in
      connection.prefetch { connection in _ = try Self.title(1, in: connection) }
      try connection.enqueue("UPDATE readers SET name = 'Grace'")
      return try Self.title(1, in: connection)
    }
    #expect(title == "one")
  }
}
