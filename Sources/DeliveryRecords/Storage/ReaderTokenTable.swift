package import CoreTypes
package import Crypto
package import Database

/// A code that an application may exchange once for a token.
package struct ReaderCode: Sendable {
  /// The name of the key that was shown for it.
  package var name: String
  /// The SHA-256 of the code.
  package var digest: SHA256Digest
  /// The SHA-256 of the verifier that only the application knows.
  package var challenge: SHA256Digest
  /// The SHA-256 of what the code was asked with: the client, and the address to which it was sent.
  package var request: SHA256Digest
  package var expires: Timestamp

  package init(
    name: String, digest: SHA256Digest, challenge: SHA256Digest, request: SHA256Digest, expires: Timestamp
  ) {
    self.name = name
    self.digest = digest
    self.challenge = challenge
    self.request = request
    self.expires = expires
  }
}

/// The codes and the tokens that stand for readers' keys. Its functions run in the caller's transaction and throw ``DatabaseError``; those
/// that write run in a write that has locked the key's customer.
package enum ReaderTokenTable {
  /// Tokens of one key, at most: the latest.
  package static let maximumCount = 20

  /// Writes a code down in place of the key's last one.
  package static func put(_ code: ReaderCode, in connection: borrowing Connection) throws {
    try connection.execute(
      """
      INSERT INTO reader_codes (name, digest, challenge, request, expires) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (name) DO UPDATE SET digest = excluded.digest, challenge = excluded.challenge,
        request = excluded.request, expires = excluded.expires
      """,
      [
        .text(code.name), .digest(code.digest), .digest(code.challenge), .digest(code.request),
        .timestamp(code.expires),
      ])
  }

  /// Takes a code out; nil where it is not the key's last one, or was taken before.
  package static func take(
    _ digest: SHA256Digest, of name: String, in connection: borrowing Connection
  ) throws -> ReaderCode? {
    let code = try connection.first(
      "SELECT challenge, request, expires FROM reader_codes WHERE name = ? AND digest = ?",
      [.text(name), .digest(digest)]
    ).map { row in
      ReaderCode(
        name: name, digest: digest, challenge: try row.digest("challenge"),
        request: try row.digest("request"), expires: try row.timestamp("expires"))
    }
    guard let code else { return nil }
    try connection.execute("DELETE FROM reader_codes WHERE name = ?", [.text(name)])
    return code
  }

  /// Writes a token down that was given for a code. Of more than ``maximumCount`` the oldest goes, and never this one, whatever the clock
  /// says.
  package static func insert(
    _ token: SHA256Digest, for code: ReaderCode, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      """
      DELETE FROM reader_tokens WHERE name = ? AND digest NOT IN (
        SELECT digest FROM reader_tokens \(SQLDialect.index("reader_tokens_by_name"))
        WHERE name = ? ORDER BY created DESC, digest DESC LIMIT ?)
      """, [.text(code.name), .text(code.name), .integer(maximumCount - 1)])
    try connection.execute(
      "INSERT INTO reader_tokens (digest, name, code, created) VALUES (?, ?, ?, ?)",
      [.digest(token), .text(code.name), .digest(code.digest), .timestamp(now)])
  }

  /// Whether the code is the key's last one, or one that a token was given for.
  package static func knows(
    code: SHA256Digest, of name: String, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.first(
      """
      SELECT 1 FROM reader_codes WHERE name = ? AND digest = ?
      UNION ALL SELECT 1 FROM reader_tokens WHERE name = ? AND code = ?
      """, [.text(name), .digest(code), .text(name), .digest(code)]) != nil
  }

  /// Whether the token is one of the key's.
  package static func contains(
    _ token: SHA256Digest, of name: String, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.first(
      "SELECT 1 FROM reader_tokens WHERE digest = ? AND name = ?", [.digest(token), .text(name)]) != nil
  }

  /// Ends the tokens that were given for a code which is shown again; how many there were.
  package static func remove(
    givenFor code: SHA256Digest, of name: String, in connection: borrowing Connection
  ) throws -> Int {
    try connection.execute(
      "DELETE FROM reader_tokens WHERE name = ? AND code = ?", [.text(name), .digest(code)])
  }

  /// The key has ended.
  static func removeAll(of name: String, in connection: borrowing Connection) throws {
    try connection.execute("DELETE FROM reader_codes WHERE name = ?", [.text(name)])
    try connection.execute("DELETE FROM reader_tokens WHERE name = ?", [.text(name)])
  }
}
