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
    return "\(weekdays[date.weekday]), \(padded(date.day, width: 2)) \(months[date.month - 1]) "
      + "\(padded(date.year, width: 4)) \(padded(date.hour, width: 2)):\(padded(date.minute, width: 2)):"
      + "\(padded(date.second, width: 2)) GMT"
  }

  /// Reads the preferred form and the obsolete ones of RFC 850 and asctime; nil for anything else. `now`
  /// tells which century a year of two digits belongs to; without it the system's clock does.
  public static func parse(_ text: Span<UInt8>, now: Timestamp? = nil) -> Timestamp? {
    HTTPDateReader.read(text) { (now ?? SystemWallClock().now()).utc.year }
  }

  private static func padded(_ value: Int, width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}

/// A whole `Date` field line, made once a second.
package struct HTTPDateField: Sendable {
  /// Name, value and the end of the line: 37 bytes, as every IMF-fixdate has 29.
  package private(set) var line = InlineArray<37, UInt8>(repeating: 0)

  /// `secondsSinceEpoch` counts from 1970 without leap seconds.
  package init(secondsSinceEpoch: Int64) {
    var index = 0
    for byte in "Date: \(HTTPDate.format(secondsSinceEpoch: secondsSinceEpoch))\r\n".utf8 where index < 37 {
      line[index] = byte
      index += 1
    }
  }
}

/// Reads the three forms of an HTTP date (RFC 9110 §5.6.7), case-sensitively, without allocating.
struct HTTPDateReader {
  private static let suffixes: InlineArray<7, UInt64> = [
    // day, day, sday, nesday, rsday, day, urday
    0x64_6179, 0x64_6179, 0x7364_6179, 0x6E65_7364_6179, 0x7273_6461_79, 0x64_6179, 0x7572_6461_79,
  ]

  private var position = 0
  private var year = 0
  private var month = 0
  private var day = 0
  private var hour = 0
  private var minute = 0
  private var second = 0

  /// Nil for what is none of the three forms, or no day of that name. Only a year of two digits needs to know
  /// the present one.
  static func read(_ text: Span<UInt8>, currentYear: () -> Int) -> Timestamp? {
    guard text.count >= 24, text.count <= 33 else { return nil }
    var reader = HTTPDateReader()
    guard let weekday = weekday(reader.word(text, count: 3)) else { return nil }
    let isRead =
      switch text[3] {
      case ASCII.comma: reader.readFixed(text)
      case ASCII.space: reader.readASCTime(text)
      default: reader.readRFC850(text, weekday: weekday, currentYear: currentYear)
      }
    guard isRead, reader.position == text.count,
      let time = Timestamp(
        year: reader.year, month: reader.month, day: reader.day, hour: reader.hour, minute: reader.minute,
        second: reader.second),
      time.utc.weekday == weekday
    else { return nil }
    return time
  }

  /// `Sun, 06 Nov 1994 08:49:37 GMT`.
  private mutating func readFixed(_ text: Span<UInt8>) -> Bool {
    skip(text, past: ASCII.comma) && skip(text, past: ASCII.space) && number(text, digits: 2, into: \.day)
      && skip(text, past: ASCII.space) && readMonth(text) && skip(text, past: ASCII.space)
      && number(text, digits: 4, into: \.year)
      && readTime(text) && readZone(text)
  }

  /// `Sunday, 06-Nov-94 08:49:37 GMT`.
  private mutating func readRFC850(_ text: Span<UInt8>, weekday: Int, currentYear: () -> Int) -> Bool {
    var length = 0
    while position + length < text.count, text[position + length] != ASCII.comma, length < 7 { length += 1 }
    guard word(text, count: length) == HTTPDateReader.suffixes[weekday], skip(text, past: ASCII.comma),
      skip(text, past: ASCII.space), number(text, digits: 2, into: \.day), skip(text, past: ASCII.hyphen),
      readMonth(text),
      skip(text, past: ASCII.hyphen), number(text, digits: 2, into: \.year)
    else { return false }
    // More than 50 years ahead is the most recent year of the past with these digits.
    let present = currentYear()
    year += present - present % 100
    if year > present + 50 { year -= 100 }
    return readTime(text) && readZone(text)
  }

  /// `Sun Nov  6 08:49:37 1994`.
  private mutating func readASCTime(_ text: Span<UInt8>) -> Bool {
    guard skip(text, past: ASCII.space), readMonth(text), skip(text, past: ASCII.space),
      skip(text, past: ASCII.space)
        ? number(text, digits: 1, into: \.day) : number(text, digits: 2, into: \.day)
    else { return false }
    return readTime(text) && skip(text, past: ASCII.space) && number(text, digits: 4, into: \.year)
  }

  private mutating func readTime(_ text: Span<UInt8>) -> Bool {
    skip(text, past: ASCII.space) && number(text, digits: 2, into: \.hour) && skip(text, past: ASCII.colon)
      && number(text, digits: 2, into: \.minute)
      && skip(text, past: ASCII.colon) && number(text, digits: 2, into: \.second)
  }

  private mutating func readZone(_ text: Span<UInt8>) -> Bool {
    skip(text, past: ASCII.space) && word(text, count: 3) == 0x47_4D54
  }

  private mutating func readMonth(_ text: Span<UInt8>) -> Bool {
    guard let month = HTTPDateReader.month(word(text, count: 3)) else { return false }
    self.month = month
    return true
  }

  private mutating func skip(_ text: Span<UInt8>, past byte: UInt8) -> Bool {
    guard position < text.count, text[position] == byte else { return false }
    position += 1
    return true
  }

  private mutating func number(
    _ text: Span<UInt8>, digits: Int, into field: WritableKeyPath<HTTPDateReader, Int>
  ) -> Bool {
    guard position + digits <= text.count else { return false }
    var value = 0
    for _ in 0..<digits {
      guard ASCII.isDigit(text[position]) else { return false }
      value = value * 10 + Int(text[position] - ASCII.zero)
      position += 1
    }
    self[keyPath: field] = value
    return true
  }

  /// The next bytes, at most eight, in one word; 0 where there are fewer.
  private mutating func word(_ text: Span<UInt8>, count: Int) -> UInt64 {
    guard position + count <= text.count else { return 0 }
    var word: UInt64 = 0
    for _ in 0..<count {
      word = word << 8 | UInt64(text[position])
      position += 1
    }
    return word
  }

  private static func weekday(_ name: UInt64) -> Int? {
    switch name {
    case 0x53_756E: 0
    case 0x4D_6F6E: 1
    case 0x54_7565: 2
    case 0x57_6564: 3
    case 0x54_6875: 4
    case 0x46_7269: 5
    case 0x53_6174: 6
    default: nil
    }
  }

  private static func month(_ name: UInt64) -> Int? {
    switch name {
    case 0x4A_616E: 1
    case 0x46_6562: 2
    case 0x4D_6172: 3
    case 0x41_7072: 4
    case 0x4D_6179: 5
    case 0x4A_756E: 6
    case 0x4A_756C: 7
    case 0x41_7567: 8
    case 0x53_6570: 9
    case 0x4F_6374: 10
    case 0x4E_6F76: 11
    case 0x44_6563: 12
    default: nil
    }
  }
}
