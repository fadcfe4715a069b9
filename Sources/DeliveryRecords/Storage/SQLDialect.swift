import Commerce
package import Database

/// The parts of the tables' statements in which SQLite and PostgreSQL differ. They stand here, in the migrations and in the folder
/// PostgreSQL, and nowhere else (`scripts/lib/check-sql`). Everything else is SQL that both run: `ON CONFLICT`, `RETURNING`, values
/// bound to `?`.
package enum SQLDialect {
  /// Numbers that a restored database passes over in the tables that never give one twice: of more rows than a backup can miss.
  static let numbersPassedOver: Int64 = 1 << 32

  /// The database was restored: what the backup does not know had numbers as well, and tokens, or operators, still name it by them.
  /// In PostgreSQL ``passOverNumbersPostgreSQL(in:)`` does it.
  package static func passOverNumbers(in connection: borrowing Connection) throws {
    for table in ["feeds", "outbox", "irregularities"] {
      try connection.execute(
        """
        INSERT INTO sqlite_sequence (name, seq)
        SELECT ?, 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?)
        """, [.text(table), .text(table)])
      try connection.execute(
        "UPDATE sqlite_sequence SET seq = seq + ? WHERE name = ?",
        [.integer(numbersPassedOver), .text(table)])
    }
  }

  /// Behind `INSERT` and `UPDATE`, of a statement with triggers whose failure is its body's: so that SQLite copies none of the pages that
  /// it changes, to undo the statement alone. What it has changed until then goes with all that the body wrote. PostgreSQL would
  /// have nothing here.
  static let failing = "OR FAIL"

  /// Behind a table's name: the index that the statement is to use. SQLite chooses by statistics of a sample, which say
  /// nothing of the one product that most of the grants are of, or of the few that have changed since an import of all. PostgreSQL
  /// would have nothing here.
  package static func index(_ name: String) -> String { "INDEXED BY \(name)" }
}

/// Some of many transactions, or grants, that one statement asks about: in few sizes, so that few statements are prepared.
struct KeyBatch {
  private static let sizes = [1, 8, 64]

  /// The values to bind, as many as there are ``placeholders``; the last may be there more than once.
  package let values: [SQLValue]

  /// The `?` between the parentheses of `IN`.
  var placeholders: String { Array(repeating: "?", count: values.count).joined(separator: ", ") }

  /// All of `transactions`, the last one repeated where a batch has room.
  package static func all(of transactions: [TransactionIdentifier]) -> [KeyBatch] {
    all(of: transactions.map(SQLValue.identifier))
  }

  /// All of the grants with these numbers, the last one repeated where a batch has room.
  static func all(of numbers: [Int64]) -> [KeyBatch] { all(of: numbers.map(SQLValue.integer)) }

  /// All of `products`, the last one repeated where a batch has room.
  static func all(of products: [ProductIdentifier]) -> [KeyBatch] {
    all(of: products.map(SQLValue.identifier))
  }

  private static func all(of keys: [SQLValue]) -> [KeyBatch] {
    let largest = sizes[sizes.count - 1]
    return stride(from: 0, to: keys.count, by: largest).map { start in
      let part = Array(keys[start..<min(start + largest, keys.count)])
      let size = sizes.first { $0 >= part.count } ?? largest
      return KeyBatch(values: part + Array(repeating: part[part.count - 1], count: size - part.count))
    }
  }
}
