import CoreTypes

/// A token bucket of bytes: a rate, and a burst that a sender may be ahead of it. It is a pure rule: the caller
/// keeps its one number, the time until which the bytes sent so far are paid for at the rate. All times are
/// nanoseconds of one monotonic clock. ``RateMeter`` keeps that number for many threads.
///
///     let bucket = TokenBucket(rate: 1_000_000, burst: 4_000_000)
///     switch bucket.charge(sent, paidUntil: paidUntil, now: now) {
///     case .paid(let until): paidUntil = until
///     case .wait(let nanoseconds): // Nothing is charged; ask again then.
///     }
package struct TokenBucket: Hashable, Sendable {
  /// Bytes a second, at least 1.
  package var rate: Int64
  /// Bytes that may be sent at once after a pause.
  package var burst: Int64

  package init(rate: Int64, burst: Int64) {
    self.rate = rate
    self.burst = burst
  }

  package enum Charge: Hashable {
    /// The bytes are charged; at the rate they are paid for at `until`.
    case paid(until: UInt64)
    /// There is no room for them before so many nanoseconds have passed.
    case wait(nanoseconds: UInt64)
  }

  /// Charges `bytes` that were sent since the last charge. `paidUntil` is the result of that one, zero at first.
  /// The time between two charges is not lost: it pays for what was sent in it.
  package func charge(_ bytes: Int64, paidUntil: UInt64, now: UInt64) -> Charge {
    let debt = paidUntil + duration(of: bytes)
    let limit = now + duration(of: burst)
    return debt > limit ? .wait(nanoseconds: debt - limit) : .paid(until: max(debt, now))
  }

  /// How many more bytes there is room for at `now`, if `bytes` are not charged yet; below zero when there are too
  /// many already.
  package func room(beyond bytes: Int64, paidUntil: UInt64, now: UInt64) -> Int64 {
    let ahead = Double(paidUntil) - Double(now)
    let owed = ahead / 1e9 * Double(rate) + Double(bytes)
    return burst - Int64(clamping: max(0, min(owed, 9e18)))
  }

  /// Nanoseconds that so many bytes last at the rate, at most a century.
  private func duration(of bytes: Int64) -> UInt64 {
    let nanoseconds = Double(max(0, bytes)) * 1e9 / Double(max(1, rate))
    return UInt64(clamping: min(nanoseconds, 3.2e18))
  }
}
