public import CoreTypes

/// Dates of HTTP (RFC 9110 §5.6.7): whole seconds, always GMT.
public enum HTTPDate {
  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// IMF-fixdate: `Sun, 06 Nov 1994 08:49:37 GMT`. Years from 0 to 9999 only; others are clamped.
  public static func format(_ time: Timestamp) -> String {
    format(secondsSinceEpoch: time.secondsSinceEpoch)
  }

  static func format(secondsSinceEpoch: Int64) -> String {
    let seconds = min(max(secondsSinceEpoch, -62_167_219_200), 253_402_300_799)
    let date = Timestamp(millisecondsSinceEpoch: seconds * 1000).utc
    return "\(weekdays[date.weekday]), \(padded(date.day, 2)) \(months[date.month - 1]) "
      + "\(padded(date.year, 4)) \(padded(date.hour, 2)):\(padded(date.minute, 2)):\(padded(date.second, 2)) GMT"
  }

  /// Reads the preferred form and the obsolete ones of RFC 850 and asctime; nil for anything else. `now` tells which
  /// century a year of two digits belongs to; without it the system's clock does.
  public static func parse(_ text: Span<UInt8>, now: Timestamp? = nil) -> Timestamp? {
    HTTPDateReader.read(text) { (now ?? SystemWallClock().now()).utc.year }
  }

  private static func padded(_ value: Int, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
