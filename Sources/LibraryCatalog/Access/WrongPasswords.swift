import CoreTypes
import Synchronization

/// Slows down who offers wrong passwords. All programs of a device count as one: ten wrong passwords, and then one more each second.
final class WrongPasswords: Sendable {
  private static let allowance = TryAllowance(burst: 10, interval: .seconds(1))

  private let timer: any MonotonicClock
  /// The passwords offered so far are paid for at that time.
  private let paidUntil = Mutex<UInt64>(0)

  init(timer: any MonotonicClock) {
    self.timer = timer
  }

  /// Nil where a wrong password is answered as such now, else the whole seconds until then.
  var wait: Int? {
    Self.allowance.wait(paidUntil: paidUntil.locked { $0 }, now: timer.now().nanoseconds)
  }

  /// Notes a wrong password.
  func charge() {
    let now = timer.now().nanoseconds
    paidUntil.locked { $0 = Self.allowance.charged(paidUntil: $0, now: now) }
  }
}
