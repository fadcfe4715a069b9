import CoreTypes
import Testing

@testable import DeliveryModel

@Suite("A wall clock that is set")
struct WallClockStepsTests {
  private let start = Timestamp(millisecondsSinceEpoch: 1_790_000_000_000)
  private let day = Duration.seconds(86_400)

  /// Looks at both clocks after each pair of durations has passed on them.
  private func steps(_ passed: [(wall: Duration, timer: Duration)]) -> WallClockSteps {
    var steps = WallClockSteps()
    var (wall, instant) = (start, MonotonicInstant(nanoseconds: 5))
    steps.observe(wall, instant)
    for (wallTime, timerTime) in passed {
      wall = wall + wallTime
      instant = instant + timerTime
      steps.observe(wall, instant)
    }
    return steps
  }

  @Test("clocks that agree, to an hour between two looks, change nothing")
  func agreeing() {
    let hour = Duration.seconds(3600)
    for steps in [steps([]), steps([(day, day)]), steps([(hour, .zero), (hour, .zero)])] {
      #expect(steps.end(of: day, since: start) == start + day)
    }
  }

  @Test("what began before the clock was set forward ends as much later, what began afterwards does not")
  func forward() {
    let steps = steps([(.seconds(60), .seconds(60)), (day + day, .seconds(60)), (day, day)])
    let gain = day + day - .seconds(60)
    let noticed = start + .seconds(60) + day + day
    #expect(steps.end(of: day, since: start) == start + day + gain)
    #expect(steps.end(of: day, since: noticed - .milliseconds(1)) == noticed - .milliseconds(1) + day + gain)
    #expect(steps.end(of: day, since: noticed) == noticed + day)
  }

  @Test("a clock that is set back makes nothing end sooner than it says")
  func back() {
    let steps = steps([(.zero - day, .seconds(60))])
    #expect(steps.end(of: day, since: start) == start + day)
  }

  @Test("no number of steps is too large")
  func many() {
    let steps = steps((0..<1000).map { _ in (day, Duration.zero) })
    let gain = Duration.seconds(1000 * 86_400)
    #expect(steps.end(of: .zero, since: start) == start + gain)
  }
}
