package import Commerce
package import CoreTypes
package import Database
package import DeliveryModel

/// The devices that could not verify a version, each once, since it was released. Its functions run in the
/// caller's transaction and throw ``DatabaseError``.
package enum VerificationFailureTable {
  /// Once for each device.
  package static func note(
    _ grant: GrantRecord, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      """
      INSERT INTO verification_failures (product, version, device, at) VALUES (?, ?, ?, ?)
      ON CONFLICT DO NOTHING
      """, values(of: grant) + [.timestamp(now)])
  }

  /// Whether the grant's device has reported the version.
  package static func contains(_ grant: GrantRecord, in connection: borrowing Connection) throws -> Bool {
    try connection.first(
      "SELECT 1 FROM verification_failures WHERE product = ? AND version = ? AND device = ?",
      values(of: grant)) != nil
  }

  private static func values(of grant: GrantRecord) -> [SQLValue] {
    [.identifier(grant.product), .identifier(grant.version), .identifier(grant.device)]
  }

  /// Purchases of which a device could not verify the version, and none placed it.
  package static func failed(
    of product: ProductIdentifier, _ version: ContentVersion, in connection: borrowing Connection
  ) throws -> Int {
    let row = try connection.first(
      """
      SELECT count(*) AS count FROM (
        SELECT DISTINCT grants.store, grants.environment, grants.transaction_id
        FROM verification_failures AS failed JOIN grants \(SQLDialect.index("grants_by_device"))
          ON grants.device = failed.device AND grants.product = failed.product
            AND grants.version = failed.version
        WHERE failed.product = ? AND failed.version = ? AND NOT EXISTS (
          SELECT 1 FROM grants AS placed WHERE placed.transaction_id = grants.transaction_id
            AND placed.store = grants.store AND placed.environment = grants.environment
            AND placed.product = failed.product AND placed.version = failed.version
            AND placed.state IN ('completed', 'finished'))) AS purchases
      """, [.identifier(product), .identifier(version)])
    return Int(try row?.integer("count") ?? 0)
  }

  /// Purchases of which a device placed the version, `limit` at most.
  package static func verified(
    of product: ProductIdentifier, _ version: ContentVersion, limit: Int, in connection: borrowing Connection
  ) throws -> Int {
    let row = try connection.first(
      """
      SELECT count(*) AS count FROM (
        SELECT DISTINCT store, environment, transaction_id
        FROM grants \(SQLDialect.index("grants_by_version"))
        WHERE product = ? AND version = ? AND state IN ('completed', 'finished') LIMIT ?) AS placed
      """, [.identifier(product), .identifier(version), .integer(limit)])
    return Int(try row?.integer("count") ?? 0)
  }

  /// For a release that begins anew.
  package static func forget(
    _ product: ProductIdentifier, _ version: ContentVersion, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "DELETE FROM verification_failures WHERE product = ? AND version = ?",
      [.identifier(product), .identifier(version)])
  }
}
