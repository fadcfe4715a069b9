import Database
package import DeliveryRecords
import DeliverySchema
import PullboxTesting

/// Rows of every table of a server, with values of every kind that its columns take: what a copy of all records must not lose. They make
/// no sense together, but refer to one another as the schema says.
package enum SampleRecords {
  /// Texts that an escape, a normal form, or an order by letters would change.
  private static let texts = [
    "", "plain", "it's \"quoted\" \\N \\. \\x00", "tab\tline\nreturn\rend", "ä ö 漢 🎈", "e\u{301}\u{FEFF}",
    "%_$1?",
    "\u{1}\u{7F}\u{80}",
  ]
  private static let integers: [Int64] = [0, 1, 255, 256, 1_795_249_800_000]
  private static let extremes: [Int64] = [-1, .max, .min]
  private static let blobs: [[UInt8]] = [[], [0], [0xFF, 0, 0x5C, 0x0A, 0x09], Array(0...255)]

  private struct Column {
    let name: String
    let type: String
    let isRequired: Bool
    /// The table and the column that it refers to.
    var parent: (table: String, column: String)?
  }

  /// Makes a file of SQLite with `count` rows in each table, one where there can be no more. Without `extremes` numbers are such as a
  /// server counts on from.
  package static func make(
    _ path: String, rows count: Int, extremes: Bool = true, seed: UInt64 = 1
  ) throws {
    var random = SplitMix(seed: seed)
    let tables = try RecordTable.all()
    try Database.create(path, migrations: Migrations.all) { connection in
      var values: [String: [[String: SQLValue]]] = [:]
      for table in tables {
        try connection.execute("DELETE FROM \(table.name)")
        let columns = try columns(of: table, in: connection)
        for index in 0..<(isOneRow(table) ? 1 : count) {
          var row: [String: SQLValue] = [:]
          for column in columns {
            row[column.name] = value(
              of: column, of: table, row: index, values, extremes: extremes, &random)
          }
          values[table.name, default: []].append(row)
          let places = columns.map { _ in "?" }.joined(separator: ", ")
          try connection.execute(
            "INSERT INTO \(table.name) (\(columns.map { "\"\($0.name)\"" }.joined(separator: ", "))) VALUES (\(places))",
            columns.map { row[$0.name] ?? .null })
        }
      }
      // A number was given to a row that is gone by now.
      try connection.execute("UPDATE sqlite_sequence SET seq = seq + 1000 WHERE name = 'feeds'")
    }
  }

  /// Whether the schema allows no second row of the table.
  package static func isOneRow(_ table: RecordTable) -> Bool {
    ["catalogue_state", "installation", "stop_revision"].contains(table.name)
  }

  private static func columns(of table: RecordTable, in connection: borrowing Connection) throws -> [Column] {
    let written = Set(table.columns.map(\.name))
    var parents: [String: (String, String)] = [:]
    for row in try connection.query(
      "SELECT \"from\", \"table\", \"to\" FROM pragma_foreign_key_list(?)", [.text(table.name)])
    {
      parents[try row.text("from")] = (try row.text("table"), try row.text("to"))
    }
    return try connection.query(
      "SELECT name, type, \"notnull\", pk FROM pragma_table_xinfo(?)", [.text(table.name)]
    )
    .map { row in
      let name = try row.text("name")
      let isRequired = try row.integer("notnull") + row.integer("pk") > 0
      return Column(name: name, type: try row.text("type"), isRequired: isRequired, parent: parents[name])
    }.filter { written.contains($0.name) }
  }

  private static func value(
    of column: Column, of table: RecordTable, row index: Int, _ values: [String: [[String: SQLValue]]],
    extremes: Bool, _ random: inout SplitMix
  ) -> SQLValue {
    if let parent = column.parent, let rows = values[parent.table], !rows.isEmpty {
      return rows[index % rows.count][parent.column] ?? .null
    }
    if column.name == "operator_decision" { return [.null, "revoke", "reinstate"][index % 3] }
    if isOneRow(table), column.name == "id" { return 1 }
    // No two rows are the same by any of these.
    let isUnique =
      table.key.contains(column.name)
      || ["device", "handle", "id", "name", "ordering", "subject", "digest"].contains(column.name)
    if isUnique {
      let text = "\(["a", "B", "_", "ä", "Z"][index % 5])\(index)\(texts[index % texts.count])"
      return switch column.type {
      case "INTEGER": .integer(Int64(index * 3 + 1))
      case "BLOB" where column.name.hasSuffix("digest"):
        .blob([UInt8(index % 251), UInt8(index / 251), 0, 0xFF] + [UInt8](repeating: 7, count: 28))
      case "BLOB": .blob(Array(text.utf8) + [0])
      default: .text(text)
      }
    }
    if !column.isRequired, random.next() % 4 == 0 { return .null }
    let choice = Int(random.next() % 1024)
    let integers = integers + (extremes ? Self.extremes : [])
    return switch column.type {
    case "INTEGER": .integer(integers[choice % integers.count])
    case "BLOB": .blob(blobs[choice % blobs.count])
    default: .text(texts[choice % texts.count])
    }
  }
}
