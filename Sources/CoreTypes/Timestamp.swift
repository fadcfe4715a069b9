/// A moment on the wall clock, in whole milliseconds since 1970-01-01T00:00:00Z.
///
/// On the wire it is RFC 3339 in UTC with milliseconds (`2026-11-21T08:30:00.000Z`). Arithmetic saturates,
/// because dates come from outside. The wall clock can jump: what measures durations uses ``MonotonicClock``.
///
/// ```swift
/// guard let purchased = Timestamp(rfc3339: "2026-11-21T09:30:00+01:00") else { return }
/// let expires = purchased + .seconds(86_400)
/// print(expires)  // 2026-11-22T08:30:00.000Z
/// print(expires.utc.weekday)  // 0, a Sunday
/// ```
public struct Timestamp: Hashable, Comparable, Sendable {
  /// Negative before 1970.
  public var millisecondsSinceEpoch: Int64

  /// A moment from its number.
  public init(millisecondsSinceEpoch: Int64) {
    self.millisecondsSinceEpoch = millisecondsSinceEpoch
  }

  /// Whole seconds since the epoch, rounded down.
  public var secondsSinceEpoch: Int64 {
    millisecondsSinceEpoch / 1000 - (millisecondsSinceEpoch % 1000 < 0 ? 1 : 0)
  }

  /// Whether the left moment is earlier.
  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.millisecondsSinceEpoch < right.millisecondsSinceEpoch
  }

  /// The moment after a duration; saturates at the first and the last moment that there is.
  public static func + (left: Timestamp, right: Duration) -> Timestamp {
    let (sum, overflow) = left.millisecondsSinceEpoch.addingReportingOverflow(right.milliseconds)
    return Timestamp(
      millisecondsSinceEpoch: overflow ? (right.milliseconds > 0 ? .max : .min) : sum)
  }

  /// The moment a duration before; saturates.
  public static func - (left: Timestamp, right: Duration) -> Timestamp {
    let (difference, overflow) = left.millisecondsSinceEpoch.subtractingReportingOverflow(right.milliseconds)
    return Timestamp(
      millisecondsSinceEpoch: overflow ? (right.milliseconds > 0 ? .min : .max) : difference)
  }

  /// The time from `right` to `left`, negative when `right` is later; saturates.
  public static func - (left: Timestamp, right: Timestamp) -> Duration {
    let (difference, overflow) = left.millisecondsSinceEpoch.subtractingReportingOverflow(
      right.millisecondsSinceEpoch)
    return .milliseconds(overflow ? (left > right ? .max : .min) : difference)
  }
}

extension Duration {
  /// Whole milliseconds, rounded toward zero; the nearest `Int64` beyond its range.
  public var milliseconds: Int64 { whole(unitsPerSecond: 1000) }

  /// Whole nanoseconds, rounded toward zero; the nearest `Int64` beyond its range (292 years).
  public var nanoseconds: Int64 { whole(unitsPerSecond: 1_000_000_000) }

  /// Seconds with their fraction.
  public var inSeconds: Double {
    Double(components.seconds) + Double(components.attoseconds) * 1e-18
  }

  private func whole(unitsPerSecond units: Int64) -> Int64 {
    let (seconds, attoseconds) = components
    let (product, productOverflows) = seconds.multipliedReportingOverflow(by: units)
    let (sum, sumOverflows) = product.addingReportingOverflow(
      attoseconds / (1_000_000_000_000_000_000 / units))
    return productOverflows || sumOverflows ? (seconds > 0 ? .max : .min) : sum
  }
}
