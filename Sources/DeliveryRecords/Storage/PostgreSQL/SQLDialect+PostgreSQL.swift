package import Database

extension SQLDialect {
  /// ``passOverNumbers(in:)`` of PostgreSQL: the sequences of the identities go on so far behind their own last number, and behind the
  /// last number that a row has, since rows that a backup brought did not take theirs from the sequence.
  package static func passOverNumbersPostgreSQL(in connection: borrowing Connection) throws {
    for (table, column) in [("feeds", "number"), ("outbox", "id"), ("irregularities", "id")] {
      _ = try connection.first(
        """
        SELECT setval(sequence, greatest(nextval(sequence), (SELECT max(\(column)) FROM \(table))) + ?) AS number
        FROM (SELECT pg_get_serial_sequence(?, ?)::regclass AS sequence) AS identity
        """, [.integer(numbersPassedOver), .text(table), .text(column)])
    }
  }
}
