package import CoreTypes
package import PullboxAPI

/// The bounds that a device's owner sets to downloads: how fast, when, and how much a month.
package struct DownloadLimits: Hashable, Sendable {
  /// Bytes a second of all transfers together; nil is no bound.
  package var rate: ByteCount?
  /// When downloads may run; nil is always.
  package var windows: DownloadWindows?
  /// Nil is no bound.
  package var budget: NetworkBudget.Terms?

  package init(
    rate: ByteCount? = nil, windows: DownloadWindows? = nil, budget: NetworkBudget.Terms? = nil
  ) {
    self.rate = rate
    self.windows = windows
    self.budget = budget
  }
}

/// The limits as the clock and the count have them: whether downloads may run, and until when that stays. Pure.
///
/// It is looked at whenever something may have changed; what costs is worked out again when ``nextChange`` is there, when the clock
/// was set, and when the zone is another one.
package struct LimitState: Sendable {
  /// The latest look.
  private struct Look {
    var wall: Timestamp
    var instant: MonotonicInstant
    var offset: Duration
  }

  /// The clock was set when it differs by more than this from what has passed.
  private static let tolerance: Duration = .seconds(1)

  package private(set) var limits: DownloadLimits
  package private(set) var budget: NetworkBudget
  private let calendar: LocalCalendar
  private var look: Look?

  /// When a window opens next; nil while one is open, and without windows.
  package private(set) var opens: Timestamp?
  /// When the window closes; nil while none is open, and for windows without an end.
  package private(set) var closes: Timestamp?
  /// When the budget begins anew; nil without one.
  package private(set) var budgetEnds: Timestamp?

  /// - Parameter budget: the periods that were saved.
  package init(_ limits: DownloadLimits, calendar: LocalCalendar, budget: NetworkBudget = NetworkBudget()) {
    self.limits = limits
    self.calendar = calendar
    self.budget = budget
  }

  /// Whether time changes anything.
  private var dependsOnTime: Bool { limits.windows != nil || limits.budget != nil }

  /// The next moment at which something changes by itself; nil for never.
  package var nextChange: Timestamp? { [opens, closes, budgetEnds].compactMap { $0 }.min() }

  /// The count at which the budget is spent; nil without one.
  package var countLimit: ByteCount? {
    limits.budget.map { budget.end(of: $0.limit) }
  }

  /// Other limits, which count from the next look on.
  package mutating func setLimits(_ limits: DownloadLimits) {
    self.limits = limits
    opens = nil
    closes = nil
    budgetEnds = nil
    if let known = look { look = Look(wall: known.wall, instant: known.instant, offset: .seconds(-1)) }
  }

  /// Looks at the clock; `count` are the bytes that ever came. Whether the periods of the budget have changed, and are to be saved.
  package mutating func look(wall: Timestamp, at instant: MonotonicInstant, count: ByteCount) -> Bool {
    guard dependsOnTime else { return false }
    let offset = calendar.offset(at: wall)
    let expected = look.map { $0.wall + (instant - $0.instant) }
    let difference = expected.map { wall - $0 } ?? .zero
    let wasSet = difference > Self.tolerance || difference < .zero - Self.tolerance
    let known = look
    look = Look(wall: wall, instant: instant, offset: offset)
    guard known?.offset != offset || wasSet || nextChange.map({ $0 <= wall }) ?? false else { return false }
    if let windows = limits.windows {
      let next = windows.nextChange(after: wall, calendar)
      (opens, closes) = windows.contains(wall, calendar) ? (nil, next) : (next, nil)
    }
    guard let terms = limits.budget else { return false }
    let period = terms.period(of: wall, calendar)
    budgetEnds = calendar.start(of: terms.period(after: period))
    let movement: NetworkBudget.Movement =
      switch expected {
      case nil: .unseen
      case let expected? where terms.period(of: expected, calendar) == period: .passed
      default: .wasSet
      }
    return budget.turn(to: period, at: count, by: movement)
  }

  /// For people, at that count.
  package func status(count: ByteCount) -> NetworkLimits? {
    guard limits != DownloadLimits() else { return nil }
    let window = limits.windows.map { _ in NetworkLimits.Window(isOpen: opens == nil, until: opens ?? closes)
    }
    let used = budget.used(at: count)
    let share = limits.budget.map { terms in
      NetworkLimits.Budget(
        limit: terms.limit, used: used, left: max(.zero, terms.limit - used), until: budgetEnds)
    }
    return NetworkLimits(maximumRate: limits.rate, window: window, budget: share)
  }
}
