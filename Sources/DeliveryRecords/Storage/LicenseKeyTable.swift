package import CoreTypes
package import Crypto
package import Database

/// The keys that licenses are signed with. Its functions run in the caller's transaction and throw ``DatabaseError``.
package enum LicenseKeyTable {
  /// Keys that are read, the newest.
  package static let maximumKeys = 100

  /// A row.
  package struct Key: Sendable {
    /// From 1.
    package var number: Int
    /// The public half.
    package var publicKey: VerificationKey
    /// Nil once no license is signed with it any more. It goes into no log and no answer.
    package var secret: SigningKey?
    /// From when licenses are signed with it.
    package var seals: Timestamp
    /// The word of the key before it; nil of the first.
    package var endorsement: String?

    package init(number: Int, key: SigningKey, seals: Timestamp, endorsement: String? = nil) {
      self.init(
        number: number, publicKey: key.verificationKey, secret: key, seals: seals, endorsement: endorsement)
    }

    init(
      number: Int, publicKey: VerificationKey, secret: SigningKey?, seals: Timestamp, endorsement: String?
    ) {
      self.number = number
      self.publicKey = publicKey
      self.secret = secret
      self.seals = seals
      self.endorsement = endorsement
    }
  }

  /// Returns the keys, newest first. Throws ``ColumnTypeMismatch`` too.
  package static func all(in connection: borrowing Connection) throws -> [Key] {
    try connection.query(
      """
      SELECT number, public_key, secret, seals, endorsement FROM license_keys ORDER BY number DESC LIMIT ?
      """, [.integer(Int64(maximumKeys))]
    ).compactMap { row in
      guard let publicKey = VerificationKey(try row.blob("public_key")) else { return nil }
      return Key(
        number: Int(clamping: try row.integer("number")), publicKey: publicKey,
        secret: try row.optionalBlob("secret").flatMap { SigningKey(seed: $0) },
        seals: try row.timestamp("seals"), endorsement: try row.optionalText("endorsement"))
    }
  }

  /// Adds a key, unless there is one of its number.
  package static func add(_ key: Key, in connection: borrowing Connection) throws {
    try connection.execute(
      """
      INSERT INTO license_keys (number, public_key, secret, seals, endorsement) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT DO NOTHING
      """,
      [
        .integer(Int64(key.number)), .blob(key.publicKey.bytes), .optional(key.secret) { .blob($0.seed) },
        .timestamp(key.seals), .optional(key.endorsement),
      ])
  }

  /// Forgets the secrets of the keys before that number.
  package static func forgetSecrets(before number: Int, in connection: borrowing Connection) throws {
    try connection.execute(
      "UPDATE license_keys SET secret = NULL WHERE number < ? AND secret IS NOT NULL",
      [.integer(Int64(number))])
  }
}
