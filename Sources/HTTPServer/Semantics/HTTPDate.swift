public import Measures

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

  /// Reads the preferred form only; nil for anything else, the obsolete forms of RFC 850 and asctime included (a client
  /// that sends those gets the unconditional answer).
  public static func parse(_ text: Span<UInt8>) -> Timestamp? {
    guard text.count == 29 else { return nil }
    func letters(_ start: Int) -> (UInt8, UInt8, UInt8) { (text[start], text[start + 1], text[start + 2]) }
    func number(_ start: Int, _ digits: Int) -> Int? {
      var value = 0
      for index in start..<start + digits {
        guard ASCII.isDigit(text[index]) else { return nil }
        value = value * 10 + Int(text[index] - ASCII.zero)
      }
      return value
    }
    func matches(_ name: String, _ found: (UInt8, UInt8, UInt8)) -> Bool {
      let bytes = Array(name.utf8)
      return bytes[0] == found.0 && bytes[1] == found.1 && bytes[2] == found.2
    }
    let day = letters(0)
    let month = letters(8)
    guard let weekday = weekdays.firstIndex(where: { matches($0, day) }),
      let monthIndex = months.firstIndex(where: { matches($0, month) }),
      text[3] == ASCII.comma, text[4] == ASCII.space, text[7] == ASCII.space, text[11] == ASCII.space,
      text[16] == ASCII.space, text[19] == ASCII.colon, text[22] == ASCII.colon, text[25] == ASCII.space,
      matches("GMT", letters(26)),
      let dayOfMonth = number(5, 2), let year = number(12, 4), let hour = number(17, 2),
      let minute = number(20, 2), let second = number(23, 2),
      let time = Timestamp(
        year: year, month: monthIndex + 1, day: dayOfMonth, hour: hour, minute: minute, second: second),
      time.utc.weekday == weekday
    else { return nil }
    return time
  }

  private static func padded(_ value: Int, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
