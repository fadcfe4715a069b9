public import CoreTypes

/// How long one payment for a subscription lasts, in the calendar's units. As text an ISO 8601 duration of one
/// component: `P1W`, `P1M`, `P1Y`.
public struct BillingPeriod: Hashable, Sendable {
  /// A calendar unit that a period is counted in.
  public enum Unit: Character, Sendable {
    case day = "D"
    case week = "W"
    case month = "M"
    case year = "Y"
  }

  /// How many units, 1 or more.
  public let count: Int
  /// The calendar unit of ``count``.
  public let unit: Unit

  /// One month.
  public static let month = BillingPeriod(count: 1, unit: .month)

  private init(count: Int, unit: Unit) {
    self.count = count
    self.unit = unit
  }

  /// Nil unless `text` is `P`, a number from 1 to 999 and one of `D W M Y`.
  public init?(_ text: String) {
    guard text.first == "P", let last = text.last, let unit = Unit(rawValue: last) else { return nil }
    let digits = text.dropFirst().dropLast()
    guard (1...3).contains(digits.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let count = Int(digits), count > 0
    else { return nil }
    self.init(count: count, unit: unit)
  }

  /// Both in a row, which ends where one of that length does; nil where they are counted in different units.
  package func followed(by other: BillingPeriod) -> BillingPeriod? {
    unit == other.unit ? BillingPeriod(count: count + other.count, unit: unit) : nil
  }

  /// The period in ISO 8601: `P1M`, `P1Y`.
  public var description: String { "P\(count)\(unit.rawValue)" }
}

extension BillingPeriod: LosslessStringCodable {}

extension Timestamp {
  /// The end of a period that begins here, by the calendar in UTC: the same time of day, the same day of the month or,
  /// where the month is too short, its last day. Nil after the year 9999.
  public func adding(_ period: BillingPeriod) -> Timestamp? {
    switch period.unit {
    case .day: return addingDays(period.count)
    case .week: return addingDays(period.count * 7)
    case .month: return addingMonths(period.count)
    case .year: return addingMonths(period.count * 12)
    }
  }

  private func addingDays(_ count: Int) -> Timestamp? {
    let end = self + .seconds(count * 86_400)
    return end.utc.year <= 9999 ? end : nil
  }

  private func addingMonths(_ count: Int) -> Timestamp? {
    let date = utc
    let months = date.year * 12 + date.month - 1 + count
    let year = months / 12
    let month = months % 12 + 1
    return Timestamp(
      year: year, month: month, day: min(date.day, Timestamp.daysIn(month: month, year: year)),
      hour: date.hour, minute: date.minute, second: date.second, millisecond: date.millisecond)
  }
}
