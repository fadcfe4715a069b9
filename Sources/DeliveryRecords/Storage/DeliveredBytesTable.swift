package import Commerce
package import CoreTypes
package import Crypto
package import Database
import PullboxAPI
package import ServiceAPI

/// How many bytes were sent for each grant, in rows of a few bytes: while downloads run, these change every few
/// seconds.
package enum DeliveredBytesTable {
  /// Adds to the node's count of the grant; of one that is not there, nothing is counted. `node` is 0 for the only server of a file, and
  /// `now` is when that is written down, a few seconds after the bytes were sent.
  package static func add(
    _ bytes: ByteCount, to grant: DeliveryHandle, sentBy node: Int64, at now: Timestamp,
    in connection: borrowing Connection
  ) throws {
    try connection.enqueue(
      """
      INSERT INTO delivered_bytes (grant_number, node, bytes, last) SELECT number, ?, ?, ? FROM grants WHERE handle = ?
      ON CONFLICT (grant_number, node) DO UPDATE SET bytes = delivered_bytes.bytes + excluded.bytes, last = excluded.last
      """, [.integer(node), .byteCount(bytes), .timestamp(now), .handle(grant)])
  }

  /// Returns the bytes that all nodes sent for one grant. Zero for a grant of which nothing was written down.
  package static func bytes(of grant: Int64, in connection: borrowing Connection) throws -> ByteCount {
    try connection.first(
      "SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes FROM delivered_bytes WHERE grant_number = ?",
      [.integer(grant)])?
      .byteCount("bytes") ?? .zero
  }

  /// Returns the bytes of a package that a device was sent, over all its grants.
  package static func bytes(
    of digest: SHA256Digest, to device: DeviceIdentifier, in connection: borrowing Connection
  ) throws -> ByteCount {
    try connection.first(
      """
      SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes
      FROM grants \(SQLDialect.index("grants_by_device")) JOIN delivered_bytes ON grant_number = number
      WHERE device = ? AND product IN (SELECT product FROM versions WHERE digest = ?) AND digest = ?
      """, [.identifier(device), .digest(digest), .digest(digest)])?
      .byteCount("bytes") ?? .zero
  }
}
