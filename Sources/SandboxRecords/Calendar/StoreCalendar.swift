import Commerce
package import CoreTypes

/// How long a month lasts in this store, and with it every period, so that a subscription's course is seen in minutes.
///
/// The default and the proportions are those of Apple's sandbox: a month of five minutes, a week of three, a year of
/// sixty, and six renewals (docs/sandbox-store.md has the table).
package struct StoreCalendar: Hashable, Sendable {
  /// `real`, or a number with a unit: `5m`.
  package let month: String
  /// Renewals of one purchase, after which it ends.
  package let renewals: Int
  /// Nil for the calendar in UTC.
  private let monthLength: Duration?

  /// The calendar of a store until a test sets another one.
  static let standard = StoreCalendar(month: "5m", length: .seconds(300), renewals: 6)

  /// Renewals that a test may set. With 0 a purchase is never renewed.
  static let renewalRange = 0...100
  /// The least length of a period: shorter ones are lengthened to it.
  static let shortestPeriod = Duration.milliseconds(500)
  /// Lengths that a test may give a month; `real` stands beside them.
  private static let monthRange = Duration.seconds(2)...Duration.seconds(31 * 86_400)

  /// Nil unless `month` is `real` or from `2s` to 31 days in `s`, `m` or `h`, and `renewals` from 0 to 100.
  package init?(month: String, renewals: Int) {
    guard Self.renewalRange.contains(renewals) else { return nil }
    if month == "real" {
      self.init(month: month, length: nil, renewals: renewals)
      return
    }
    let digits = month.dropLast()
    guard let unit = month.last.flatMap({ Self.units[$0] }), (1...7).contains(digits.utf8.count),
      digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int64(digits),
      Self.monthRange.contains(.seconds(count * unit))
    else { return nil }
    self.init(month: month, length: .seconds(count * unit), renewals: renewals)
  }

  private init(month: String, length: Duration?, renewals: Int) {
    self.month = month
    monthLength = length
    self.renewals = renewals
  }

  /// Seconds of each unit.
  private static let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600]

  /// The end of a period that begins at `start`: by the calendar on that day of the month, where the period is one of months and the month
  /// has it. Nil after the year 9999.
  ///
  /// - Parameter day: the anniversary; nil for the day that the calendar gives. It counts with `real` only,
  ///   and for months and years only.
  func end(of period: BillingPeriod, from start: Timestamp, onDay day: Int? = nil) -> Timestamp? {
    if let length = length(of: period) { return start + length }
    guard let end = start.adding(period), let day, !period.isShort else { return start.adding(period) }
    let date = end.utc
    return Timestamp(
      year: date.year, month: date.month,
      day: min(day, Timestamp.daysIn(month: date.month, year: date.year)), hour: date.hour,
      minute: date.minute, second: date.second, millisecond: date.millisecond)
  }

  /// The day of the month that the ends of months keep to, `before` one that began at `start`: a month that is too short for it ends on
  /// its last day, and the next one on the day again. Nil where `end` has the day itself.
  static func anniversary(of start: Timestamp, endingAt end: Timestamp, before: Int? = nil) -> Int? {
    let (day, date) = (before ?? start.utc.day, end.utc)
    let isLast = date.day == Timestamp.daysIn(month: date.month, year: date.year)
    return isLast && date.day < day ? day : nil
  }

  /// The end of the grace period that begins where a paid period ends: 6 days after a week, 16 after anything
  /// longer. In proportion that is half a month, and for a week six sevenths of a week of the store's,
  /// rounded to seconds.
  func graceEnd(after period: BillingPeriod, from start: Timestamp) -> Timestamp {
    guard let monthLength else { return start + .seconds((period.isShort ? 6 : 16) * 86_400) }
    guard period.isShort else { return start + max(monthLength / 2, Self.shortestPeriod) }
    // Six days of the week, in whole seconds.
    let seconds = (Self.week(of: monthLength) * 6 / 7 + .milliseconds(500)).components.seconds
    return start + max(.seconds(seconds), Self.shortestPeriod)
  }

  /// The end of the attempts to collect a payment: 60 days. In proportion two months.
  func retryEnd(from start: Timestamp) -> Timestamp {
    start + (monthLength.map { $0 * 2 } ?? .seconds(60 * 86_400))
  }

  /// When an approval that was waited for is refused: a day, a thirtieth of a month.
  package func approvalEnd(from start: Timestamp) -> Timestamp {
    start + (monthLength.map { max($0 / 30, Self.shortestPeriod) } ?? .seconds(86_400))
  }

  /// When a purchase that was not acknowledged is given back: after three days, a tenth of a month.
  package func acknowledgementEnd(from start: Timestamp) -> Timestamp {
    start + (monthLength.map { max($0 / 10, Self.shortestPeriod) } ?? .seconds(3 * 86_400))
  }

  /// When a volume license that was taken back opens nothing any more: after thirty days, a month.
  package func licenseEnd(from start: Timestamp) -> Timestamp {
    start + (monthLength ?? .seconds(30 * 86_400))
  }

  /// Nil for the calendar in UTC. The length has whole milliseconds and is never below ``shortestPeriod``.
  private func length(of period: BillingPeriod) -> Duration? {
    guard let monthLength else { return nil }
    let unit: Duration
    switch period.unit {
    case .day: unit = Self.week(of: monthLength) / 7
    case .week: unit = Self.week(of: monthLength)
    case .month: unit = monthLength
    case .year: unit = monthLength * 12
    }
    let milliseconds = (unit * period.count).components
    // Dates are whole milliseconds.
    let length = Duration.milliseconds(
      milliseconds.seconds * 1000 + milliseconds.attoseconds / 1_000_000_000_000_000)
    return max(length, Self.shortestPeriod)
  }

  /// The columns of the table, and three fifths of a month for what it does not have.
  private static func week(of month: Duration) -> Duration {
    weeks[month] ?? month * 3 / 5
  }

  private static let weeks: [Duration: Duration] = [
    .seconds(30): .seconds(10), .seconds(180): .seconds(180), .seconds(900): .seconds(300),
    .seconds(1800): .seconds(600), .seconds(3600): .seconds(900),
  ]
}

extension BillingPeriod {
  /// Less than a month: the grace after it is that of a week.
  fileprivate var isShort: Bool { unit == .day || unit == .week }
}

extension StoreCalendar {
  /// A real time in proportion to this month, of which a real one has thirty days; at least a tenth of a
  /// second. With `real` it is the time itself.
  package func contracted(_ real: Duration) -> Duration {
    let epoch = Timestamp(millisecondsSinceEpoch: 0)
    guard month != "real", let end = end(of: .month, from: epoch) else { return real }
    let milliseconds = real.milliseconds.multipliedFullWidth(by: (end - epoch).milliseconds)
    let month: Int64 = 30 * 86_400_000
    return .milliseconds(max(100, month.dividingFullWidth(milliseconds).quotient))
  }
}

extension Timestamp {
  /// Receipts know whole seconds only, so the store's dates of purchases are whole too.
  package var wholeSeconds: Timestamp { Timestamp(millisecondsSinceEpoch: secondsSinceEpoch * 1000) }
}
