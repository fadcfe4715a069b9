package import Commerce
package import CoreTypes
import Database
package import PullboxAPI
import ServiceAPI

extension AgentDatabase {
  /// Creates a download for each of `products` that this transaction has none for, in that order. One write.
  /// Products that have one are left out of the answer.
  package func createDownloads(
    for transaction: TransactionIdentifier, products: [ProductIdentifier], session: SessionName? = nil,
    ignored: [IgnoredCondition] = [], now: Timestamp
  ) throws -> [DownloadRecord] {
    try database.writeBlocking(locking: [.everything]) { connection in
      try products.compactMap { product in
        let known = try connection.first(
          "SELECT 1 FROM downloads WHERE transaction_id = ? AND product = ? AND section IS NULL LIMIT 1",
          [.text(transaction.description), .text(product.description)])
        guard known == nil else { return nil }
        return try Self.insert(
          product, section: nil, for: transaction, session: session, ignored: ignored, now: now,
          in: connection)
      }
    }
  }

  /// One more download, whatever others there are.
  ///
  /// - Parameter section: the part of the content that it brings; nil for what is required.
  package func createDownload(
    for transaction: TransactionIdentifier, product: ProductIdentifier, section: SectionTag? = nil,
    session: SessionName? = nil, ignored: [IgnoredCondition] = [], now: Timestamp
  ) throws -> DownloadRecord {
    try database.writeBlocking(locking: [.everything]) { connection in
      try Self.insert(
        product, section: section, for: transaction, session: session, ignored: ignored, now: now,
        in: connection)
    }
  }

  private static func insert(
    _ product: ProductIdentifier, section: SectionTag?, for transaction: TransactionIdentifier,
    session: SessionName?, ignored: [IgnoredCondition], now: Timestamp,
    in connection: borrowing Connection
  ) throws -> DownloadRecord {
    let identifier = DownloadIdentifier.random()
    let new = DownloadRecord(
      identifier: identifier, sequence: 0, transaction: transaction, product: product)
    try connection.execute(
      """
      INSERT INTO downloads (id, transaction_id, product, phase, state, reason, failures, priority,
        bytes_verified, bytes_received, created_at, section, session, ignored)
      VALUES (?, ?, ?, ?, ?, ?, 0, ?, 0, 0, ?, ?, ?, ?)
      """,
      [
        .text(identifier.description), .text(transaction.description), .text(product.description),
        .text(new.machine.phase.rawValue), .text(new.machine.state.rawValue),
        .text(new.machine.reason.rawValue), .integer(new.priority), .timestamp(now),
        .optional(section?.description),
        .optional(session?.description), try ignoredValue(ignored),
      ])
    var record = DownloadRecord(
      identifier: identifier, sequence: connection.lastInsertedRowID, transaction: transaction,
      product: product, section: section)
    record.created = now
    record.session = session
    record.ignored = ignored
    return record
  }

  /// Changes the row of a download that was created; it inserts none.
  package func save(_ record: DownloadRecord) throws {
    try database.writeBlocking(locking: [.everything]) { connection in try Self.save(record, in: connection) }
  }

  private static func save(_ record: DownloadRecord, in connection: borrowing Connection) throws {
    let machine = record.machine
    try connection.execute(
      """
      UPDATE downloads SET phase = ?, state = ?, reason = ?, problem = ?, cause = ?, failures = ?,
        losses = ?, not_before = ?, priority = ?, urgency = ?, wanted_by = ?, session = ?, grant_id = ?, terms = ?,
        bytes_verified = ?, bytes_received = ?,
        bytes_reused = ?, bytes_needed = ?, placed_at = ?, content_path = ?, ended_at = ?, ignored = ?
      WHERE id = ?
      """,
      [
        .text(machine.phase.rawValue), .text(machine.state.rawValue), .text(machine.reason.rawValue),
        .optional(try machine.history.problem.map { try text($0) }), .optional(machine.history.cause),
        .integer(machine.history.failures), .integer(machine.history.losses), .optional(record.notBefore),
        .integer(record.priority), .text(record.urgency.rawValue),
        .optional(record.wantedBy.map { Int64($0) }), .optional(record.session?.description),
        .optional(record.grant?.description),
        .optional(try record.terms.map { try text($0) }), .byteCount(record.bytesVerified),
        .byteCount(record.bytesReceived), .optional(record.bytesReused?.rawValue),
        .optional(record.bytesNeeded?.rawValue), .optional(record.placedAt),
        .optional(record.contentPath), .optional(record.endedAt), try ignoredValue(record.ignored),
        .text(record.identifier.description),
      ])
  }

  /// Those that are neither finished nor cancelled, oldest first.
  package func liveDownloads() throws -> [DownloadRecord] {
    try downloads(where: "state NOT IN ('finished', 'cancelled')", [])
  }

  /// Those of a transaction, oldest first.
  package func downloads(of transaction: TransactionIdentifier) throws -> [DownloadRecord] {
    try downloads(where: "transaction_id = ?", [.text(transaction.description)])
  }

  /// Nil for one that there never was, or that is forgotten.
  package func download(_ identifier: DownloadIdentifier) throws -> DownloadRecord? {
    try downloads(where: "id = ?", [.text(identifier.description)]).first
  }

  /// The latest ones before `sequence` that are in one of `states`, the newest first; those of `session` alone, unless that is nil.
  package func downloads(
    in states: [DownloadStatus.State], of session: SessionName? = nil, before sequence: Int64, limit: Int
  ) throws -> [DownloadRecord] {
    let marks = states.map { _ in "?" }.joined(separator: ", ")
    return try downloads(
      where: "sequence < ? AND state IN (\(marks)) AND session IS coalesce(?, session)",
      [.integer(sequence)] + states.map { .text($0.rawValue) }
        + [.optional(session?.description), .integer(limit)],
      order: "sequence DESC LIMIT ?")
  }

  private func downloads(
    where condition: String, _ values: [SQLValue], order: String = "sequence"
  ) throws -> [DownloadRecord] {
    // A transaction that loses a download plans again, and makes it anew.
    try records(
      "SELECT * FROM downloads WHERE \(condition) ORDER BY \(order)", values,
      dropping: { row in
        [
          ("DELETE FROM downloads WHERE sequence = ?", [.integer(try row.integer("sequence"))]),
          (
            "UPDATE transactions SET step = 'planning' WHERE id = ? AND step = 'delivering'",
            [.text(try row.text("transaction_id"))]
          ),
        ]
      }
    ) { row in try Self.download(row) }
  }

  static func failureHistory(_ row: Row) throws -> FailureHistory {
    FailureHistory(
      problem: try value(Problem.self, try row.optionalText("problem")),
      cause: try row.optionalText("cause"), failures: Int(try row.integer("failures")),
      losses: Int(try row.integer("losses")))
  }

  private static func download(_ row: Row) throws -> DownloadRecord {
    var record = DownloadRecord(
      identifier: try require(DownloadIdentifier(try row.text("id")), "downloads.id"),
      sequence: try row.integer("sequence"),
      transaction: try require(
        TransactionIdentifier(try row.text("transaction_id")), "downloads.transaction_id"),
      product: try require(ProductIdentifier(try row.text("product")), "downloads.product"),
      section: try row.optionalText("section").map { try require(SectionTag($0), "downloads.section") })
    record.machine = DownloadMachine(
      phase: try require(DownloadMachine.Phase(rawValue: try row.text("phase")), "downloads.phase"),
      state: try require(DownloadMachine.State(rawValue: try row.text("state")), "downloads.state"),
      reason: StatusReason(rawValue: try row.text("reason")),
      history: try failureHistory(row))
    record.notBefore = try row.optionalTimestamp("not_before")
    record.priority = Int(try row.integer("priority"))
    record.urgency = try require(DownloadUrgency(rawValue: try row.text("urgency")), "downloads.urgency")
    record.wantedBy = try row.optionalInteger("wanted_by").map { UInt32(truncatingIfNeeded: $0) }
    record.session = try row.optionalText("session").map {
      try require(SessionName($0), "downloads.session")
    }
    record.grant = try row.optionalText("grant_id").map {
      try require(GrantIdentifier($0), "downloads.grant_id")
    }
    record.terms = try value(DownloadTerms.self, try row.optionalText("terms"))
    record.bytesVerified = try row.byteCount("bytes_verified")
    record.bytesReceived = try row.byteCount("bytes_received")
    record.bytesReused = try row.optionalInteger("bytes_reused").map { ByteCount($0) }
    record.bytesNeeded = try row.optionalInteger("bytes_needed").map { ByteCount($0) }
    record.placedAt = try row.optionalTimestamp("placed_at")
    record.contentPath = try row.optionalText("content_path")
    record.created = try row.optionalTimestamp("created_at")
    record.endedAt = try row.optionalTimestamp("ended_at")
    record.ignored = try ignored(row)
    return record
  }
}
