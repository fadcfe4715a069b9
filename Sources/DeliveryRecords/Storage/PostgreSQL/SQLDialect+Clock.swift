package import CoreTypes
package import Database

extension SQLDialect {
  /// Returns the time by PostgreSQL's own clock, at which all nodes look: not when the transaction began, but now. Throws
  /// ``DatabaseError``.
  package static func serverTime(in connection: borrowing Connection) throws -> Timestamp {
    let row = try connection.first(
      "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) AS now")
    guard let row else { preconditionFailure("a clock answers") }
    return try row.timestamp("now")
  }
}
