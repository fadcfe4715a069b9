package import CoreTypes
package import DeliveryModel
import DeliveryRecords
package import ServiceRuntime
import Synchronization

/// The wall clock, for lifetimes that it must not end by being set: every look at it is compared with the
/// monotonic clock. What it knows ends with the process.
package final class LifetimeClock: Sendable {
  private let wall: any WallClock
  /// Times pauses, which no step of the wall clock makes longer.
  let timer: any MonotonicClock
  private let log: Log
  private let watched: Mutex<WallClockSteps>

  /// Takes a first look at both clocks. `log` gets every step forward that is noticed.
  package init(wall: any WallClock, timer: any MonotonicClock, log: Log) {
    self.wall = wall
    self.timer = timer
    self.log = log
    var steps = WallClockSteps()
    steps.observe(wall.now(), timer.now())
    watched = Mutex(steps)
  }

  /// The wall clock's time.
  package func now() -> Timestamp { look().now }

  /// The wall clock's time, and its steps up to then. A lifetime ends at ``WallClockSteps/end(of:since:)``. May
  /// be called on any thread.
  package func look() -> (now: Timestamp, steps: WallClockSteps) {
    let (now, steps, gain) = watched.locked { steps in
      let now = wall.now()
      let gain = steps.observe(now, timer.now())
      return (now, steps, gain)
    }
    if let gain {
      log.warning(
        "the wall clock was set forward; uploads and unneeded packages are kept as much longer",
        ["seconds": LogValue(gain.components.seconds)])
    }
    return (now, steps)
  }
}
