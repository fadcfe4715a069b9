package import Commerce
import CoreTypes
package import Database
package import DeliveryModel
import DeliveryRecords
import PullboxAPI
package import ServiceAPI

/// Tells how a version spreads, and how near its release is to pausing itself.
package struct ReleaseCourseReader: Sendable {
  /// Grants that the hours are counted of, at most.
  static let maximumGrants = 20_000

  private let database: Database
  private let rule: ReleaseStopRule

  /// `rule` is the one that pauses releases.
  package init(database: Database, rule: ReleaseStopRule) {
    self.database = database
    self.rule = rule
  }

  /// Throws `product-unknown`, `version-unknown` and ``DatabaseError``.
  package func course(
    of product: ProductIdentifier, _ version: ContentVersion
  ) async throws -> ReleaseCourse {
    let rule = rule
    return try await database.read { connection in
      guard let record = try VersionTable.find(product, version, in: connection) else {
        throw try VersionTable.unknown(version, of: product, in: connection)
      }
      let hours = try DeliveryCourseTable.hours(
        of: product, record.version, limit: Self.maximumGrants, in: connection)
      let failed = try VerificationFailureTable.failed(of: product, record.version, in: connection)
      let verified = try VerificationFailureTable.verified(
        of: product, record.version, limit: rule.sufficientCount(besides: failed), in: connection)
      return ReleaseCourse(
        product: product, version: record.version,
        hours: hours.map { hour in
          ReleaseCourse.Hour(
            start: Timestamp(millisecondsSinceEpoch: hour.number * 3_600_000), devices: hour.devices)
        },
        isComplete: hours.reduce(0) { $0 + $1.grants } < Self.maximumGrants, failed: failed,
        verified: verified, pausesAbove: rule.neverPauses ? nil : rule.share,
        pausesFrom: rule.neverPauses ? nil : ReleaseStopRule.minimumCount)
    }
  }
}
