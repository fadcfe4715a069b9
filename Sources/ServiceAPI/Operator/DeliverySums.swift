public import CoreTypes

/// `GET /v1/operator/deliveries/sums`: how much was granted and sent in a time, from the beginning of an hour on.
public struct DeliverySums: Codable, Hashable, Sendable {
  /// The first moment that counts: the beginning of an hour by UTC.
  public var since: Timestamp
  /// The first moment that counts no more; of bytes, all of the hour that it lies in count.
  public var until: Timestamp
  /// Grants that were made in that time, counted by their numbers: with PostgreSQL requests that were refused count too,
  /// as far as they had taken a number.
  public var grants: Int
  /// Bytes of packages that were sent in that time, for whichever grants; those of the last seconds are not counted yet.
  public var bytesDelivered: ByteCount

  /// Creates the document from its members.
  public init(since: Timestamp, until: Timestamp, grants: Int, bytesDelivered: ByteCount) {
    self.since = since
    self.until = until
    self.grants = grants
    self.bytesDelivered = bytesDelivered
  }
}
