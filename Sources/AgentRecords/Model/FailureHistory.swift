import PullboxAPI

/// The failed steps that a machine remembers. A pure value.
package struct FailureHistory: Hashable, Sendable {
  /// The number of losses in a row after which the disk is taken not to keep the bytes.
  static let maximumLosses = 10

  /// The problem of the last failure; nil again once a step succeeds.
  private(set) var problem: Problem?
  private(set) var cause: String?
  /// Tries that failed in a row, without a verified piece between them.
  private(set) var failures: Int
  /// Times in a row that what had been written was not there, or not right, when it was looked at.
  private(set) var losses: Int

  init(problem: Problem? = nil, cause: String? = nil, failures: Int = 0, losses: Int = 0) {
    self.problem = problem
    self.cause = cause
    self.failures = failures
    self.losses = losses
  }

  /// Says why a step failed; whether it is tried again is another matter.
  mutating func note(_ failure: StepFailure) {
    problem = failure.problem
    cause = failure.cause
  }

  /// The step is tried again, after a delay that grows with ``failures``.
  mutating func countRetry(after failure: StepFailure) {
    failures += 1
    note(failure)
  }

  /// The bytes are to come again. What a disk keeps losing is fetched ever later: that it came well is no success.
  mutating func countLoss(_ failure: StepFailure) {
    losses += 1
    failures = max(failures, losses - 1)
    countRetry(after: failure)
  }

  /// The next step begins: what went wrong before is no news any more.
  mutating func forgetCause() {
    problem = nil
    cause = nil
  }

  /// Progress was made: the next failure is the first.
  mutating func forgetFailures() {
    failures = 0
    forgetCause()
  }

  /// Whether fetching it once more is in vain.
  var isHopeless: Bool { losses >= Self.maximumLosses }

  /// Forgets the losses: the bytes are in their place, or a user asks for a new try.
  mutating func forgetLosses() {
    losses = 0
  }
}
