package import CoreTypes

/// The bytes that a step moved, for the budget.
package struct StepEffort: Hashable, Sendable {
  /// Bytes of the pieces that were verified.
  package var verified: ByteCount
  /// Bytes that came over the network.
  package var received: ByteCount
  /// When the step ended.
  package var end: Timestamp

  package init(verified: ByteCount, received: ByteCount, end: Timestamp) {
    self.verified = verified
    self.received = received
    self.end = end
  }
}

/// A count of a job's wrong answers in a row and of its wasted bytes, with the limits at which the job gives up. A verified
/// piece ends a row of wrong answers. Lost connections and unreachable services do not count. A pure value.
package struct ContentJobBudget: Hashable, Sendable {
  /// Wrong answers in a row, once they have lasted for ``shortestTrial``.
  static let maximumViolations = 100
  /// A hotel's proxy may be wrong all night.
  static let shortestTrial: Duration = .seconds(86_400)
  /// Wrong answers for so long end the job, however few they are.
  static let longestTrial: Duration = .seconds(14 * 86_400)
  /// Bytes in vain, beside twice the package.
  static let wasteAllowance = ByteCount.mebibytes(64)

  /// Wrong answers in a row.
  var violations = 0
  /// When the first of them came.
  var violatedSince: Timestamp?
  /// Bytes received and not verified.
  var wasted = ByteCount.zero

  /// Counts a failed step; answers why the job gives up, nil when it goes on. Waste is judged before wrong
  /// answers.
  mutating func count(_ failure: StepFailure, _ effort: StepEffort, length: ByteCount) -> StatusReason? {
    wasted = max(.zero, wasted + effort.received - effort.verified)
    if effort.verified > .zero { forgetViolations() }
    if failure.isViolation {
      violations += 1
      violatedSince = violatedSince ?? effort.end
    }
    if isWasteful(length) { return .wasteful }
    guard failure.isViolation, let since = violatedSince else { return nil }
    let trial = effort.end - since
    if violations >= Self.maximumViolations, trial >= Self.shortestTrial { return .integrity }
    return trial >= Self.longestTrial ? .givenUp : nil
  }

  /// So many bytes of a package came, and were lost where they had been written; answers why the job gives up.
  mutating func countLoss(of bytes: ByteCount, length: ByteCount) -> StatusReason? {
    wasted += bytes
    return isWasteful(length) ? .wasteful : nil
  }

  private func isWasteful(_ length: ByteCount) -> Bool { wasted > length + length + Self.wasteAllowance }

  /// A verified piece ends the row.
  mutating func forgetViolations() {
    violations = 0
    violatedSince = nil
  }
}
