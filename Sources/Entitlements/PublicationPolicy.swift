import CoreTypes

/// The issues that a subscription to one publication opens, and for how long. The operator chooses it for
/// each publication.
///
/// ```swift
/// var policy = PublicationPolicy.standard
/// policy.backIssues = 3  // a new subscriber gets three issues before the latest one
/// ```
public struct PublicationPolicy: Hashable, Sendable {
  /// The policy where the operator has chosen nothing.
  public static let standard = PublicationPolicy()

  /// Issues that may be given besides the latest one when a subscription begins.
  public static let backIssueRange = 0...1000
  /// How long a lapse may be that counts as none: up to a day.
  public static let toleranceRange: ClosedRange<Duration> = .zero ... .seconds(86_400)

  /// Whether issues that a subscription opened stay open after it. Otherwise they are open while a subscription to the
  /// publication runs, whichever period opened them.
  public var keepsIssuesAfterLapse: Bool
  /// Whether the issue that is the latest one when an uninterrupted run begins is opened by it.
  public var unlocksLatestIssue: Bool
  /// How many issues before the latest one are opened when an uninterrupted run begins; those of one date count once.
  public var backIssues: Int
  /// The longest gap behind a period of a week or more that does not count as a lapse: a store may renew a little late. Behind a
  /// shorter one it is as much shorter, see ``tolerance(after:)``.
  public var tolerance: Duration
  /// Whether the subscription goes on in the grace that a store gives after a period that could not be charged.
  public var servesInGrace: Bool
  /// Whether it goes on while the store still tries to charge for the next period, after any grace.
  public var servesInBillingRetry: Bool
  /// Whether issues that appear in a grace are open although it was never paid. Those of a grace in which the payment came
  /// are open anyway.
  public var keepsIssuesOfUnrecoveredGrace: Bool
  /// Whether devices leave the content of issues where it lies when they are owned no more. It changes nothing about who owns them.
  public var keepsRevokedIssues: Bool

  /// Creates the policy.
  public init(
    keepsIssuesAfterLapse: Bool = true, unlocksLatestIssue: Bool = true, backIssues: Int = 0,
    tolerance: Duration = .seconds(300), servesInGrace: Bool = true, servesInBillingRetry: Bool = false,
    keepsIssuesOfUnrecoveredGrace: Bool = false, keepsRevokedIssues: Bool = false
  ) {
    self.keepsIssuesAfterLapse = keepsIssuesAfterLapse
    self.unlocksLatestIssue = unlocksLatestIssue
    self.backIssues = backIssues
    self.tolerance = tolerance
    self.servesInGrace = servesInGrace
    self.servesInBillingRetry = servesInBillingRetry
    self.keepsIssuesOfUnrecoveredGrace = keepsIssuesOfUnrecoveredGrace
    self.keepsRevokedIssues = keepsRevokedIssues
  }

  /// The shortest period of a subscription that real stores sell. What is shorter is time that a store for tests contracts.
  public static let shortestRealPeriod: Duration = .seconds(7 * 86_400)

  /// The longest gap behind a period of that length that does not count as a lapse: ``tolerance`` in real time, and in
  /// contracted time the same share of it that the period is of ``shortestRealPeriod``, to the millisecond below.
  public func tolerance(after length: Duration) -> Duration {
    guard length < Self.shortestRealPeriod else { return tolerance }
    // Both are within a week, so that milliseconds multiplied have room.
    return .milliseconds(
      tolerance.milliseconds * max(0, length.milliseconds) / Self.shortestRealPeriod.milliseconds)
  }
}
