package import Database
package import PostgreSQLEngine

/// Where a server's records lie.
package enum RecordsPlace: Hashable, Sendable {
  /// A file of SQLite.
  case file(String)
  /// A schema of a database on PostgreSQL.
  case server(PostgreSQLAddress)
}

extension PostgreSQLSchema {
  /// The tables of this program.
  package static let definition = SchemaDefinition(version: version, script: script)
}

/// Records that are opened to be read as a whole, or, on PostgreSQL, to be filled.
package enum OpenRecords {
  /// A file of SQLite.
  case file(String)
  /// A connection to PostgreSQL.
  case server(TableTransfer)

  /// Opens the records. Blocks. `application` is the name by which PostgreSQL lists the connection. Throws ``DatabaseError``.
  package init(_ place: RecordsPlace, application: String) throws(DatabaseError) {
    switch place {
    case .file(let path): self = .file(path)
    case .server(let address): self = .server(try TableTransfer(address, application: application))
    }
  }

  /// Brings the tables up to date, as the start of a server does. Blocks. No server uses them.
  package func update() throws {
    switch self {
    case .file(let path):
      try Database.open(path: path, migrations: Migrations.all, options: .small).close()
    case .server(let transfer): try transfer.apply(PostgreSQLSchema.definition)
    }
  }

  /// `body` sees one state of the records, beside servers that go on.
  package func read<Value>(_ body: (borrowing Connection) throws -> Value) throws -> Value {
    switch self {
    case .file(let path): try Database.inspect(path, body)
    case .server(let transfer): try transfer.read(body)
    }
  }

  /// The highest numbers that the database has given to rows of the tables, whether those are there or not. Runs in a ``read(_:)``,
  /// whose connection it gets.
  func lastNumbers(
    of tables: [RecordTable], in connection: borrowing Connection
  ) throws(DatabaseError) -> [String: Int64] {
    switch self {
    case .file: return try SQLDialect.lastNumbers(in: connection)
    case .server(let transfer):
      var numbers: [String: Int64] = [:]
      for table in tables {
        guard let column = table.key.first, table.key.count == 1 else { continue }
        numbers[table.name] = try transfer.lastNumber(of: table.name, column: column)
      }
      return numbers
    }
  }
}
