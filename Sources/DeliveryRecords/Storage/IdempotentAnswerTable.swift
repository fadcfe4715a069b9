package import CoreTypes
package import Crypto
package import Database
package import DeliveryModel

/// The rows of answers that a repeated request gets again. Its functions run in the caller's transaction and
/// throw ``DatabaseError``.
package enum IdempotentAnswerTable {
  /// An answer, and what it was the answer to.
  package struct Entry: Sendable {
    /// The SHA-256 of the request, by which another one with the same key is told apart.
    package var fingerprint: SHA256Digest
    /// The HTTP status code.
    package var status: Int
    /// The field `Location`; nil for an answer without it.
    package var location: String?
    /// JSON; empty for an answer without content.
    package var body: [UInt8]

    package init(fingerprint: SHA256Digest, status: Int, location: String? = nil, body: [UInt8]) {
      self.fingerprint = fingerprint
      self.status = status
      self.location = location
      self.body = body
    }
  }

  /// The answer to the operator's request with that key, unless it is older than `oldest`.
  package static func find(
    _ key: IdempotencyKey, since oldest: Timestamp, in connection: borrowing Connection
  ) throws -> Entry? {
    try connection.first(
      """
      SELECT fingerprint, status, location, body FROM idempotent_answers WHERE actor = ? AND key = ? AND created >= ?
      """, [.text(key.actor), .text(key.text), .timestamp(oldest)]
    ).map { row in
      Entry(
        fingerprint: try row.digest("fingerprint"),
        status: Int(try row.integer("status")),
        location: try row.optionalText("location"), body: try row.blob("body"))
    }
  }

  /// How many answers the operator's keys have had since `oldest`; `limit` for more than that.
  package static func count(
    of actor: String, since oldest: Timestamp, limit: Int, in connection: borrowing Connection
  ) throws -> Int {
    let row = try connection.first(
      """
      SELECT count(*) AS count FROM (
        SELECT created FROM idempotent_answers WHERE actor = ? AND created >= ? LIMIT ?) AS newest
      """, [.text(actor), .timestamp(oldest), .integer(limit)])
    return Int(try row?.integer("count") ?? 0)
  }

  /// Takes the place of an answer to the same key that has grown old.
  package static func put(
    _ entry: Entry, for key: IdempotencyKey, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      """
      INSERT INTO idempotent_answers (actor, key, fingerprint, status, location, body, created)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (actor, key) DO UPDATE SET
        fingerprint = excluded.fingerprint, status = excluded.status, location = excluded.location,
        body = excluded.body, created = excluded.created
      """,
      [
        .text(key.actor), .text(key.text), .digest(entry.fingerprint), .integer(entry.status),
        .optional(entry.location), .blob(entry.body), .timestamp(now),
      ])
  }

  /// Removes the oldest of those older than `oldest`, at most `limit`; whether there may be more. Needs no lock: one whose
  /// place another answer takes at that moment stays.
  @discardableResult
  package static func remove(
    before oldest: Timestamp, limit: Int, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.execute(
      """
      DELETE FROM idempotent_answers WHERE (actor, key) IN (
        SELECT actor, key FROM idempotent_answers WHERE created < ? ORDER BY created LIMIT ?) AND created < ?
      """, [.timestamp(oldest), .integer(limit), .timestamp(oldest)]) == limit
  }
}
