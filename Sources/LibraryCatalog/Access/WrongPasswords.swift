import CoreTypes
import Synchronization

/// Slows down who offers wrong passwords. All programs of a device count as one: ten wrong passwords, and then one more each second.
final class WrongPasswords: Sendable {
  /// Wrong passwords at once.
  static let burst: UInt64 = 10
  /// The time after which there may be one more.
  static let interval: Duration = .seconds(1)

  private let timer: any MonotonicClock
  /// The passwords offered so far are paid for at that time.
  private let paidUntil = Mutex<UInt64>(0)

  init(timer: any MonotonicClock) {
    self.timer = timer
  }

  /// Nil where a password may be offered now, else the whole seconds until then.
  var wait: Int? {
    let (now, interval) = (timer.now().nanoseconds, UInt64(Self.interval.nanoseconds))
    let until = paidUntil.withLock { $0 }
    guard until + interval > now + Self.burst * interval else { return nil }
    return Int(clamping: (until + interval - now - Self.burst * interval + 999_999_999) / 1_000_000_000)
  }

  /// Notes a wrong password.
  func charge() {
    let (now, interval) = (timer.now().nanoseconds, UInt64(Self.interval.nanoseconds))
    paidUntil.withLock { $0 = min(max($0, now) + interval, now + Self.burst * interval) }
  }
}
