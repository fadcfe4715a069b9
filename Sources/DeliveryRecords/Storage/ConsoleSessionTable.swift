package import CoreTypes
package import Crypto
package import Database

/// The sessions of operators in a browser. Its functions run in the caller's transaction, throw ``DatabaseError``, and need no lock:
/// each statement decides by itself.
package enum ConsoleSessionTable {
  /// How long a session counts from its beginning.
  package static let lifetime: Duration = .seconds(12 * 3600)
  /// How long it counts from its last use.
  package static let patience: Duration = .seconds(30 * 60)

  /// A row.
  package struct Session: Hashable, Sendable {
    /// The SHA-256 of the secret that the browser has.
    package var digest: SHA256Digest
    /// The SHA-256 of the operator key that it was begun with.
    package var key: SHA256Digest
    /// The language of its pages, as a tag of BCP 47.
    package var language: String
    /// When it was begun.
    package var created: Timestamp
    /// When it was last used, to the minute.
    package var used: Timestamp

    package init(
      digest: SHA256Digest, key: SHA256Digest, language: String, created: Timestamp, used: Timestamp
    ) {
      self.digest = digest
      self.key = key
      self.language = language
      self.created = created
      self.used = used
    }
  }

  /// Adds a session, whose digest no other one has.
  package static func add(_ session: Session, in connection: borrowing Connection) throws {
    try connection.execute(
      "INSERT INTO console_sessions (digest, key_digest, language, created, used) VALUES (?, ?, ?, ?, ?)",
      [
        .digest(session.digest), .digest(session.key), .text(session.language), .timestamp(session.created),
        .timestamp(session.used),
      ])
  }

  /// The session of that digest; nil without one.
  package static func find(_ digest: SHA256Digest, in connection: borrowing Connection) throws -> Session? {
    try connection.first(
      "SELECT key_digest, language, created, used FROM console_sessions WHERE digest = ?", [.digest(digest)]
    ).map { row in
      Session(
        digest: digest, key: try row.digest("key_digest"), language: try row.text("language"),
        created: try row.timestamp("created"), used: try row.timestamp("used"))
    }
  }

  /// Notes that the session was used then, unless it was used later.
  package static func touch(
    _ digest: SHA256Digest, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "UPDATE console_sessions SET used = ? WHERE digest = ? AND used < ?",
      [.timestamp(now), .digest(digest), .timestamp(now)])
  }

  /// Shows the session's pages in another language from now on.
  package static func speak(
    _ language: String, _ digest: SHA256Digest, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "UPDATE console_sessions SET language = ? WHERE digest = ?", [.text(language), .digest(digest)])
  }

  /// Ends the session.
  package static func remove(_ digest: SHA256Digest, in connection: borrowing Connection) throws {
    try connection.execute("DELETE FROM console_sessions WHERE digest = ?", [.digest(digest)])
  }

  /// Removes sessions that were begun or used too long ago, at most `limit` of each; whether there may be more.
  package static func forget(
    createdBefore oldest: Timestamp, usedBefore idle: Timestamp, limit: Int,
    in connection: borrowing Connection
  ) throws -> Bool {
    let old = try connection.execute(
      """
      DELETE FROM console_sessions WHERE digest IN (
        SELECT digest FROM console_sessions WHERE created < ? ORDER BY created LIMIT ?)
      """, [.timestamp(oldest), .integer(limit)])
    let unused = try connection.execute(
      """
      DELETE FROM console_sessions WHERE digest IN (
        SELECT digest FROM console_sessions WHERE used < ? ORDER BY used LIMIT ?) AND used < ?
      """, [.timestamp(idle), .integer(limit), .timestamp(idle)])
    return old == limit || unused == limit
  }
}
