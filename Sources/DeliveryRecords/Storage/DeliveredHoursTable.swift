package import CoreTypes
package import Database

/// How many bytes of packages each node sent in each hour by UTC. An hour is named by its first moment.
package enum DeliveredHoursTable {
  /// The length of an hour in milliseconds.
  private static let hour: Int64 = 3_600_000
  /// How long an hour is kept.
  package static let memory: Duration = .seconds(400 * 86_400)

  /// Returns the hour that the moment lies in. Of the first hour that there is, whose beginning cannot be told, it is the end.
  package static func hour(of moment: Timestamp) -> Timestamp {
    let milliseconds = moment.millisecondsSinceEpoch
    let (quotient, rest) = milliseconds.quotientAndRemainder(dividingBy: hour)
    let (first, isBeforeAll) = (rest < 0 ? quotient - 1 : quotient).multipliedReportingOverflow(by: hour)
    return Timestamp(millisecondsSinceEpoch: isBeforeAll ? quotient * hour : first)
  }

  /// Returns the bytes that the node sent in that hour; zero where none were written down. `node` is 0 for the only server of a file.
  package static func bytes(
    in hour: Timestamp, sentBy node: Int64, in connection: borrowing Connection
  ) throws -> ByteCount {
    try connection.first(
      "SELECT bytes FROM delivered_hours WHERE hour = ? AND node = ?", [.timestamp(hour), .integer(node)])?
      .byteCount("bytes") ?? .zero
  }

  /// Raises the node's bytes of that hour to `bytes`; more than that stays. Written twice it is the same, so that it may be written again
  /// where the answer was lost.
  package static func raise(
    to bytes: ByteCount, in hour: Timestamp, sentBy node: Int64, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      """
      INSERT INTO delivered_hours (hour, node, bytes) VALUES (?, ?, ?)
      ON CONFLICT (hour, node) DO UPDATE SET bytes = excluded.bytes WHERE excluded.bytes > delivered_hours.bytes
      """, [.timestamp(hour), .integer(node), .byteCount(bytes)])
  }

  /// Returns the bytes of all nodes in the hours that begin from `since` on and before `until`; nil is no end.
  package static func bytes(
    since: Timestamp, until: Timestamp?, in connection: borrowing Connection
  ) throws -> ByteCount {
    let end = until ?? Timestamp(millisecondsSinceEpoch: .max)
    return try connection.first(
      """
      SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes FROM delivered_hours WHERE hour >= ? AND hour < ?
      """, [.timestamp(since), .timestamp(end)])?
      .byteCount("bytes") ?? .zero
  }

  /// Forgets up to `limit` hours before `cutoff`. Returns whether there may be more of them.
  package static func forget(
    before cutoff: Timestamp, limit: Int, in connection: borrowing Connection
  ) throws -> Bool {
    let removed = try connection.execute(
      """
      DELETE FROM delivered_hours
      WHERE (hour, node) IN (SELECT hour, node FROM delivered_hours WHERE hour < ? ORDER BY hour, node LIMIT ?)
      """, [.timestamp(cutoff), .integer(limit)])
    return removed == limit
  }
}
