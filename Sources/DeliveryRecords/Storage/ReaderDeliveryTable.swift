package import Commerce
package import CoreTypes
package import Database
package import DeliveryModel
import PullboxAPI
package import ServiceAPI

/// The record of what was sent to applications for reading, of the grants that their keys have. Its functions run in the caller's
/// transaction and throw ``DatabaseError`` and ``ColumnTypeMismatch``.
package enum ReaderDeliveryTable {
  /// The product's deliveries to the keys of a customer, the newest first, `limit` at most. `customer` may be a name from before it was
  /// found to be another's.
  ///
  /// - Parameters:
  ///   - moment: grants from after it are left out.
  ///   - unrecorded: the bytes that were sent for a grant and are not written down yet.
  package static func all(
    of product: ProductIdentifier, to customer: CustomerIdentifier, until moment: Timestamp, limit: Int,
    counting unrecorded: (DeliveryHandle) -> ByteCount, in connection: borrowing Connection
  ) throws -> [ExplanationResponse.ReaderDelivery] {
    try connection.query(
      """
      SELECT grants.handle, grants.device, grants.version, grants.created, reader_keys.name AS name, reader_keys.title AS title,
        (SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM delivered_bytes
          WHERE grant_number = grants.number) AS bytes,
        (SELECT nullif(max(last), 0) FROM delivered_bytes WHERE grant_number = grants.number) AS last
      FROM transactions \(SQLDialect.index("transactions_by_customer"))
      JOIN grants ON grants.store = transactions.store AND grants.environment = transactions.environment
        AND grants.transaction_id = transactions.transaction_id
      LEFT JOIN reader_keys ON reader_keys.customer = transactions.customer AND reader_keys.device = grants.device
      WHERE transactions.customer = ? AND grants.product = ? AND grants.state IN ('reading', 'revoked/reading')
        AND grants.created <= ?
      ORDER BY grants.number DESC LIMIT ?
      """,
      [
        .customer(try CustomerTable.current(customer, in: connection)), .identifier(product),
        .timestamp(moment), .integer(limit),
      ]
    ).map { row in
      let waiting = unrecorded(try row.handle("handle"))
      return ExplanationResponse.ReaderDelivery(
        device: try row.identifier("device"), name: try row.optionalText("name"),
        title: try row.optionalText("title"), version: try row.identifier("version"),
        bytesDelivered: try row.byteCount("bytes") + waiting, created: try row.timestamp("created"),
        lastSent: try row.optionalTimestamp("last"))
    }
  }
}
