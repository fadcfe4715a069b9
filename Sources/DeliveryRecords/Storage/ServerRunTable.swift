package import CoreTypes
package import Database

/// The runs of this server, or of the nodes that share the database. A run that was not ended died, and what it counted in memory and
/// had not written down was lost; the next run, or another node, notes when it found that out. Its functions run in the caller's
/// transaction and throw ``DatabaseError``.
package enum ServerRunTable {
  /// For so long after a run died, devices are not held to the counts of grants that were made before. A device that
  /// had everything reports within minutes; one that was away for longer fetches what the count lacks.
  package static let grace: Duration = .seconds(7 * 86_400)

  /// Before a node died, it wrote down what it had sent so often that what it had not concerns grants that it wrote something of
  /// before, or those of so long before it was heard of last.
  static let lastMinute: Duration = .seconds(60)

  /// Starts a run of the only server of a file, or of a node; answers its row and whether the same one's run before died. A node's is
  /// said to be `heard` when it was heard of last.
  package static func begin(
    of node: Int64? = nil, heard: Timestamp? = nil, at now: Timestamp, in connection: borrowing Connection
  ) throws -> (id: Int64, previousDied: Bool) {
    let died = try noteDeath(of: node, heard: heard, at: now, in: connection)
    let row = try connection.first(
      "INSERT INTO runs (started, node) VALUES (?, ?) RETURNING id",
      [.timestamp(now), .optional(node) { .integer($0) }])
    guard let row else { preconditionFailure("a row that was written has a number") }
    return (try row.integer("id"), died)
  }

  /// A run of the node, or of the only server of a file, that was not ended has died; whether there was one.
  package static func noteDeath(
    of node: Int64?, heard: Timestamp?, at now: Timestamp, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.execute(
      """
      UPDATE runs SET died = ?, heard = ?
      WHERE id = (SELECT id FROM runs WHERE coalesce(node, 0) = ? ORDER BY id DESC LIMIT 1)
        AND ended IS NULL AND died IS NULL
      """,
      [.timestamp(now), .optional(heard) { .timestamp($0) }, .integer(node ?? 0)]) > 0
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

  /// Whether a run may have taken counts of the grant with it: it died within ``grace``, and the grant was there. A node's may have only
  /// where nodes had sent something for the grant, or the grant is of its ``lastMinute``: a device goes on at any node, perhaps for the
  /// first time at the one that died.
  package static func mayHaveLostCounts(
    of grant: Int64, made created: Timestamp, at now: Timestamp, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.first(
      """
      SELECT 1 AS one FROM runs WHERE died IS NOT NULL AND died >= ?
        AND (node IS NULL OR heard IS NULL OR heard <= ?
          OR EXISTS (SELECT 1 FROM delivered_bytes WHERE grant_number = ?))
      LIMIT 1
      """,
      [.timestamp(max(created, now - grace)), .timestamp(created + lastMinute), .integer(grant)]) != nil
  }
}
