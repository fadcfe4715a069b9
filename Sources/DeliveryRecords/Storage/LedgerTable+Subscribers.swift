package import Commerce
package import CoreTypes
package import Database

/// The subscribers of a publication, by what was paid and not given back.
extension LedgerTable {
  /// Customers for whom a subscription to the publication runs at `now`, and did a second before, and none ran at `moment`. Only
  /// periods count whose ends their stores tell.
  package static func subscribers(
    to publication: ProductIdentifier, at now: Timestamp, butNotAt moment: Timestamp,
    in connection: borrowing Connection
  ) throws -> [CustomerIdentifier] {
    try connection.query(
      """
      SELECT DISTINCT customer FROM transactions \(SQLDialect.index("transactions_by_end"))
      WHERE expires > ? AND purchased <= ? AND purchased > ? AND revoked IS NULL AND customer IS NOT NULL
        AND product IN (SELECT id FROM products WHERE publication = ? AND \(isSubscription))
        AND NOT EXISTS (
          SELECT 1 FROM transactions AS earlier \(SQLDialect.index("transactions_by_customer"))
          WHERE earlier.customer = transactions.customer AND earlier.purchased <= ? AND earlier.expires > ?
            AND earlier.revoked IS NULL AND earlier.product IN (SELECT id FROM products WHERE publication = ? AND \(isSubscription)))
      """,
      [
        .timestamp(now), .timestamp(now - .seconds(1)), .timestamp(moment), .identifier(publication),
        .timestamp(moment), .timestamp(moment), .identifier(publication),
      ]
    ).map { try $0.customer("customer") }
  }

  /// Customers who paid, after `moment` and a second before `now` at the latest, for a subscription to the publication of whose end
  /// their stores tell nothing. Others for whom one runs at `now` had one at `moment` too: each period follows the one before.
  package static func payersWithoutEnd(
    to publication: ProductIdentifier, after moment: Timestamp, until now: Timestamp,
    in connection: borrowing Connection
  ) throws -> [CustomerIdentifier] {
    try connection.query(
      """
      SELECT DISTINCT customer FROM transactions \(SQLDialect.index("transactions_by_purchase"))
      WHERE purchased > ? AND purchased <= ? AND expires IS NULL AND revoked IS NULL AND customer IS NOT NULL
        AND product IN (SELECT id FROM products WHERE publication = ? AND \(isSubscription))
      """, [.timestamp(moment), .timestamp(now - .seconds(1)), .identifier(publication)]
    ).map { try $0.customer("customer") }
  }

  private static let isSubscription =
    "type IN ('auto-renewable-subscription', 'non-renewing-subscription', 'free-subscription')"
}
