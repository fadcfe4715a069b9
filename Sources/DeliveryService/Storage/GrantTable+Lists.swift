import Commerce
import CoreTypes
import Database
import PullboxAPI

/// Grants as operators list them.
extension GrantTable {
  /// How many grants there are in each state; those that are revoked count as `revoked` alone.
  static func countsByState(in connection: borrowing Connection) throws -> [(state: String, count: Int64)] {
    try connection.query(
      """
      SELECT CASE WHEN revoked_by IS NULL THEN state ELSE 'revoked' END AS name, count(*) AS grants
      FROM grants GROUP BY name ORDER BY name
      """
    ).map { (try $0.text("name"), try $0.integer("grants")) }
  }

  /// At most `limit` grants, newest first, older than the one that `after` names.
  static func page(
    after: GrantShortName?, matching filter: GrantFilter, limit: Int, in connection: borrowing Connection
  ) throws -> [GrantRecord] {
    var conditions: [String] = []
    var values: [SQLValue] = []
    if let after {
      let bounds = DeliveryHandle.bounds(of: after)
      conditions.append(
        "(created, id) < (SELECT created, id FROM grants WHERE handle BETWEEN ? AND ? ORDER BY handle LIMIT 1)"
      )
      values += [.handle(bounds.first), .handle(bounds.last)]
    }
    for (text, value) in filter.granted.conditions(on: "created") {
      conditions.append(text)
      values.append(value)
    }
    for (column, value) in filter.columns {
      conditions.append("\(column) = ?")
      values.append(.text(value))
    }
    if let version = filter.version {
      // Grants spell a version as its product does, which another product may do in another way.
      conditions.append("version IN (SELECT version FROM versions WHERE ordering = ?)")
      values.append(.text(version.orderingKey))
    }
    switch filter.state {
    case .revoked: conditions.append("revoked_by IS NOT NULL")
    case let state?:
      conditions.append("state = ?")
      values.append(.choice(state))
    case nil: break
    }
    let clause = conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ")
    return try connection.query(
      """
      SELECT * FROM grants INDEXED BY \(index(for: filter)) \(clause) ORDER BY created DESC, id DESC LIMIT ?
      """, values + [.integer(limit)]
    ).map(record)
  }

  /// The index that leaves the fewest grants to look at: those of a transaction or a device are few, and
  /// revoked ones are fewer than those of a product may be.
  private static func index(for filter: GrantFilter) -> String {
    if filter.transaction != nil { return "grants_by_transaction" }
    if filter.device != nil { return "grants_by_device" }
    if filter.state == .revoked { return "grants_revoked" }
    if filter.product != nil { return "grants_by_product" }
    return filter.state == nil ? "grants_by_age" : "grants_by_state"
  }

  /// At most `limit` devices behind `after`, by name, each with the version of the product that it last
  /// reported as placed and that was not taken back from it.
  static func holders(
    of product: ProductIdentifier, after: String, limit: Int, in connection: borrowing Connection
  ) throws -> [(device: DeviceIdentifier, version: ContentVersion)] {
    // SQLite takes the other columns from the row that has the maximum.
    try connection.query(
      """
      SELECT device, version, max(placed) AS placed FROM grants
      WHERE product = ? AND placed IS NOT NULL AND revoked_by IS NULL AND device > ?
      GROUP BY device ORDER BY device LIMIT ?
      """, [.identifier(product), .text(after), .integer(limit)]
    ).map { (try $0.identifier("device"), try $0.identifier("version")) }
  }
}
