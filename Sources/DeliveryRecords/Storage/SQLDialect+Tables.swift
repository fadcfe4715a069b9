package import Database

/// Questions that SQLite answers of its own tables, and changes of whole tables that it alone needs.
extension SQLDialect {
  /// Returns the tables of the migrations, in the order of their names.
  package static func tables(in connection: borrowing Connection) throws(DatabaseError) -> [RecordTable] {
    let names = try texts(
      """
      SELECT name AS text FROM sqlite_schema WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name
      """, [], in: connection)
    var tables: [RecordTable] = []
    for name in names {
      // Columns that the database makes of others are hidden.
      let columns = try connection.query(
        "SELECT name, type, pk FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid", [.text(name)])
      var key: [(place: Int64, name: String)] = []
      for column in columns where try column.integer("pk") > 0 {
        key.append((try column.integer("pk"), try column.text("name")))
      }
      tables.append(
        RecordTable(
          name: name,
          columns: try columns.map { column throws(DatabaseError) in
            RecordTable.Column(
              name: try column.text("name"), isText: try column.text("type") == "TEXT")
          },
          key: key.isEmpty
            ? try uniqueColumns(of: name, in: connection)
            : key.sorted { $0.place < $1.place }.map(\.name),
          references: Set(
            try texts(
              "SELECT \"table\" AS text FROM pragma_foreign_key_list(?)", [.text(name)], in: connection))))
    }
    return tables
  }

  /// The columns of the first index that says that no two rows are the same.
  private static func uniqueColumns(
    of table: String, in connection: borrowing Connection
  ) throws(DatabaseError) -> [String] {
    let indexes = try texts(
      "SELECT name AS text FROM pragma_index_list(?) WHERE \"unique\" = 1 AND partial = 0 ORDER BY name",
      [.text(table)], in: connection)
    guard let index = indexes.first else { return [] }
    return try texts(
      "SELECT name AS text FROM pragma_index_info(?) ORDER BY seqno", [.text(index)], in: connection)
  }

  private static func texts(
    _ sql: String, _ values: [SQLValue], in connection: borrowing Connection
  ) throws(DatabaseError) -> [String] {
    try connection.query(sql, values).map { row throws(DatabaseError) in try row.text("text") }
  }

  /// Returns the highest numbers that were given to rows of tables that give none twice, whether those rows are there or not.
  package static func lastNumbers(in connection: borrowing Connection) throws(DatabaseError) -> [String:
    Int64]
  {
    var numbers: [String: Int64] = [:]
    for row in try connection.query("SELECT name, seq FROM sqlite_sequence") {
      numbers[try row.text("name")] = try row.integer("seq")
    }
    return numbers
  }

  /// Rows of the table get higher numbers than `number` from now on, where the table gives none twice.
  package static func passOver(
    _ number: Int64, in table: String, in connection: borrowing Connection
  ) throws(DatabaseError) {
    let isNumbered = try connection.first(
      """
      SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ? AND sql LIKE '%INTEGER PRIMARY KEY AUTOINCREMENT%'
      """, [.text(table)])
    guard isNumbered != nil else { return }
    try connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", [.text(table)])
    try connection.execute(
      "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", [.text(table), .integer(number)])
  }

  /// Drops the indexes that have a statement of their own, and returns those statements: an index is sorted once behind all rows, whose
  /// values come in no order of it.
  package static func dropIndexes(in connection: borrowing Connection) throws(DatabaseError) -> [String] {
    let indexes = try connection.query(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name")
    for index in indexes {
      try connection.execute("DROP INDEX \(RecordTable.quoted(try index.text("name")))")
    }
    return try indexes.map { index throws(DatabaseError) in try index.text("sql") }
  }

  /// Removes the rows that the migrations make. Counts stay: triggers only add to them.
  package static func removeRows(
    of table: RecordTable, in connection: borrowing Connection
  ) throws(DatabaseError) {
    guard !table.isOfCounts else { return }
    try connection.execute("DELETE FROM \(RecordTable.quoted(table.name))")
  }

  /// Adds the counts of nothing that SQLite's triggers need to count on: they change the row of calls of a kind, and PostgreSQL makes one
  /// only with the first that waits.
  package static func completeCounts(in connection: borrowing Connection) throws(DatabaseError) {
    try connection.execute(
      """
      INSERT INTO outbox_counts (store, kind, waiting, parked)
      SELECT DISTINCT store, kind, 0, 0 FROM outbox WHERE true ON CONFLICT (store, kind) DO NOTHING
      """)
  }

  /// Returns rows whose texts have the character U+0000, which PostgreSQL cannot hold: the table, the column, and the values of the
  /// key; at most `limit`.
  package static func textsWithZero(
    in table: RecordTable, limit: Int, in connection: borrowing Connection
  ) throws(DatabaseError) -> [UnstorableText] {
    let texts = table.columns.filter(\.isText).map(\.name)
    guard !texts.isEmpty else { return [] }
    let conditions = texts.map { "instr(CAST(\(RecordTable.quoted($0)) AS BLOB), x'00') > 0" }
    let columns = table.key.map(RecordTable.quoted).joined(separator: ", ")
    let rows = try connection.query(
      """
      SELECT \(columns), CASE \(zip(conditions, texts.indices).map { "WHEN \($0) THEN \($1)" }.joined(separator: " ")) END
        AS found
      FROM \(RecordTable.quoted(table.name)) WHERE \(conditions.joined(separator: " OR ")) LIMIT ?
      """, [.integer(limit)])
    return try rows.map { row throws(DatabaseError) in
      UnstorableText(
        table: table.name, column: texts[Int(try row.integer("found"))],
        key: zip(table.key, row.values).map { "\($0) \(UnstorableText.text(of: $1))" }.joined(separator: ", ")
      )
    }
  }
}

/// A text that PostgreSQL cannot hold.
package struct UnstorableText: Hashable, Sendable, CustomStringConvertible {
  /// The table of the row.
  package let table: String
  /// The first column of the row that holds such a text.
  package let column: String
  /// The columns of the table's key with their values, for people.
  package let key: String

  /// The place of the text for people, without the text.
  package var description: String { "column \(column) of \(table), where \(key)" }

  /// A value for people: bytes in hexadecimal digits, and U+0000 as it is written in JSON.
  static func text(of value: SQLValue) -> String {
    switch value {
    case .null: "is null"
    case .integer(let integer): "is \(integer)"
    case .real(let real): "is \(real)"
    case .text(let text): "is '\(text.replacing("\u{0}", with: #"\u0000"#))'"
    case .blob(let bytes):
      "is x'" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "'"
    }
  }
}
