package import Commerce
package import CoreTypes

/// When a release pauses itself: the devices of more than a share of the purchases that have come to an end with it could not
/// verify it. Purchases are counted, since clients choose the names of devices. Pure.
package struct ReleaseStopRule: Hashable, Sendable {
  /// The shares that a configuration may name, in percent.
  package static let shares = 0...100
  /// The smallest number of purchases from which the rule concludes anything.
  package static let minimumCount = 50

  /// Percent of the purchases; with 100 nothing pauses.
  package var share: Int

  /// `share` is in percent, one of ``shares``.
  package init(share: Int) {
    self.share = share
  }

  /// Whether the rule is switched off, so that nothing need be counted.
  package var neverPauses: Bool { share >= Self.shares.upperBound }

  /// Whether the release is to pause: ``minimumCount`` purchases have come to an end, and more than the share
  /// of them failed.
  ///
  /// - Parameters:
  ///   - failed: purchases of which a device could not verify the version and none placed it.
  ///   - verified: purchases of which a device placed it.
  package func isExceeded(failed: Int, verified: Int) -> Bool {
    failed + verified >= Self.minimumCount && failed * 100 > share * (failed + verified)
  }

  /// How many verified purchases it takes to know that the rule is not exceeded by so many that failed; more need not be counted.
  package func sufficientCount(besides failed: Int) -> Int {
    share == 0 ? Self.minimumCount : max(Self.minimumCount, failed * 100 / share + 1)
  }
}

/// When the failures of a version are counted: at most once in ``interval`` for each version, however many are reported. Pure.
package struct FailureCountSchedule: Sendable {
  /// A schedule that has counted nothing: the first report of each version is due at once.
  package init() {
  }
  /// The shortest time between two counts of one version.
  package static let interval: Duration = .seconds(1)
  /// Versions that are remembered at once; beyond it all are forgotten, and counted sooner.
  package static let maximumCount = 1000

  private struct Key: Hashable, Sendable {
    var product: ProductIdentifier
    var version: ContentVersion
  }

  private var counted: [Key: Timestamp] = [:]

  /// Whether they are to be counted now; then they count as counted. A clock that was set back delays nothing.
  package mutating func isDue(_ product: ProductIdentifier, _ version: ContentVersion, at now: Timestamp)
    -> Bool
  {
    let key = Key(product: product, version: version)
    if let last = counted[key], last <= now, now - last < Self.interval { return false }
    if counted.count >= Self.maximumCount { counted.removeAll() }
    counted[key] = now
    return true
  }
}
