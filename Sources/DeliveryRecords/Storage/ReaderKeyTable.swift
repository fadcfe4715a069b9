package import Commerce
package import CoreTypes
package import Crypto
package import Database
package import DeliveryModel

/// A key by which an application for reading shows that its customer owns something. It opens what the customer owns, as long as it is
/// there; the customer has a device for it.
package struct ReaderKey: Sendable {
  /// The name under which the application signs in.
  package var name: String
  /// The customer whose purchases it opens.
  package var customer: CustomerIdentifier
  /// The device of the customer's that it counts as.
  package var device: DeviceIdentifier
  /// The customer's name for it: `Tablet`.
  package var title: String
  /// The SHA-256 of the password.
  package var digest: SHA256Digest
  /// The SHA-256 of the password's MD5, which is all that KOReader shows; nil of a key that was made before there was one.
  package var syncDigest: SHA256Digest?
  /// The territory whose prices it is shown.
  package var territory: Territory?
  /// The language in which it is shown them, a BCP 47 tag.
  package var locale: String?
  package var created: Timestamp
  /// When it was shown last, to an hour; nil where it never was.
  package var used: Timestamp?
  /// Counts up with each change of what the customer's transactions say.
  package var changes: Int64 = 0

  package init(
    name: String, customer: CustomerIdentifier, device: DeviceIdentifier, title: String,
    digest: SHA256Digest, syncDigest: SHA256Digest? = nil, territory: Territory?, locale: String?,
    created: Timestamp, used: Timestamp? = nil
  ) {
    self.name = name
    self.customer = customer
    self.device = device
    self.title = title
    self.digest = digest
    self.syncDigest = syncDigest
    self.territory = territory
    self.locale = locale
    self.created = created
    self.used = used
  }
}

/// The keys of applications for reading. Its functions run in the caller's transaction and throw ``DatabaseError``.
package enum ReaderKeyTable {
  /// A key that is shown again within this time is not written down again.
  package static let freshness: Duration = .seconds(3600)

  private static let columns =
    "name, customer, device, title, digest, territory, locale, created, used, sync_digest, changes"

  /// Adds a key whose name no other has. Runs in a write that has locked the customer.
  package static func insert(_ key: ReaderKey, in connection: borrowing Connection) throws {
    try connection.execute(
      """
      INSERT INTO reader_keys (name, customer, device, title, digest, territory, locale, created, sync_digest)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(key.name), .customer(key.customer), .identifier(key.device), .text(key.title),
        .digest(key.digest), .optional(key.territory?.code), .optional(key.locale), .timestamp(key.created),
        .optional(key.syncDigest?.array),
      ])
  }

  /// Nil for a name that no key has.
  package static func find(_ name: String, in connection: borrowing Connection) throws -> ReaderKey? {
    try connection.first("SELECT \(columns) FROM reader_keys WHERE name = ?", [.text(name)]).map(key)
  }

  /// The customer's keys, the oldest first, `limit` at most.
  package static func all(
    of customer: CustomerIdentifier, limit: Int, in connection: borrowing Connection
  ) throws -> [ReaderKey] {
    try connection.query(
      """
      SELECT \(columns) FROM reader_keys \(SQLDialect.index("reader_keys_by_customer"))
      WHERE customer = ? ORDER BY created, name LIMIT ?
      """, [.customer(customer), .integer(limit)]
    ).map(key)
  }

  /// Ends a key of the customer's; false where the customer has none of that name. The device has no place any more. Runs in a write that
  /// has locked the customer.
  package static func remove(
    _ name: String, of customer: CustomerIdentifier, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.execute(
      """
      DELETE FROM customer_devices WHERE customer = ? AND device IN (
        SELECT device FROM reader_keys WHERE name = ? AND customer = ?)
      """, [.customer(customer), .text(name), .customer(customer)])
    let isRemoved =
      try connection.execute(
        "DELETE FROM reader_keys WHERE name = ? AND customer = ?", [.text(name), .customer(customer)]) > 0
    if isRemoved { try ReaderTokenTable.removeAll(of: name, in: connection) }
    return isRemoved
  }

  /// The key was shown.
  package static func note(
    _ name: String, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "UPDATE reader_keys SET used = ? WHERE name = ? AND (used IS NULL OR used <= ?)",
      [.timestamp(now), .text(name), .timestamp(now - freshness)])
  }

  private static func key(_ row: borrowing Row) throws -> ReaderKey {
    var key = ReaderKey(
      name: try row.text("name"), customer: try row.customer("customer"),
      device: try row.identifier("device"), title: try row.text("title"), digest: try row.digest("digest"),
      syncDigest: try row.optionalDigest("sync_digest"),
      territory: try row.optionalText("territory").flatMap { Territory($0) },
      locale: try row.optionalText("locale"), created: try row.timestamp("created"),
      used: try row.optionalTimestamp("used"))
    key.changes = try row.integer("changes")
    return key
  }
}
