/// The calendar date and time of day of a ``Timestamp`` in UTC, by the proleptic Gregorian calendar.
public struct UTCDate: Hashable, Sendable {
  /// 0 to 9999 when it was read from text.
  public var year: Int
  /// 1 to 12.
  public var month: Int
  /// 1 to 31.
  public var day: Int
  /// 0 to 23.
  public var hour: Int
  /// 0 to 59.
  public var minute: Int
  /// 0 to 59: there are no leap seconds in a ``Timestamp``.
  public var second: Int
  /// 0 to 999.
  public var millisecond: Int
  /// 0 is Sunday.
  public var weekday: Int
}

extension Timestamp {
  /// The date and the time of day in UTC.
  public var utc: UTCDate {
    let dayLength: Int64 = 86_400_000
    var days = millisecondsSinceEpoch / dayLength
    var rest = millisecondsSinceEpoch % dayLength
    if rest < 0 {
      rest += dayLength
      days -= 1
    }
    // Days are counted from 0000-03-01, so that the leap day ends a year; 146,097 days make a 400-year era.
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    return UTCDate(
      year: Int(yearOfEra + era * 400 + (month <= 2 ? 1 : 0)),
      month: Int(month),
      day: Int(dayOfYear - (153 * marchMonth + 2) / 5 + 1),
      hour: Int(rest / 3_600_000),
      minute: Int(rest / 60_000 % 60),
      second: Int(rest / 1000 % 60),
      millisecond: Int(rest % 1000),
      weekday: Int(((days % 7) + 11) % 7))
  }

  /// The moment of a date and a time of day in UTC. Nil when a part is out of its calendar range. A leap
  /// second (`:60`) counts as the next second.
  public init?(
    year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0, millisecond: Int = 0
  ) {
    guard (0...9999).contains(year), (1...12).contains(month), (0...23).contains(hour),
      (0...59).contains(minute), (0...60).contains(second), (0...999).contains(millisecond),
      day >= 1, day <= Timestamp.daysIn(month: month, year: year)
    else { return nil }
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    let days = era * 146_097 + dayOfEra - 719_468
    let seconds = Int64(days) * 86_400 + Int64(hour * 3600 + minute * 60 + second)
    self.init(millisecondsSinceEpoch: seconds * 1000 + Int64(millisecond))
  }

  /// 28 to 31. `month` is 1 to 12.
  public static func daysIn(month: Int, year: Int) -> Int {
    switch month {
    case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// The moment in RFC 3339 form, in UTC with milliseconds: `2026-11-21T08:30:00.000Z`.
  public var rfc3339: String {
    let date = utc
    var text: [UInt8] = []
    text.reserveCapacity(24)
    append(date.year, width: 4, before: "-", to: &text)
    append(date.month, width: 2, before: "-", to: &text)
    append(date.day, width: 2, before: "T", to: &text)
    append(date.hour, width: 2, before: ":", to: &text)
    append(date.minute, width: 2, before: ":", to: &text)
    append(date.second, width: 2, before: ".", to: &text)
    append(date.millisecond, width: 3, before: "Z", to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// Reads RFC 3339 (any number of fractional digits, `Z` or an offset with or without its colon, as some
  /// receipts write it). Nil for anything else, an empty string and what is not in the years 0 to 9999 in UTC
  /// included.
  public init?(rfc3339 text: some StringProtocol) {
    var reader = DigitReader(Array(text.utf8))
    guard let year = reader.number(digits: 4), reader.skip("-"), let month = reader.number(digits: 2),
      reader.skip("-"), let day = reader.number(digits: 2), reader.skip("T") || reader.skip("t"),
      let hour = reader.number(digits: 2), reader.skip(":"), let minute = reader.number(digits: 2),
      reader.skip(":"), let second = reader.number(digits: 2)
    else { return nil }
    var millisecond = 0
    if reader.skip(".") {
      guard let fraction = reader.milliseconds() else { return nil }
      millisecond = fraction
    }
    guard let offset = reader.offsetInMinutes(), reader.isAtEnd,
      let local = Timestamp(
        year: year, month: month, day: day, hour: hour, minute: minute, second: second,
        millisecond: millisecond)
    else { return nil }
    self = local - .seconds(offset * 60)
    // An offset or a leap second can lead out of the years that four digits can tell.
    guard (0...9999).contains(utc.year) else { return nil }
  }
}

extension Timestamp: CustomStringConvertible {
  /// The moment in the form of ``rfc3339``.
  public var description: String { rfc3339 }
}

extension Timestamp: Codable {
  /// Reads a string in the form that ``init(rfc3339:)`` reads.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let timestamp = Timestamp(rfc3339: text) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an RFC 3339 date: \(text)")
    }
    self = timestamp
  }

  /// Writes a string in the form of ``rfc3339``.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rfc3339)
  }
}

private func append(_ value: Int, width: Int, before end: Unicode.Scalar, to text: inout [UInt8]) {
  let digits = String(value).utf8
  for _ in 0..<max(0, width - digits.count) { text.append(UInt8(ascii: "0")) }
  text.append(contentsOf: digits)
  text.append(UInt8(ascii: end))
}

/// Reads fixed-width decimal fields from ASCII.
private struct DigitReader {
  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  var isAtEnd: Bool { position == bytes.count }

  mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard position < bytes.count, UInt32(bytes[position]) == character.value else { return false }
    position += 1
    return true
  }

  mutating func number(digits: Int) -> Int? {
    guard position + digits <= bytes.count else { return nil }
    var value = 0
    for byte in bytes[position..<position + digits] {
      guard (0x30...0x39).contains(byte) else { return nil }
      value = value * 10 + Int(byte - 0x30)
    }
    position += digits
    return value
  }

  /// One digit or more; those past the third are dropped.
  mutating func milliseconds() -> Int? {
    var value = 0
    var count = 0
    while position < bytes.count, (0x30...0x39).contains(bytes[position]) {
      if count < 3 { value = value * 10 + Int(bytes[position] - 0x30) }
      count += 1
      position += 1
    }
    guard count > 0 else { return nil }
    for _ in count..<max(count, 3) { value *= 10 }
    return value
  }

  mutating func offsetInMinutes() -> Int? {
    if skip("Z") || skip("z") { return 0 }
    let sign: Int
    if skip("+") { sign = 1 } else if skip("-") { sign = -1 } else { return nil }
    guard let hours = number(digits: 2), hours <= 23 else { return nil }
    _ = skip(":")
    guard let minutes = number(digits: 2), minutes <= 59 else { return nil }
    return sign * (hours * 60 + minutes)
  }
}
