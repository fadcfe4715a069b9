package import Commerce
package import CoreTypes
package import Database
package import DeliveryModel
import PullboxAPI
package import ServiceAPI

/// The course of deliveries, besides their grants. Its functions run in the caller's transaction and throw ``DatabaseError``.
package enum DeliveryCourseTable {
  /// The delivery for one grant.
  package struct Course: Sendable {
    /// Bytes that all nodes have sent.
    package var bytes: ByteCount
    /// When a node last wrote down that it had sent some; nil before.
    package var last: Timestamp?
    /// When the device reported that it could not verify the version; nil unless it did, since the version was last released.
    package var unverified: Timestamp?
    /// The application of the purchase; nil where its store does not tell it.
    package var application: ApplicationIdentifier?
  }

  /// The courses of these grants, by their numbers: a few statements, however many grants they are.
  package static func all(
    of grants: some Collection<GrantRecord>, in connection: borrowing Connection
  ) throws -> [Int64: Course] {
    var courses: [Int64: Course] = [:]
    for ids in KeyBatch.all(of: grants.map(\.number)) {
      try connection.forEach(
        """
        SELECT grants.number AS number,
          (SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM delivered_bytes
            WHERE grant_number = grants.number) AS bytes,
          (SELECT nullif(max(last), 0) FROM delivered_bytes WHERE grant_number = grants.number) AS last,
          (SELECT at FROM verification_failures WHERE verification_failures.product = grants.product
            AND verification_failures.version = grants.version
            AND verification_failures.device = grants.device) AS unverified,
          (SELECT application FROM transactions WHERE transactions.store = grants.store
            AND transactions.environment = grants.environment
            AND transactions.transaction_id = grants.transaction_id) AS application
        FROM grants WHERE grants.number IN (\(ids.placeholders))
        """, ids.values
      ) { row in
        courses[try row.integer("number")] = Course(
          bytes: try row.byteCount("bytes"), last: try row.optionalTimestamp("last"),
          unverified: try row.optionalTimestamp("unverified"),
          application: try row.optionalText("application").flatMap { ApplicationIdentifier($0) })
      }
    }
    return courses
  }

  /// In which hours devices first placed the version, the earliest first, with the number of their grants: of `limit` grants at most.
  /// Hours are counted from 1970.
  package static func hours(
    of product: ProductIdentifier, _ version: ContentVersion, limit: Int,
    in connection: borrowing Connection
  ) throws -> [(number: Int64, devices: Int, grants: Int)] {
    try connection.query(
      """
      SELECT placed / 3600000 AS hour, count(*) AS devices, CAST(sum(grants) AS BIGINT) AS grants FROM (
        SELECT device, min(placed) AS placed, count(*) AS grants FROM (
          SELECT device, placed FROM grants \(SQLDialect.index("grants_by_version"))
          WHERE product = ? AND version = ? AND state IN ('completed', 'finished') AND placed IS NOT NULL
          LIMIT ?) AS placements
        GROUP BY device) AS first
      GROUP BY 1 ORDER BY 1
      """, [.identifier(product), .identifier(version), .integer(limit)]
    ).map {
      (try $0.integer("hour"), Int(try $0.integer("devices")), Int(try $0.integer("grants")))
    }
  }
}

extension DeliveryProgress {
  /// How the delivery for the grant goes; nil once it is placed or revoked.
  package init?(of grant: GrantRecord, _ course: DeliveryCourseTable.Course, at now: Timestamp) {
    guard grant.machine.name == .granted else { return nil }
    if course.unverified != nil {
      self = .unverified
    } else if now - max(grant.created, course.last ?? grant.created) >= Self.patience {
      self = .stuck
    } else {
      self = course.last == nil ? .waiting : .fetching
    }
  }
}

extension OperatorGrant {
  /// Counts what was sent and is not written down yet: the delivery goes on.
  package mutating func add(unrecorded bytes: ByteCount, at now: Timestamp) {
    guard bytes > .zero else { return }
    bytesDelivered += bytes
    lastSent = now
    if progress == .stuck || progress == .waiting { progress = .fetching }
  }
}
