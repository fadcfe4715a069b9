/// A moment on the wall clock, in whole milliseconds since 1970-01-01T00:00:00Z. On the wire it is RFC 3339 in UTC
/// with milliseconds (`2026-11-21T08:30:00.000Z`).
public struct Timestamp: Hashable, Comparable, Sendable {
  public var millisecondsSinceEpoch: Int64

  public init(millisecondsSinceEpoch: Int64) {
    self.millisecondsSinceEpoch = millisecondsSinceEpoch
  }

  /// Whole seconds since the epoch, rounded down.
  public var secondsSinceEpoch: Int64 {
    millisecondsSinceEpoch >= 0 ? millisecondsSinceEpoch / 1000 : (millisecondsSinceEpoch - 999) / 1000
  }

  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.millisecondsSinceEpoch < right.millisecondsSinceEpoch
  }

  public static func + (left: Timestamp, right: Duration) -> Timestamp {
    Timestamp(millisecondsSinceEpoch: left.millisecondsSinceEpoch + right.milliseconds)
  }

  public static func - (left: Timestamp, right: Duration) -> Timestamp {
    Timestamp(millisecondsSinceEpoch: left.millisecondsSinceEpoch - right.milliseconds)
  }

  public static func - (left: Timestamp, right: Timestamp) -> Duration {
    .milliseconds(left.millisecondsSinceEpoch - right.millisecondsSinceEpoch)
  }
}

extension Duration {
  /// Whole milliseconds, rounded toward zero.
  public var milliseconds: Int64 {
    components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
  }

  /// Seconds with their fraction.
  public var inSeconds: Double {
    Double(components.seconds) + Double(components.attoseconds) * 1e-18
  }
}
