package import Database
package import DeliveryRecords
import DeliverySchema
package import PostgreSQLEngine

/// Copies all records from one database into another: one state of them, each table behind those that it refers to, in the order of its
/// key. What has come is read again and compared, table by table, before it counts.
///
///     let copy = RecordCopy(of: try RecordTable.all(), from: .file("/var/lib/pullbox-server/server.db"))
///     let summaries = try copy.fill(transfer, marking: mark)
package struct RecordCopy {
  /// How far a copy is.
  package struct Progress: Hashable, Sendable {
    /// The steps of a copy.
    package enum Step: Hashable, Sendable {
      /// Rows come.
      case copying
      /// Indexes and references are made, over all rows.
      case indexing
      /// The rows that have come are read again.
      case comparing
    }

    package var step: Step
    /// The table that is copied, or compared.
    package var table: String
    /// Rows that were copied or compared, of all tables.
    package var done: Int
    /// Rows that will be; each of them is copied and compared.
    package var total: Int
  }

  /// A table that was copied.
  package struct Summary: Hashable, Sendable {
    package let table: String
    package let content: RecordDigest

    package init(table: String, content: RecordDigest) {
      self.table = table
      self.content = content
    }
  }

  private let tables: [RecordTable]
  private let source: OpenRecords
  private let progress: (Progress) throws -> Void

  /// `progress` is told of each page of rows, and of each table before its first one; what it throws ends the copy.
  package init(
    of tables: [RecordTable], from source: OpenRecords,
    progress: @escaping (Progress) throws -> Void = { _ in }
  ) {
    self.tables = tables
    self.source = source
    self.progress = progress
  }

  /// Puts the records in place of those of a database on PostgreSQL whose tables are up to date, in one transaction. Throws
  /// ``RecordTransferError`` `differs`, what ``TableTransfer/fill(_:marking:_:comparing:)`` throws, and what the source throws: then
  /// nothing has changed there.
  package func fill(_ transfer: TableTransfer, marking mark: MoveMark) throws -> [Summary] {
    try source.read { connection in
      let numbers = try source.lastNumbers(of: tables, in: connection)
      var counter = try RowCounter(of: tables, in: connection, progress: progress)
      var summaries: [Summary] = []
      try transfer.fill(tables.map(\.name), marking: mark) { filling in
        for table in tables {
          var reader = try counter.reader(of: table)
          try filling.copy(into: table.name, columns: table.columns.map(\.name)) {
            try reader.next(in: connection, counting: &counter)
          }
          let (summary, last) = reader.finish()
          summaries.append(summary)
          if let column = table.key.first, table.key.count == 1 {
            try filling.passOver(max(last, numbers[table.name] ?? 0), in: table.name, column: column)
          }
        }
        try counter.begin(.indexing)
      } comparing: { target in
        try compare(summaries, in: target, counting: &counter)
      }
      return summaries
    }
  }

  /// Makes a file of SQLite with the records; its bytes are not synced yet. Throws ``RecordTransferError`` `differs`, what
  /// ``Database/create(_:migrations:_:)`` throws, and what the source throws: then what is there is no database.
  package func makeFile(_ path: String) throws -> [Summary] {
    var summaries: [Summary] = []
    var counter = try source.read { connection in
      let numbers = try source.lastNumbers(of: tables, in: connection)
      var counter = try RowCounter(of: tables, in: connection, progress: progress)
      try Database.create(path, migrations: Migrations.all) { target in
        let indexes = try SQLDialect.dropIndexes(in: target)
        for table in tables {
          var reader = try counter.reader(of: table)
          try SQLDialect.removeRows(of: table, in: target)
          let insertion = RecordStatements.insertion(into: table)
          while let page = try reader.next(in: connection, counting: &counter) {
            for row in page { try target.execute(insertion, row.values) }
          }
          let (summary, last) = reader.finish()
          summaries.append(summary)
          try SQLDialect.passOver(max(last, numbers[table.name] ?? 0), in: table.name, in: target)
        }
        try SQLDialect.completeCounts(in: target)
        try counter.begin(.indexing)
        for index in indexes { try target.execute(index) }
      }
      return counter
    }
    try Database.inspect(path) { target in
      try compare(summaries, in: target, counting: &counter)
      let faults = try target.faults()
      guard faults.isEmpty else {
        throw RecordTransferError(.differs, "\(path) is damaged: \(faults.joined(separator: "; "))")
      }
    }
    return summaries
  }

  /// Throws ``RecordTransferError`` `differs` for the first table whose rows are others than those that were copied.
  package func compare(_ summaries: [Summary], in target: borrowing Connection) throws {
    var counter = RowCounter(progress: progress)
    try compare(summaries, in: target, counting: &counter)
  }

  private func compare(
    _ summaries: [Summary], in target: borrowing Connection, counting counter: inout RowCounter
  ) throws {
    for (table, summary) in zip(tables, summaries) {
      try counter.begin(.comparing, table.name)
      let found = try RecordDigest.of(table, in: target) { try counter.count($0) }
      guard found == summary.content else {
        throw RecordTransferError(
          .differs,
          "the table \(table.name) is not what was copied: \(found.rows) rows of digest \(found.digest), not \(summary.content.rows) of \(summary.content.digest)"
        )
      }
    }
  }
}

/// Reads one table, and hashes what it reads.
private struct TableReader {
  private let table: RecordTable
  private let keyPlace: Int?
  private var pages: RecordPages
  private var hasher = RecordHasher()
  private var last: Int64 = 0

  init(of table: RecordTable) {
    self.table = table
    pages = RecordPages(of: table)
    keyPlace = table.key.count == 1 ? table.columns.firstIndex { $0.name == table.key[0] } : nil
  }

  mutating func next(in connection: borrowing Connection, counting counter: inout RowCounter) throws -> [Row]?
  {
    guard let page = try pages.next(in: connection) else { return nil }
    hasher.add(page)
    if let keyPlace, case .integer(let number)? = page.last?.values[keyPlace] { last = number }
    try counter.count(page.count)
    return page
  }

  /// The highest number of a row; 0 where rows have none.
  mutating func finish() -> (RecordCopy.Summary, last: Int64) {
    (RecordCopy.Summary(table: table.name, content: hasher.finalize()), last)
  }
}

/// Tells how many rows were copied and compared.
private struct RowCounter {
  private let progress: (RecordCopy.Progress) throws -> Void
  private var state: RecordCopy.Progress

  /// Counts for a copy whose length is not known.
  init(progress: @escaping (RecordCopy.Progress) throws -> Void) {
    self.progress = progress
    state = RecordCopy.Progress(step: .copying, table: "", done: 0, total: 0)
  }

  init(
    of tables: [RecordTable], in connection: borrowing Connection,
    progress: @escaping (RecordCopy.Progress) throws -> Void
  ) throws {
    self.init(progress: progress)
    for table in tables {
      let count = try connection.first(RecordStatements.count(of: table))?.integer("count") ?? 0
      state.total += 2 * Int(count)
    }
  }

  mutating func reader(of table: RecordTable) throws -> TableReader {
    try begin(.copying, table.name)
    return TableReader(of: table)
  }

  mutating func begin(_ step: RecordCopy.Progress.Step, _ table: String = "") throws {
    state.step = step
    state.table = table
    try progress(state)
  }

  mutating func count(_ rows: Int) throws {
    state.done += rows
    try progress(state)
  }
}
