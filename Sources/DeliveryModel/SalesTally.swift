import Commerce
package import CoreTypes
import PullboxAPI
package import ServiceAPI

/// The number of events of one kind in the ledger, for one day and one group.
package struct SalesCount: Hashable, Sendable {
  /// The kind of an event.
  package enum Event: Hashable, Sendable {
    /// A payment was made; its quantity counts.
    case sold
    /// A payment was taken back; its quantity counts.
    case refunded
    /// A subscription's first period began.
    case began
    /// A subscription ended without a renewal, or was refunded before its end.
    case lapsed
    /// A period of a subscription begins, be it the first or a renewal.
    case periodBegan
    /// A period ends, by its time or by a refund.
    case periodEnded
    /// Before the first day of the report.
    case runningBefore
  }

  /// The values of the dimensions that are told apart, but for the day. A dimension that the report does not
  /// ask for is empty.
  package struct Group: Hashable, Comparable, Sendable {
    /// The product's identifier; empty unless a report asks for it.
    package var product: String
    /// The territory as the store spells it; empty unless a report asks for it.
    package var territory: String
    /// The store's name; empty unless a report asks for it.
    package var store: String
    /// The store's environment; empty unless a report asks for it.
    package var environment: String

    /// Without arguments, the one group of a report that tells only days apart.
    package init(product: String = "", territory: String = "", store: String = "", environment: String = "") {
      self.product = product
      self.territory = territory
      self.store = store
      self.environment = environment
    }

    /// By product, then territory, store and environment.
    package static func < (left: Group, right: Group) -> Bool {
      (left.product, left.territory, left.store, left.environment)
        < (right.product, right.territory, right.store, right.environment)
    }
  }

  /// The kind of the counted events.
  package var event: Event
  /// Since the epoch, in UTC.
  package var day: Int
  /// The row that the count belongs to.
  package var group: Group
  /// Payments by their quantity, periods one by one.
  package var count: Int

  /// `day` counts days since the epoch in UTC; `count` is not negative.
  package init(event: Event, day: Int, group: Group, count: Int) {
    self.event = event
    self.day = day
    self.group = group
    self.count = count
  }
}

/// Puts counts of events together to a report. Pure.
///
/// Active periods are counted forward from those that ran before the first day: each day begins and ends periods. A renewal
/// that begins as the period before it ends changes nothing.
package struct SalesTally {
  /// The sums of one day and group.
  private struct Day {
    var units = 0
    var refunds = 0
    var began = 0
    var lapsed = 0
    /// Periods that began less those that ended.
    var change = 0
  }

  private static let dayLength: Int64 = 86_400_000

  private let days: Range<Int>
  private let dimensions: Set<SalesReport.Dimension>
  private var groups: [SalesCount.Group: [Int: Day]] = [:]
  private var running: [SalesCount.Group: Int] = [:]

  /// Begins a report of these days since the epoch, in UTC.
  package init(days: Range<Int>, dimensions: Set<SalesReport.Dimension>) {
    self.days = days
    self.dimensions = dimensions
  }

  /// The day of a moment, in UTC.
  package static func day(of moment: Timestamp) -> Int { Int(moment.millisecondsSinceEpoch / dayLength) }

  /// The first moment of a day.
  package static func start(of day: Int) -> Timestamp {
    Timestamp(millisecondsSinceEpoch: Int64(day) * dayLength)
  }

  /// Adds a count. One of another day than the report's is left out.
  package mutating func add(_ count: SalesCount) {
    if count.event == .runningBefore {
      running[count.group, default: 0] += count.count
      return
    }
    guard days.contains(count.day) else { return }
    var day = groups[count.group]?[count.day] ?? Day()
    switch count.event {
    case .sold: day.units += count.count
    case .refunded: day.refunds += count.count
    case .began: day.began += count.count
    case .lapsed: day.lapsed += count.count
    case .periodBegan: day.change += count.count
    case .periodEnded: day.change -= count.count
    case .runningBefore: break
    }
    groups[count.group, default: [:]][count.day] = day
  }

  /// In the order of days, then of the other dimensions. Nil where there are more than `maximumRows`. Without
  /// the dimension of days, each group has one row, whose active periods are those at the end. Rows in which
  /// nothing happened and nothing runs are left out.
  package func rows(atMost maximumRows: Int) -> [SalesReport.Row]? {
    var rows: [(day: Int, group: SalesCount.Group, row: SalesReport.Row)] = []
    for group in Set(groups.keys).union(running.keys) {
      var active = running[group] ?? 0
      var sum = Day()
      for day in days {
        let counts = groups[group]?[day] ?? Day()
        active += counts.change
        guard dimensions.contains(.day) else {
          sum.units += counts.units
          sum.refunds += counts.refunds
          sum.began += counts.began
          sum.lapsed += counts.lapsed
          continue
        }
        rows.append((day, group, row(of: group, on: day, counts, active: active)))
        if rows.last?.row.isEmpty == true { rows.removeLast() }
        guard rows.count <= maximumRows else { return nil }
      }
      if !dimensions.contains(.day) {
        rows.append((0, group, row(of: group, on: nil, sum, active: active)))
        if rows.last?.row.isEmpty == true { rows.removeLast() }
        guard rows.count <= maximumRows else { return nil }
      }
    }
    return rows.sorted { ($0.day, $0.group) < ($1.day, $1.group) }.map(\.row)
  }

  /// Returns a row with those dimensions alone that the report asks for. An empty territory is `unknown`.
  private func row(
    of group: SalesCount.Group, on day: Int?, _ counts: Day, active: Int
  ) -> SalesReport.Row {
    SalesReport.Row(
      day: day.map { String(Self.start(of: $0).description.prefix(10)) },
      product: dimensions.contains(.product) ? ProductIdentifier(group.product) : nil,
      territory: dimensions.contains(.territory)
        ? (group.territory.isEmpty ? "unknown" : group.territory) : nil,
      store: dimensions.contains(.store) ? StoreIdentifier(group.store) : nil,
      environment: dimensions.contains(.environment) ? StoreEnvironment(rawValue: group.environment) : nil,
      units: counts.units, refunds: counts.refunds, newSubscribers: counts.began, lapsed: counts.lapsed,
      active: max(0, active))
  }
}

extension SalesReport.Row {
  fileprivate var isEmpty: Bool {
    units == 0 && refunds == 0 && newSubscribers == 0 && lapsed == 0 && active == 0
  }
}
