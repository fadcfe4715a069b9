/// A leaky bucket of bytes: a rate, and how far ahead of it somebody may be. Pure; times are nanoseconds of one clock.
struct TokenBucket: Hashable, Sendable {
  /// Bytes a second, at least 1.
  var rate: Int64
  /// Bytes that may be sent at once by somebody who sent none for long.
  var burst: Int64

  enum Settlement: Hashable {
    /// The bytes are in; at the rate they are paid for at `until`.
    case paid(until: UInt64)
    /// There is no room for them before so many nanoseconds have passed.
    case wait(nanoseconds: UInt64)
  }

  /// Puts `bytes` that were sent since the last settlement in. `paidUntil` is what that one answered, zero at first.
  /// Time in which nobody asked is not lost: it pays for what was sent in it.
  func settle(_ bytes: Int64, paidUntil: UInt64, now: UInt64) -> Settlement {
    let debt = paidUntil + duration(of: bytes)
    let limit = now + duration(of: burst)
    return debt > limit ? .wait(nanoseconds: debt - limit) : .paid(until: max(debt, now))
  }

  /// How many more bytes there is room for at `now`; below zero when there are too many already.
  func room(_ bytes: Int64, paidUntil: UInt64, now: UInt64) -> Int64 {
    let ahead = Double(paidUntil) - Double(now)
    let owed = ahead / 1e9 * Double(rate) + Double(bytes)
    return burst - Int64(max(0, min(owed, 9e18)))
  }

  /// Nanoseconds that so many bytes take at the rate, at most a century.
  private func duration(of bytes: Int64) -> UInt64 {
    let nanoseconds = Double(max(0, bytes)) * 1e9 / Double(max(1, rate))
    return UInt64(min(nanoseconds, 3.2e18))
  }
}
