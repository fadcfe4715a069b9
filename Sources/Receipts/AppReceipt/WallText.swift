import CoreTypes

/// Dates as stores write them for people.
extension Timestamp {
  /// `2018-09-05 05:18:33 Etc/GMT`.
  func wallText(zone: String) -> String {
    let text = rfc3339
    return "\(text.prefix(10)) \(text.dropFirst(11).prefix(8)) \(zone)"
  }

  /// `2018-09-04 22:18:33 America/Los_Angeles`.
  var californiaText: String {
    (self + .seconds(californiaOffset)).wallText(zone: "America/Los_Angeles")
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
