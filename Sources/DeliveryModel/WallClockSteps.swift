package import CoreTypes

/// How far a wall clock was set forward while it was watched, so that nothing grows old by it: a clock that is a
/// day wrong would otherwise end every lifetime of a day at once. Pure.
///
/// A step of at most ``tolerance`` between two looks counts as time that has passed. A clock set back makes
/// everything live longer by as much, which is no loss.
package struct WallClockSteps: Hashable, Sendable {
  /// A clock that has made no step yet.
  package init() {
  }
  private struct Step: Hashable {
    /// The time that the wall clock showed when the step was noticed.
    var noticed: Timestamp
    /// The time by which the wall clock went ahead of the monotonic one.
    package var gain: Duration
  }

  /// More than that is not taken for a clock that runs fast, or was corrected.
  package static let tolerance = Duration.seconds(3600)
  /// Later ones are added to the last.
  private static let maximumSteps = 16

  private var steps: [Step] = []
  private var last: (wall: Timestamp, instant: MonotonicInstant)?

  package static func == (left: WallClockSteps, right: WallClockSteps) -> Bool { left.steps == right.steps }
  package func hash(into hasher: inout Hasher) { hasher.combine(steps) }

  /// Both clocks, read at the same moment; answers what the wall clock gained since the last look, if that is a
  /// step.
  @discardableResult
  package mutating func observe(_ wall: Timestamp, _ instant: MonotonicInstant) -> Duration? {
    defer { last = (wall, instant) }
    guard let last else { return nil }
    let gain = (wall - last.wall) - (instant - last.instant)
    guard gain > Self.tolerance else { return nil }
    if steps.count == Self.maximumSteps {
      steps[steps.count - 1].noticed = wall
      steps[steps.count - 1].gain += gain
    } else {
      steps.append(Step(noticed: wall, gain: gain))
    }
    return gain
  }

  /// When `lifetime`, which began at `start` by the wall clock, is over.
  package func end(of lifetime: Duration, since start: Timestamp) -> Timestamp {
    steps.reduce(start + lifetime) { end, step in start < step.noticed ? end + step.gain : end }
  }
}
