import Commerce
import CoreTypes
import Database

/// The devices that could not verify a version, each once, since it was released.
enum VerificationFailureTable {
  /// Whether it is news.
  static func note(
    _ grant: GrantRecord, at now: Timestamp, in connection: borrowing Connection
  ) throws -> Bool {
    let values: [SQLValue] = [
      .identifier(grant.product), .identifier(grant.version), .identifier(grant.device),
    ]
    let known = try connection.first(
      "SELECT 1 FROM verification_failures WHERE product = ? AND version = ? AND device = ?", values)
    guard known == nil else { return false }
    try connection.execute(
      "INSERT INTO verification_failures (product, version, device, at) VALUES (?, ?, ?, ?)",
      values + [.timestamp(now)])
    return true
  }

  /// Without the devices that placed it after all.
  static func count(
    of product: ProductIdentifier, _ version: ContentVersion, in connection: borrowing Connection
  ) throws -> Int {
    let row = try connection.first(
      """
      SELECT count(*) AS count FROM verification_failures AS failed WHERE product = ? AND version = ?
        AND NOT EXISTS (
          SELECT 1 FROM grants WHERE grants.device = failed.device AND grants.product = failed.product
            AND grants.version = failed.version AND state IN ('completed', 'finished'))
      """, [.identifier(product), .identifier(version)])
    return Int(try row?.integer("count") ?? 0)
  }

  /// Grants of the version whose devices placed it, `limit` at most.
  static func verified(
    of product: ProductIdentifier, _ version: ContentVersion, limit: Int, in connection: borrowing Connection
  ) throws -> Int {
    let row = try connection.first(
      """
      SELECT count(*) AS count FROM (
        SELECT 1 FROM grants \(SQLDialect.index("grants_by_version"))
        WHERE product = ? AND version = ? AND state IN ('completed', 'finished') LIMIT ?) AS placed
      """, [.identifier(product), .identifier(version), .integer(limit)])
    return Int(try row?.integer("count") ?? 0)
  }

  /// For a release that begins anew.
  static func forget(
    _ product: ProductIdentifier, _ version: ContentVersion, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "DELETE FROM verification_failures WHERE product = ? AND version = ?",
      [.identifier(product), .identifier(version)])
  }
}
