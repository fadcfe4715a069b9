package import Commerce
package import CoreTypes
package import Database
package import DeliveryModel

/// The subscribers of a publication, by what was paid and not given back. They are found in pages, each of which looks at so many
/// payments at most, be they of subscribers or not: payments without a period are all purchases of single products, too.
extension LedgerTable {
  /// Where a walk over payments has come to, in the order of an index of a date: the row that was looked at last.
  package struct PaymentPlace: Hashable, Sendable {
    /// The date of the row, by which the walk goes.
    var date: Timestamp
    var store = ""
    var environment = ""
    var transaction = ""

    /// The first place behind all payments of that date.
    fileprivate static func behind(_ date: Timestamp) -> PaymentPlace {
      PaymentPlace(date: date + .milliseconds(1))
    }

    fileprivate var values: [SQLValue] {
      [.timestamp(date), .text(store), .text(environment), .text(transaction)]
    }
  }

  /// The customers whom some payments in a row are of.
  package struct PayerPage: Hashable, Sendable {
    /// Each is there once. Another page may have the same.
    package var customers: Set<CustomerIdentifier>
    /// Where the next page begins; nil behind the last payment.
    package var next: PaymentPlace?
  }

  /// Customers for whom a subscription to the publication runs at `now`, and did a second before, and none ran at `moment`. Only
  /// periods count whose ends their stores tell.
  ///
  /// - Parameters:
  ///   - place: where the page before ended; nil for the first.
  ///   - limit: how many payments are looked at: those that run at `now`.
  package static func subscribers(
    to publication: ProductIdentifier, at now: Timestamp, butNotAt moment: Timestamp,
    after place: PaymentPlace? = nil, limit: Int, in connection: borrowing Connection
  ) throws -> PayerPage {
    try page(
      try connection.query(
        """
        SELECT customer, expires AS date, store, environment, transaction_id,
          CASE WHEN purchased <= ? AND purchased > ? AND revoked IS NULL AND customer IS NOT NULL
            AND product IN (SELECT id FROM products WHERE publication = ? AND \(isSubscription))
            AND NOT EXISTS (
              SELECT 1 FROM transactions AS earlier \(SQLDialect.index("transactions_by_customer"))
              WHERE earlier.customer = transactions.customer AND earlier.purchased <= ? AND earlier.expires > ?
                AND earlier.revoked IS NULL
                AND earlier.product IN (SELECT id FROM products WHERE publication = ? AND \(isSubscription)))
          THEN 1 ELSE 0 END AS counts
        FROM transactions \(SQLDialect.index("transactions_by_end"))
        WHERE expires IS NOT NULL AND (expires, store, environment, transaction_id) > (?, ?, ?, ?)
        ORDER BY expires, store, environment, transaction_id LIMIT ?
        """,
        [
          .timestamp(now - .seconds(1)), .timestamp(moment), .identifier(publication),
          .timestamp(moment), .timestamp(moment), .identifier(publication),
        ] + (place ?? .behind(now)).values + [.integer(limit)]),
      limit: limit)
  }

  /// Customers who paid, after `moment` and a second before `now` at the latest, for a subscription to the publication of whose end
  /// their stores tell nothing. Others for whom one runs at `now` had one at `moment` too: each period follows the one before.
  ///
  /// - Parameters:
  ///   - place: where the page before ended; nil for the first.
  ///   - limit: how many payments are looked at: all that were made in that time.
  package static func payersWithoutEnd(
    to publication: ProductIdentifier, after moment: Timestamp, until now: Timestamp,
    after place: PaymentPlace? = nil, limit: Int, in connection: borrowing Connection
  ) throws -> PayerPage {
    try page(
      try connection.query(
        """
        SELECT customer, purchased AS date, store, environment, transaction_id,
          CASE WHEN expires IS NULL AND revoked IS NULL AND customer IS NOT NULL
            AND product IN (SELECT id FROM products WHERE publication = ? AND \(isSubscription))
          THEN 1 ELSE 0 END AS counts
        FROM transactions \(SQLDialect.index("transactions_by_purchase"))
        WHERE purchased IS NOT NULL AND (purchased, store, environment, transaction_id) > (?, ?, ?, ?)
          AND purchased <= ?
        ORDER BY purchased, store, environment, transaction_id LIMIT ?
        """,
        [.identifier(publication)] + (place ?? .behind(moment)).values
          + [.timestamp(now - .seconds(1)), .integer(limit)]),
      limit: limit)
  }

  /// Reads the payments that were looked at. Fewer than `limit` are the last.
  private static func page(_ rows: [Row], limit: Int) throws -> PayerPage {
    var page = PayerPage(customers: [])
    for row in rows where try row.integer("counts") == 1 {
      page.customers.insert(try row.customer("customer"))
    }
    guard rows.count == limit, let last = rows.last else { return page }
    page.next = PaymentPlace(
      date: try last.timestamp("date"), store: try last.text("store"),
      environment: try last.text("environment"),
      transaction: try last.text("transaction_id"))
    return page
  }

  private static let isSubscription =
    "type IN ('auto-renewable-subscription', 'non-renewing-subscription', 'free-subscription')"
}
