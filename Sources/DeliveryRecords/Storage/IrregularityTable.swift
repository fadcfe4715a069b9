package import Commerce
package import CoreTypes
import Crypto
package import Database
package import DeliveryModel
import PullboxAPI
package import ServiceAPI

/// Signs that purchases go from hand to hand: each case once, with the date when it was seen last. Its
/// functions run in the caller's transaction and throw ``DatabaseError``.
package enum IrregularityTable {
  /// The columns of a case that lists show.
  private static let columns =
    "id, kind, store, environment, transaction_id, device, first_seen, last_seen, refused"

  /// A case that is seen again within this time is not written down again.
  package static let freshness: Duration = .seconds(3600)

  /// One sign of a case, as it was seen.
  package struct Sighting: Sendable {
    /// The kind of sign, by which cases are counted.
    package var kind: Irregularity.Kind
    /// A purchase by which operators find the rest.
    package var transaction: TransactionKey
    /// The text that makes two sightings one case.
    package var subject: String
    /// The device that showed it last; nil where none is concerned.
    package var device: DeviceIdentifier?
    /// Whether the request was refused for it. A case that was refused once stays so.
    package var wasRefused: Bool

    /// Devices beyond the limit show a customer's proof.
    package static func manyDevices(
      of customer: CustomerIdentifier, _ transaction: TransactionKey, device: DeviceIdentifier
    ) -> Sighting {
      Sighting(
        kind: .manyDevices, transaction: transaction, subject: Hexadecimal.encode(customer.bytes),
        device: device, wasRefused: true)
    }

    /// The account is not written down: its name may be a secret.
    package static func manyPayers(
      for account: ApplicationAccount, _ transaction: TransactionKey, wasRefused: Bool = false
    ) -> Sighting {
      Sighting(
        kind: .manyPayers, transaction: transaction,
        subject: SHA256Digest.of(Array(account.description.utf8)).hexadecimal, wasRefused: wasRefused)
    }

    /// The requests' own word: of another weight than the store's, and a case of its own.
    package static func namedByMany(for account: ApplicationAccount, _ transaction: TransactionKey)
      -> Sighting
    {
      Sighting(
        kind: .namedByMany, transaction: transaction,
        subject: SHA256Digest.of(Array(account.description.utf8)).hexadecimal, wasRefused: false)
    }

    /// A purchase of one account was claimed by another. The case is the purchase.
    package static func otherAccount(
      _ original: TransactionKey, device: DeviceIdentifier, wasRefused: Bool
    ) -> Sighting {
      Sighting(
        kind: .otherAccount, transaction: original, subject: original.id.description, device: device,
        wasRefused: wasRefused)
    }
  }

  /// Writes the case down, with an entry in the audit log the first time.
  package static func note(_ sighting: Sighting, at now: Timestamp, in connection: borrowing Connection)
    throws
  {
    let key: [SQLValue] = [
      .text(sighting.kind.rawValue), .identifier(sighting.transaction.store),
      .choice(sighting.transaction.environment), .text(sighting.subject),
    ]
    let isNew =
      try connection.execute(
        """
        INSERT INTO irregularities (kind, store, environment, subject, transaction_id, device, first_seen, last_seen,
          refused)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (kind, store, environment, subject) DO NOTHING
        """,
        key + [
          .identifier(sighting.transaction.id), .optional(sighting.device, SQLValue.identifier),
          .timestamp(now), .timestamp(now), .boolean(sighting.wasRefused),
        ]) > 0
    guard !isNew else {
      return try AuditTable.add(
        AuditEntry(
          at: now, actor: AuditTable.serverActor, action: "irregularity.found",
          subject: "\(sighting.kind.rawValue) \(sighting.transaction.store) \(sighting.transaction.id)",
          environment: sighting.transaction.environment.rawValue),
        in: connection)
    }
    try connection.execute(
      """
      UPDATE irregularities SET last_seen = ?, refused = CASE refused WHEN 1 THEN 1 ELSE ? END, device = coalesce(?, device)
      WHERE kind = ? AND store = ? AND environment = ? AND subject = ? AND (last_seen <= ? OR refused < ?)
      """,
      [
        .timestamp(now), .boolean(sighting.wasRefused), .optional(sighting.device, SQLValue.identifier),
      ] + key + [.timestamp(now - freshness), .boolean(sighting.wasRefused)])
  }

  /// At most `limit` cases that were found before the row `before`, newest first. `before` is the row of the
  /// last case of the page before; `kind` nil stands for all kinds.
  package static func page(
    before: Int64, kind: Irregularity.Kind?, limit: Int, in connection: borrowing Connection
  ) throws -> [Irregularity] {
    let rows =
      if let kind {
        try connection.query(
          """
          SELECT \(columns) FROM irregularities \(SQLDialect.index("irregularities_by_kind"))
          WHERE kind = ? AND id < ? ORDER BY id DESC LIMIT ?
          """, [.text(kind.rawValue), .integer(before), .integer(limit)])
      } else {
        try connection.query(
          "SELECT \(columns) FROM irregularities WHERE id < ? ORDER BY id DESC LIMIT ?",
          [.integer(before), .integer(limit)])
      }
    return try rows.map { row in
      Irregularity(
        id: try row.integer("id"), kind: try row.choice("kind"), store: try row.text("store"),
        environment: try row.text("environment"), transaction: try row.identifier("transaction_id"),
        device: try row.optionalText("device").flatMap { DeviceIdentifier($0) },
        firstSeen: try row.timestamp("first_seen"), lastSeen: try row.timestamp("last_seen"),
        wasRefused: try row.boolean("refused"))
    }
  }

  /// Whether a page can have ended there.
  package static func exists(_ id: Int64, in connection: borrowing Connection) throws -> Bool {
    try connection.first("SELECT 1 FROM irregularities WHERE id = ?", [.integer(id)]) != nil
  }

  /// Removes some of those that were last seen before `cutoff`; whether there may be more. Needs no lock: one that is
  /// seen at that moment stays.
  package static func forget(
    before cutoff: Timestamp, limit: Int, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.execute(
      """
      DELETE FROM irregularities WHERE id IN (
        SELECT id FROM irregularities WHERE last_seen < ? ORDER BY last_seen LIMIT ?) AND last_seen < ?
      """, [.timestamp(cutoff), .integer(limit), .timestamp(cutoff)]) == limit
  }
}
