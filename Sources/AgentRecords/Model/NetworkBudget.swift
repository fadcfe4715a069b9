package import CoreTypes

/// A budget of bytes a month: which period a moment belongs to, and what of its budget is used, whatever becomes of the clock. Pure.
///
/// The bytes that ever came are counted by one number that only grows (``ByteMeter``), and each period that the clock has shown keeps what
/// is used of its budget, which never becomes less. So no period has more than its budget. Besides:
///
/// - a clock that is set back leaves no more than there was: the earlier period has used as much as the one that it left at least, and
///   what came since the clock showed it first;
/// - one that goes to a period which it never showed, and which is not later than all that it did, goes on with the budget that it had,
///   unless time passed under the agent's eyes;
/// - a clock that was ahead, and is put right, goes on with its month, in which what came meanwhile counts. The months that follow have
///   their budgets, and one that was shown too early has the rest of its own.
package struct NetworkBudget: Hashable, Sendable {
  /// The amount, and the day on which it begins anew.
  package struct Terms: Hashable, Sendable {
    package var limit: ByteCount
    /// 1 to 31; in a month without it, the last day.
    package var day: Int

    package init(limit: ByteCount, day: Int = 1) {
      self.limit = limit
      self.day = day
    }

    /// The first day of the period that `moment` lies in.
    package func period(of moment: Timestamp, _ calendar: LocalCalendar) -> LocalCalendar.Day {
      let today = calendar.day(moment)
      let first = self.first(year: today.year, month: today.month)
      return first <= today ? first : self.first(year: today.year, month: today.month - 1)
    }

    /// The first day of the period that follows.
    package func period(after period: LocalCalendar.Day) -> LocalCalendar.Day {
      first(year: period.year, month: period.month + 1)
    }

    /// `month` is 0 to 13.
    private func first(year: Int, month: Int) -> LocalCalendar.Day {
      let year = month < 1 ? year - 1 : month > 12 ? year + 1 : year
      let month = (month + 11) % 12 + 1
      return LocalCalendar.Day(
        year: year, month: month, day: min(day, Timestamp.daysIn(month: month, year: year)))
    }
  }

  /// A period that the clock has shown.
  package struct Period: Hashable, Sendable {
    package let first: LocalCalendar.Day
    /// The bytes of its budget that were used at ``mark``.
    package var used: ByteCount
    /// The count when the clock came to it, or left it.
    package var mark: ByteCount
    /// Whether the clock is there.
    package var isCurrent: Bool
    /// Whether it goes on with the budget of another one.
    package var isBorrowed: Bool
    /// Whether the clock showed it before its time.
    package var isAhead: Bool

    package init(
      first: LocalCalendar.Day, used: ByteCount, mark: ByteCount, isCurrent: Bool = true,
      isBorrowed: Bool = false, isAhead: Bool = false
    ) {
      self.first = first
      self.used = used
      self.mark = mark
      self.isCurrent = isCurrent
      self.isBorrowed = isBorrowed
      self.isAhead = isAhead
    }
  }

  /// How the clock came to show another period.
  package enum Movement: Hashable, Sendable {
    /// Time passed, under the agent's eyes.
    case passed
    /// The clock was set.
    case wasSet
    /// The agent was away.
    case unseen
  }

  /// Periods that are kept, at most: what is older counts as never seen.
  package static let maximumPeriods = 240

  /// By their first day.
  package private(set) var periods: [Period]

  /// `periods` are those that were saved, in any order.
  package init(_ periods: [Period] = []) {
    self.periods = periods.sorted { $0.first < $1.first }
  }

  /// The period that the clock showed last.
  package var current: Period? { periods.first(where: \.isCurrent) }

  /// The bytes of the current period that are used, at that count.
  package func used(at count: ByteCount) -> ByteCount {
    current.map { $0.used + (count - $0.mark) } ?? .zero
  }

  /// The count at which a budget of so many bytes is spent.
  package func end(of limit: ByteCount) -> ByteCount {
    current.map { $0.mark + (limit - $0.used) } ?? limit
  }

  /// The clock shows the period that begins with `first`, at that count. Whether anything changed.
  package mutating func turn(
    to first: LocalCalendar.Day, at count: ByteCount, by movement: Movement
  ) -> Bool {
    guard current?.first != first else { return false }
    let (before, used) = (current, used(at: count))
    for index in periods.indices where periods[index].isCurrent {
      periods[index].used = used
      periods[index].mark = count
      periods[index].isCurrent = false
    }
    let isForward = before.map { $0.first < first } ?? true
    if let index = periods.firstIndex(where: { $0.first == first }) {
      let period = periods[index]
      let meanwhile = period.used + (count - period.mark)
      if !isForward {
        periods[index].used = max(meanwhile, used)
        noteAhead(of: first)
      } else if movement == .wasSet || period.isBorrowed || before?.isBorrowed == true {
        periods[index].used = meanwhile
      }
      periods[index].mark = count
      periods[index].isCurrent = true
      periods[index].isAhead = false
    } else {
      let isLatest = !periods.contains { $0.first > first && !$0.isAhead }
      let isFresh = isForward && (isLatest || movement == .passed)
      periods.append(
        Period(first: first, used: isFresh ? .zero : used, mark: count, isBorrowed: !isFresh))
      periods.sort { $0.first < $1.first }
      if isFresh { noteAhead(of: first) }
    }
    prune()
    return true
  }

  /// The clock showed the later ones too early.
  private mutating func noteAhead(of first: LocalCalendar.Day) {
    for index in periods.indices where periods[index].first > first { periods[index].isAhead = true }
  }

  /// The oldest go first.
  private mutating func prune() {
    while periods.count > Self.maximumPeriods,
      let oldest = periods.firstIndex(where: { !$0.isCurrent })
    {
      periods.remove(at: oldest)
    }
  }
}
