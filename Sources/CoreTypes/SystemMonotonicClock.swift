internal import Glibc

/// `CLOCK_BOOTTIME`: goes on while the machine is suspended.
public struct SystemMonotonicClock: MonotonicClock {
  public init() {}

  public func now() -> MonotonicInstant {
    var time = timespec()
    unsafe clock_gettime(CLOCK_BOOTTIME, &time)
    return MonotonicInstant(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
  }

  public func sleep(for duration: Duration) async throws {
    try await Task.sleep(for: duration, clock: .continuous)
  }
}
