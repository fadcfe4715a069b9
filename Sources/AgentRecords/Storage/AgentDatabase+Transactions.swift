package import Commerce
package import CoreTypes
import Database
package import PullboxAPI
import ServiceAPI

/// Which transactions a list is of.
package enum TransactionFilter: String, CaseIterable, Sendable {
  case unfinished
  /// Those that are over: finished and failed.
  case over
}

extension AgentDatabase {
  /// The largest number of transactions that are over and kept, and the longest time for which one is kept. The latest
  /// ones stay.
  static let keptTransactions = 10_000
  static let keptFor: Duration = .seconds(90 * 86_400)

  static let transactionHistory = Migration(
    "history of transactions",
    script: """
      ALTER TABLE transactions ADD COLUMN cause TEXT;
      ALTER TABLE transactions ADD COLUMN not_before INTEGER;
      ALTER TABLE transactions ADD COLUMN ended_at INTEGER;
      UPDATE transactions SET ended_at = unixepoch() * 1000 WHERE step IN ('finished', 'failed');
      CREATE INDEX transactions_unfinished ON transactions (id) WHERE ended_at IS NULL;
      CREATE INDEX transactions_by_end ON transactions (ended_at) WHERE ended_at IS NOT NULL;
      """)

  /// `now` is when it ended, if it has just ended. One that was reopened has no end any more.
  package func save(_ record: TransactionRecord, now: Timestamp) throws {
    try database.writeBlocking(locking: [.everything]) { connection in
      let machine = record.machine
      try connection.execute(
        """
        INSERT INTO transactions
          (id, product, store_state, step, reason, problem, cause, tries, not_before, ended_at, session, ignored)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET store_state = excluded.store_state, step = excluded.step,
          reason = excluded.reason, problem = excluded.problem, cause = excluded.cause, tries = excluded.tries,
          not_before = excluded.not_before, session = excluded.session, ignored = excluded.ignored,
          ended_at = iif(excluded.ended_at IS NULL, NULL, coalesce(ended_at, excluded.ended_at))
        """,
        [
          .text(record.identifier.description), .text(record.product.description),
          .text(record.storeState.rawValue),
          .text(machine.step.rawValue), .optional(machine.reason?.rawValue),
          .optional(try machine.problem.map { try Self.text($0) }), .optional(machine.cause),
          .integer(machine.tries), .optional(record.notBefore), .optional(machine.isOver ? now : nil),
          .optional(record.session?.description), try Self.ignoredValue(record.ignored),
        ])
    }
  }

  /// Those that are not over, by identifier.
  package func unfinishedTransactions() throws -> [TransactionRecord] {
    try transactions(where: "ended_at IS NULL ORDER BY id", [])
  }

  /// When it was heard that each was taken back; nil for one that counts again. Answers those of which that is news, as they stand then;
  /// transactions that are not known are passed over.
  package func noteRevoked(_ told: [TransactionIdentifier: Timestamp?]) throws -> [TransactionRecord] {
    var changed: [TransactionRecord] = []
    for (identifier, time) in told {
      guard var record = try transaction(identifier), (record.revoked == nil) != (time == nil) else {
        continue
      }
      record.revoked = time
      changed.append(record)
    }
    guard !changed.isEmpty else { return [] }
    let records = changed
    try database.writeBlocking(locking: [.everything]) { connection in
      for record in records {
        try connection.execute(
          "UPDATE transactions SET revoked_at = ? WHERE id = ?",
          [.optional(record.revoked), .text(record.identifier.description)])
      }
    }
    return changed
  }

  /// Nil for one that was never observed, or is forgotten.
  package func transaction(_ identifier: TransactionIdentifier) throws -> TransactionRecord? {
    try transactions(where: "id = ?", [.text(identifier.description)]).first
  }

  private func transactions(where condition: String, _ values: [SQLValue]) throws -> [TransactionRecord] {
    // The store tells again of what was dropped, unless that was over.
    try records(
      "SELECT * FROM transactions WHERE \(condition)", values,
      dropping: { row in
        [("DELETE FROM transactions WHERE id = ?", [.text(try row.text("id"))])]
      }
    ) { row in try Self.transaction(row) }
  }

  /// One page by identifier, from the first after `after`, each with its downloads, oldest first; those of `session` alone, unless that is
  /// nil.
  package func transactions(
    _ filter: TransactionFilter?, of session: SessionName? = nil, after: TransactionIdentifier?, limit: Int
  ) throws -> [(record: TransactionRecord, downloads: [DownloadIdentifier])] {
    let condition =
      switch filter {
      case .unfinished: "AND ended_at IS NULL"
      case .over: "AND ended_at IS NOT NULL"
      case nil: ""
      }
    let found = try transactions(
      where: "id > ? \(condition) AND session IS coalesce(?, session) ORDER BY id LIMIT ?",
      [.text(after?.description ?? ""), .optional(session?.description), .integer(limit)])
    return try database.readBlocking { connection in
      try found.map { record in
        (record, try Self.downloadIdentifiers(of: record.identifier, in: connection))
      }
    }
  }

  /// The downloads of a transaction, oldest first.
  package func downloadIdentifiers(of transaction: TransactionIdentifier) throws -> [DownloadIdentifier] {
    try database.readBlocking { try Self.downloadIdentifiers(of: transaction, in: $0) }
  }

  private static func downloadIdentifiers(
    of transaction: TransactionIdentifier, in connection: borrowing Connection
  ) throws -> [DownloadIdentifier] {
    try connection.query(
      "SELECT id FROM downloads WHERE transaction_id = ? ORDER BY sequence", [.text(transaction.description)]
    ).map { try require(DownloadIdentifier(try $0.text("id")), "downloads.id") }
  }

  /// Forgets transactions that are over: those beyond ``keptTransactions``, the earliest first, and those that ended
  /// longer ago than ``keptFor``.
  package func pruneTransactions(now: Timestamp) throws {
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        """
        DELETE FROM transactions WHERE ended_at < ? OR id IN (
          SELECT id FROM transactions WHERE ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT -1 OFFSET ?)
        """, [.timestamp(now - Self.keptFor), .integer(Self.keptTransactions)])
    }
  }

  /// Forgets every transaction that is over; returns how many there were.
  package func removeEndedTransactions() throws -> Int {
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute("DELETE FROM transactions WHERE ended_at IS NOT NULL")
    }
  }

  private static func transaction(_ row: Row) throws -> TransactionRecord {
    var record = TransactionRecord(
      identifier: try require(TransactionIdentifier(try row.text("id")), "transactions.id"),
      product: try require(ProductIdentifier(try row.text("product")), "transactions.product"),
      storeState: try require(
        StoreTransaction.State(rawValue: try row.text("store_state")), "transactions.store_state"))
    record.machine = TransactionMachine(
      step: try require(TransactionMachine.Step(rawValue: try row.text("step")), "transactions.step"),
      reason: try row.optionalText("reason").map { StatusReason(rawValue: $0) },
      problem: try value(Problem.self, try row.optionalText("problem")),
      cause: try row.optionalText("cause"), tries: Int(try row.integer("tries")))
    record.notBefore = try row.optionalTimestamp("not_before")
    record.revoked = try row.optionalTimestamp("revoked_at")
    record.session = try row.optionalText("session").map {
      try require(SessionName($0), "transactions.session")
    }
    record.ignored = try ignored(row)
    return record
  }
}
