public import CoreTypes
internal import Synchronization

/// A wall clock that a test sets.
public final class ManualWallClock: WallClock {
  /// The time that the test has set last.
  private let time: Mutex<Timestamp>

  /// 2026-11-21T08:30:00.000Z unless given.
  public init(_ time: Timestamp = Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)) {
    self.time = Mutex(time)
  }

  /// The time that the test has set.
  public func now() -> Timestamp { time.withLock { $0 } }

  /// Sets the time, forward or back.
  public func set(_ time: Timestamp) {
    self.time.withLock { $0 = time }
  }

  /// Moves the time on by `duration`.
  public func advance(by duration: Duration) {
    time.withLock { $0 = $0 + duration }
  }
}
