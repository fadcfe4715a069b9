package import CoreTypes
package import Database

/// The ticket keys of servers that share the database. Its functions run in the caller's transaction and throw ``DatabaseError``.
package enum TicketKeyTable {
  /// A row.
  package struct Key: Hashable, Sendable {
    /// The number by which tickets name it.
    package var id: UInt32
    /// The key itself. It goes into no log and no answer.
    package var secret: [UInt8]
    /// From when tickets are sealed with it; before, it opens those of other nodes.
    package var seals: Timestamp
    /// From when the next newer one seals.
    package var retired: Timestamp?

    package init(id: UInt32, secret: [UInt8], seals: Timestamp, retired: Timestamp? = nil) {
      self.id = id
      self.secret = secret
      self.seals = seals
      self.retired = retired
    }
  }

  /// Returns all keys, newest first.
  package static func all(in connection: borrowing Connection) throws -> [Key] {
    try connection.query("SELECT id, secret, seals, retired FROM ticket_keys ORDER BY id DESC").map { row in
      Key(
        id: UInt32(clamping: try row.integer("id")), secret: try row.blob("secret"),
        seals: try row.timestamp("seals"), retired: try row.optionalTimestamp("retired"))
    }
  }

  /// Adds a key, unless there is one of its number.
  package static func add(_ key: Key, in connection: borrowing Connection) throws {
    try connection.execute(
      "INSERT INTO ticket_keys (id, secret, seals, retired) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
      [
        .integer(Int64(key.id)), .blob(key.secret), .timestamp(key.seals),
        .optional(key.retired) { .timestamp($0) },
      ])
    try connection.noteChange(of: .keys)
  }

  /// The newest key seals until then.
  package static func retire(at moment: Timestamp, in connection: borrowing Connection) throws {
    try connection.execute(
      """
      UPDATE ticket_keys SET retired = ?
      WHERE id = (SELECT max(id) FROM ticket_keys) AND retired IS NULL
      """, [.timestamp(moment)])
  }

  /// Removes the keys that servers which shared the database have left: the only server of a file has others.
  package static func removeAll(in connection: borrowing Connection) throws {
    try connection.execute("DELETE FROM ticket_keys")
  }

  /// Removes the keys of which no ticket can be good any more.
  package static func forget(retiredBefore cutoff: Timestamp, in connection: borrowing Connection) throws {
    try connection.execute("DELETE FROM ticket_keys WHERE retired < ?", [.timestamp(cutoff)])
  }
}

extension ChangeTopic {
  /// The ticket keys.
  package static let keys = ChangeTopic("keys")
}
