import CoreTypes

/// `verifyReceipt` writes every date three times: `x` in GMT, `x_ms` in milliseconds, `x_pst` in California's time.
extension KeyedDecodingContainer where Key == VerifyReceiptKey {
  /// The milliseconds, or else the first spelling: in GMT, in RFC 3339, or (in old answers) again milliseconds. Nil
  /// when there is none, or an empty one.
  func date(_ name: String) throws -> Timestamp? {
    if let milliseconds = try lenientInteger(VerifyReceiptKey(name + "_ms")) {
      return Timestamp(millisecondsSinceEpoch: milliseconds)
    }
    guard let text = try lenientText(VerifyReceiptKey(name)), !text.isEmpty else { return nil }
    if let milliseconds = Int64(text) { return Timestamp(millisecondsSinceEpoch: milliseconds) }
    let parts = text.split(separator: " ")
    let rfc3339 = parts.count == 3 && parts[2] == "Etc/GMT" ? "\(parts[0])T\(parts[1])Z" : text
    guard let date = Timestamp(rfc3339: rfc3339) else {
      throw DecodingError.dataCorruptedError(
        forKey: VerifyReceiptKey(name), in: self, debugDescription: "not a date: \(text)")
    }
    return date
  }
}

extension KeyedEncodingContainer where Key == VerifyReceiptKey {
  /// Nothing for nil.
  mutating func encode(date: Timestamp?, _ name: String) throws {
    guard let date else { return }
    try encode(date.wallText(zone: "Etc/GMT"), forKey: VerifyReceiptKey(name))
    try encode(String(date.millisecondsSinceEpoch), forKey: VerifyReceiptKey(name + "_ms"))
    try encode(
      (date + .seconds(date.californiaOffset)).wallText(zone: "America/Los_Angeles"),
      forKey: VerifyReceiptKey(name + "_pst"))
  }
}

extension Timestamp {
  /// `2018-09-05 05:18:33 Etc/GMT`.
  fileprivate func wallText(zone: String) -> String {
    let text = rfc3339
    return "\(text.prefix(10)) \(text.dropFirst(11).prefix(8)) \(zone)"
  }

  /// Seconds that California's clocks are ahead of UTC, by the rules in force since 2007: summer time from the second
  /// Sunday of March to the first Sunday of November, each at 2 o'clock local time.
  fileprivate var californiaOffset: Int64 {
    let year = utc.year
    guard let spring = Timestamp.sunday(2, month: 3, year: year, hour: 10),
      let autumn = Timestamp.sunday(1, month: 11, year: year, hour: 9)
    else { return -8 * 3600 }
    return spring <= self && self < autumn ? -7 * 3600 : -8 * 3600
  }

  private static func sunday(_ ordinal: Int, month: Int, year: Int, hour: Int) -> Timestamp? {
    guard let first = Timestamp(year: year, month: month, day: 1) else { return nil }
    let day = 1 + (7 - first.utc.weekday) % 7 + (ordinal - 1) * 7
    return Timestamp(year: year, month: month, day: day, hour: hour)
  }
}
