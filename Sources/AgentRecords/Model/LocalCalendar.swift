package import CoreTypes

/// Reads moments as a wall clock and a calendar on the wall show them. Pure but for the zone that it is given.
///
/// ```swift
/// let calendar = LocalCalendar { _ in 3600 }
/// calendar.local(moment).hour
/// calendar.start(of: LocalCalendar.Day(year: 2026, month: 12, day: 1))
/// ```
package struct LocalCalendar: Sendable {
  /// A date without a time.
  package struct Day: Hashable, Comparable, Sendable {
    package var year: Int
    package var month: Int
    package var day: Int

    package init(year: Int, month: Int, day: Int) {
      self.year = year
      self.month = month
      self.day = day
    }

    /// The earlier one is less.
    package static func < (left: Day, right: Day) -> Bool {
      (left.year, left.month, left.day) < (right.year, right.month, right.day)
    }
  }

  /// Seconds by which local time is ahead of UTC at a moment.
  private let offset: @Sendable (Timestamp) -> Int

  /// `offset` gives the seconds by which local time is ahead of UTC at a moment; it changes no more than once in an hour.
  package init(offset: @escaping @Sendable (Timestamp) -> Int) {
    self.offset = offset
  }

  /// The time by which local time is ahead of UTC at that moment.
  package func offset(at moment: Timestamp) -> Duration { .seconds(offset(moment)) }

  /// The date and the time that calendar and clock show at that moment.
  package func local(_ moment: Timestamp) -> UTCDate { (moment + .seconds(offset(moment))).utc }

  package func day(_ moment: Timestamp) -> Day {
    let date = local(moment)
    return Day(year: date.year, month: date.month, day: date.day)
  }

  /// The first moment of that day: where its midnight is left out, the moment behind the gap; where it comes twice, the first one.
  package func start(of day: Day) -> Timestamp {
    let midnight =
      Timestamp(year: day.year, month: day.month, day: day.day) ?? Timestamp(millisecondsSinceEpoch: .max)
    // No zone is more than a day away from UTC.
    return firstMoment(from: midnight - .seconds(86_400), to: midnight + .seconds(86_400)) {
      self.day($0) >= day
    }
  }

  /// The first moment, to a second, at which `holds` is true: it is false at the first, true at the last, and changes once.
  func firstMoment(
    from first: Timestamp, to last: Timestamp, where holds: (Timestamp) -> Bool
  ) -> Timestamp {
    var (low, high) = (first.secondsSinceEpoch, last.secondsSinceEpoch)
    while high - low > 1 {
      let middle = low + (high - low) / 2
      if holds(Timestamp(millisecondsSinceEpoch: middle * 1000)) { high = middle } else { low = middle }
    }
    return Timestamp(millisecondsSinceEpoch: high * 1000)
  }

  /// The first moment behind `moment` at which the zone's offset is another one, no later than `end`; nil where it stays.
  func nextOffsetChange(after moment: Timestamp, until end: Timestamp) -> Timestamp? {
    let known = offset(moment)
    guard offset(end) != known else { return nil }
    return firstMoment(from: moment, to: end) { offset($0) != known }
  }
}
