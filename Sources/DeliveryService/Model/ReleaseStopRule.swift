/// When a release pauses itself: more than a share of the devices that have come to an end with it could not verify it. Pure.
struct ReleaseStopRule: Hashable, Sendable {
  static let shares = 0...100
  /// Of fewer devices nothing is concluded.
  static let minimumCount = 50

  /// Percent of the devices; with 100 nothing pauses.
  var share: Int

  func isExceeded(failed: Int, verified: Int) -> Bool {
    failed + verified >= Self.minimumCount && failed * 100 > share * (failed + verified)
  }

  /// How many verified devices it takes to know that the rule is not exceeded by so many that failed; more need not be counted.
  func sufficientCount(besides failed: Int) -> Int {
    share == 0 ? Self.minimumCount : max(Self.minimumCount, failed * 100 / share + 1)
  }
}
