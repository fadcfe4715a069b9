import CoreTypes

/// The wall clock's time when it was made, moved on by the monotonic clock: for dates that are kept in the
/// database and must hold when the wall clock is set. Both clocks agree again at the next start.
struct ScheduleClock: WallClock {
  private let wall: any WallClock
  private let timer: any MonotonicClock
  private let start: (wall: Timestamp, timer: MonotonicInstant)

  /// Reads both clocks, whose difference stays as it is now.
  init(wall: any WallClock, timer: any MonotonicClock) {
    self.wall = wall
    self.timer = timer
    start = (wall.now(), timer.now())
  }

  /// The time of the wall clock as if it had not been set since.
  func now() -> Timestamp { start.wall + (timer.now() - start.timer) }

  /// Returns the time that the wall clock will show at a moment of this clock.
  func wallTime(at moment: Timestamp) -> Timestamp { moment + (wall.now() - now()) }
}
