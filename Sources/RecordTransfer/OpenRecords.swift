package import CoreTypes
package import Database
import DeliveryRecords
import DeliverySchema
package import PostgreSQLEngine

/// Records that are opened to be read as a whole, or, on PostgreSQL, to be filled.
package enum OpenRecords {
  /// A file of SQLite.
  case file(String)
  /// A connection to PostgreSQL.
  case server(TableTransfer)

  /// Brings the tables up to date, as the start of a server does. Blocks. No server uses them.
  package func update() throws {
    switch self {
    case .file(let path):
      try Database.open(path: path, migrations: Migrations.all, options: .small).close()
    case .server(let transfer): try transfer.apply(PostgreSQLSchema.definition)
    }
  }

  /// Writes down that the server that used the records last has died, if it has not ended, as its next start would, which would not be
  /// there to do so once the records are elsewhere. A file's ticket keys go: its server has them in a file of their own. No server uses the
  /// records, and the tables are up to date. Blocks.
  package func settle(at now: Timestamp) throws {
    switch self {
    case .file(let path):
      let database = try Database.open(path: path, migrations: Migrations.all, options: .small)
      defer { database.close() }
      try database.writeBlocking(locking: [.everything]) { connection in
        try Self.noteDeaths(at: now, in: connection)
        try TicketKeyTable.removeAll(in: connection)
      }
    case .server(let transfer):
      try transfer.write { try Self.noteDeaths(at: now, in: $0) }
    }
  }

  /// Returns the name that the installation has given itself: `proposed`, where it has none yet, from then on. No server uses the
  /// records, and the tables are up to date. Blocks.
  package func installation(proposed: String) throws -> String {
    switch self {
    case .file(let path):
      let database = try Database.open(path: path, migrations: Migrations.all, options: .small)
      defer { database.close() }
      return try database.writeBlocking(locking: [.everything]) { connection in
        try InstallationTable.identifier(proposed: proposed, in: connection)
      }
    case .server(let transfer):
      return try transfer.write { try InstallationTable.identifier(proposed: proposed, in: $0) }
    }
  }

  private static func noteDeaths(at now: Timestamp, in connection: borrowing Connection) throws {
    _ = try ServerRunTable.noteDeath(of: nil, heard: nil, at: now, in: connection)
    _ = try NodeTable.declareAllDead(at: now, in: connection)
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
