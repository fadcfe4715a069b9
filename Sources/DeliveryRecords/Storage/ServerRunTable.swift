package import CoreTypes
package import Database

/// The runs of this server. A run that was not ended died, and what it counted in memory and had not written down
/// was lost; the next run notes when it found that out. Its functions run in the caller's transaction and throw
/// ``DatabaseError``.
package enum ServerRunTable {
  /// For so long after a run died, devices are not held to the counts of grants that were made before. A device that
  /// had everything reports within minutes; one that was away for longer fetches what the count lacks.
  package static let grace: Duration = .seconds(7 * 86_400)

  /// Starts a run; answers its row and whether the one before it died.
  package static func begin(
    at now: Timestamp, in connection: borrowing Connection
  ) throws -> (id: Int64, previousDied: Bool) {
    let died = try connection.execute(
      """
      UPDATE runs SET died = ?
      WHERE id = (SELECT id FROM runs ORDER BY id DESC LIMIT 1) AND ended IS NULL AND died IS NULL
      """, [.timestamp(now)])
    let row = try connection.first(
      "INSERT INTO runs (started) VALUES (?) RETURNING id", [.timestamp(now)])
    guard let row else { preconditionFailure("a row that was written has a number") }
    return (try row.integer("id"), died > 0)
  }

  /// After a restore, for so long, devices ask anew for grants that the backup does not know, and report what they were sent
  /// for the ones before.
  static let graceAfterRestore: Duration = .seconds(86_400)

  /// The database was restored: no run goes on, and grants that are made soon may be for bytes that were sent before.
  package static func noteRestore(at now: Timestamp, in connection: borrowing Connection) throws {
    try connection.execute(
      "UPDATE runs SET died = ? WHERE ended IS NULL AND died IS NULL", [.timestamp(now)])
    try connection.execute(
      "INSERT INTO runs (started, died) VALUES (?, ?)",
      [.timestamp(now), .timestamp(now + graceAfterRestore)])
  }

  /// The run ends in order: its counts are written down.
  package static func end(_ id: Int64, at now: Timestamp, in connection: borrowing Connection) throws {
    try connection.execute("UPDATE runs SET ended = ? WHERE id = ?", [.timestamp(now), .integer(id)])
  }

  /// Whether a run may have taken counts of a grant with it that was made then: it died within ``grace``, and the grant
  /// was there.
  package static func mayHaveLostCounts(
    ofGrantMade created: Timestamp, at now: Timestamp, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.first(
      "SELECT 1 FROM runs WHERE died IS NOT NULL AND died >= ? LIMIT 1",
      [.timestamp(max(created, now - grace))]) != nil
  }
}
