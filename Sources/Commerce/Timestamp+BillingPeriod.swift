public import CoreTypes

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
