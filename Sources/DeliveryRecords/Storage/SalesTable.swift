package import Commerce
package import CoreTypes
package import Database
package import DeliveryModel
import Entitlements
import PullboxAPI
package import ServiceAPI

/// The sales in the ledger, counted by day and by the dimensions that a report asks for. Every statement reads the part of
/// an index that the report's days span. Purchases of applications do not count. Its functions read, in the
/// caller's transaction, and throw ``DatabaseError``.
package enum SalesTable {
  /// Which transactions count; nil members ask for nothing.
  package struct Filter: Sendable {
    /// Sales of this product alone.
    package var product: ProductIdentifier?
    /// Sales in this territory alone.
    package var territory: Territory?
    /// Sales that this store has made alone.
    package var store: StoreIdentifier?
    /// Sales of this environment of the stores alone.
    package var environment: StoreEnvironment?

    /// Asks for transactions that have all of these members.
    package init(
      product: ProductIdentifier? = nil, territory: Territory? = nil, store: StoreIdentifier? = nil,
      environment: StoreEnvironment? = nil
    ) {
      self.product = product
      self.territory = territory
      self.store = store
      self.environment = environment
    }
  }

  /// No copy that a restore has made: what was bought once is that of the first, and of two that paid for one period the one that is
  /// named first counts.
  private static let isOwn = """
    (t.original_id = t.transaction_id OR NOT EXISTS (SELECT 1 FROM transactions AS first
      WHERE first.store = t.store AND first.environment = t.environment AND first.transaction_id = t.original_id
        AND first.product = t.product
        AND (t.expires IS NULL OR (first.purchased = t.purchased AND first.expires = t.expires))))
    AND (t.expires IS NULL OR NOT EXISTS (SELECT 1 FROM transactions AS same \(SQLDialect.index("transactions_by_original"))
      WHERE same.store = t.store AND same.environment = t.environment AND same.original_id = t.original_id
        AND same.original_id <> same.transaction_id AND same.product = t.product
        AND same.purchased = t.purchased AND same.expires = t.expires AND same.transaction_id < t.transaction_id))
    """

  /// How far a renewal may begin behind the end of a period `t` that it continues, in milliseconds: as the standard policy says. Of a
  /// short period it is a share, a ratio of seconds: the product with milliseconds would be too large an integer for some dates, which
  /// SQLite makes a real of, and PostgreSQL refuses.
  private static let tolerance: String = {
    let (most, week) = (PublicationPolicy.standard.tolerance, PublicationPolicy.shortestRealPeriod)
    let share = "\(most.components.seconds) / \(week.components.seconds)"
    return """
      CASE WHEN t.expires - t.purchased >= \(week.milliseconds) THEN \(most.milliseconds)
        ELSE (t.expires - t.purchased) * \(share) END
      """
  }()

  /// All counts of events in `from ..< to`, and what was running at `from`, as it is known at `now`: a period has lapsed once a
  /// renewal would begin too late to continue it.
  ///
  /// - Parameters:
  ///   - from: the first moment of the report's first day.
  ///   - to: the first moment behind its last day.
  ///   - now: decides whether a renewal may still come.
  ///   - dimensions: the columns that are told apart, besides the day.
  ///   - unitsAlone: whether subscribers are left out: who is one is asked of all periods that run.
  package static func counts(
    from: Timestamp, to: Timestamp, asOf now: Timestamp, by dimensions: Set<SalesReport.Dimension>,
    matching filter: Filter, unitsAlone: Bool = false,
    in connection: borrowing Connection
  ) throws -> [SalesCount] {
    let question = Question(dimensions: dimensions, filter: filter, from: from, to: to)
    let units =
      try question.count(.sold, by: "purchased", index: "transactions_by_purchase", in: connection)
      + question.count(.refunded, by: "revoked", index: "transactions_by_refund", in: connection)
    guard !unitsAlone else { return units }
    let isFirst = "t.original_id = t.transaction_id AND t.expires IS NOT NULL"
    let later = """
      NOT EXISTS (SELECT 1 FROM transactions AS next \(SQLDialect.index("transactions_by_original"))
        WHERE next.store = t.store AND next.environment = t.environment AND next.original_id = t.original_id
          AND next.original_id <> next.transaction_id AND next.expires > t.expires
          AND next.purchased <= t.expires + \(tolerance) AND next.revoked IS NULL)
      """
    let refunded = "t.revoked IS NOT NULL AND t.revoked < t.expires"
    return try units
      + question.count(
        .began, by: "purchased", index: "transactions_by_purchase", where: isFirst, countsRows: true,
        in: connection)
      + question.count(
        .lapsed, by: "expires", index: "transactions_by_end",
        where:
          "t.revoked IS NULL AND t.expires + \(tolerance) < \(now.millisecondsSinceEpoch) AND \(later)",
        countsRows: true, in: connection)
      + question.count(
        .lapsed, by: "revoked", index: "transactions_by_refund", where: refunded, countsRows: true,
        in: connection)
      + question.count(
        .periodBegan, by: "purchased", index: "transactions_by_purchase", where: "t.expires > t.purchased",
        countsRows: true, in: connection)
      + question.count(
        .periodEnded, by: "expires", index: "transactions_by_end",
        where: "t.expires > t.purchased AND (t.revoked IS NULL OR t.revoked >= t.expires)", countsRows: true,
        in: connection)
      + question.count(
        .periodEnded, by: "revoked", index: "transactions_by_refund",
        where: "\(refunded) AND t.expires > t.purchased", countsRows: true, in: connection)
      + question.running(in: connection)
  }

  /// Transactions of one price, or without one, in a territory.
  package struct Payments: Hashable, Sendable {
    /// The territory that the store told; nil where it told none.
    package var territory: Territory?
    /// Nil where the store told none.
    package var price: Price?
    /// Transactions, whatever their quantity.
    package var count: Int
  }

  /// Returns the payments made in `from ..< to`, or with `refunded` the payments taken back in that time.
  package static func payments(
    refunded: Bool, from: Timestamp, to: Timestamp, matching filter: Filter,
    in connection: borrowing Connection
  ) throws -> [Payments] {
    let question = Question(dimensions: [], filter: filter, from: from, to: to)
    return try refunded
      ? question.payments(by: "revoked", index: "transactions_by_refund", in: connection)
      : question.payments(by: "purchased", index: "transactions_by_purchase", in: connection)
  }

  /// The parts that all statements of one report share.
  private struct Question {
    /// The columns of the dimensions, with a comma before each.
    let columns: String
    let grouping: String
    /// The conditions of the filter, in the order of ``values``.
    let conditions: [String]
    let values: [SQLValue]
    /// The first moment that counts.
    let from: Timestamp
    /// The first moment that counts no more.
    let to: Timestamp

    /// Puts the parts together from names that are constants; values are bound.
    init(
      dimensions: Set<SalesReport.Dimension>, filter: Filter, from: Timestamp, to: Timestamp
    ) {
      let names: [(SalesReport.Dimension, String)] = [
        (.product, "product"), (.territory, "territory"), (.store, "store"), (.environment, "environment"),
      ]
      let wanted = names.filter { dimensions.contains($0.0) }.map(\.1)
      columns = wanted.map { ", t.\($0) AS \($0)" }.joined()
      grouping = wanted.map { ", t.\($0)" }.joined()
      let filters: [(String, SQLValue)?] = [
        filter.product.map { ("t.product = ?", .identifier($0)) },
        filter.territory.map { ("t.territory = ?", .text($0.code)) },
        filter.store.map { ("t.store = ?", .identifier($0)) },
        filter.environment.map { ("t.environment = ?", .choice($0)) },
      ]
      conditions = filters.compactMap { $0?.0 }
      values = filters.compactMap { $0?.1 }
      (self.from, self.to) = (from, to)
    }

    /// Counts the events of one kind by day and group.
    ///
    /// - Parameters:
    ///   - date: the column whose moment is the event's.
    ///   - index: the index that spans the days.
    ///   - condition: SQL beside the filter; nil for none.
    ///   - countsRows: whether rows are counted, and not their quantities.
    func count(
      _ event: SalesCount.Event, by date: String, index: String, where condition: String? = nil,
      countsRows: Bool = false, in connection: borrowing Connection
    ) throws -> [SalesCount] {
      let all =
        [
          "t.\(date) >= ?", "t.\(date) < ?", "t.product IS NOT NULL", "t.origin IS NULL", SalesTable.isOwn,
        ]
        + [condition].compactMap { $0 }
        + conditions
      let number = countsRows ? "count(*)" : "CAST(coalesce(sum(t.quantity), 0) AS BIGINT)"
      return try connection.query(
        """
        SELECT t.\(date) / 86400000 AS day, \(number) AS number\(columns)
        FROM transactions AS t \(SQLDialect.index(index))
        WHERE \(all.joined(separator: " AND ")) GROUP BY day\(grouping)
        """, [.timestamp(from), .timestamp(to)] + values
      ).map { try Self.count(event, $0, day: Int(try $0.integer("day"))) }
    }

    /// Counts the payments by territory and price.
    func payments(
      by date: String, index: String, in connection: borrowing Connection
    ) throws -> [SalesTable.Payments] {
      let all =
        ["t.\(date) >= ?", "t.\(date) < ?", "t.product IS NOT NULL", "t.origin IS NULL", SalesTable.isOwn]
        + conditions
      return try connection.query(
        """
        SELECT t.territory AS territory, t.price AS price, t.currency AS currency, count(*) AS number
        FROM transactions AS t \(SQLDialect.index(index))
        WHERE \(all.joined(separator: " AND ")) GROUP BY t.territory, t.price, t.currency
        """, [.timestamp(from), .timestamp(to)] + values
      ).map { row in
        let price = try row.optionalText("price")
        return SalesTable.Payments(
          territory: try row.optionalText("territory").flatMap { Territory($0) },
          price: try price.flatMap { Price(amount: $0, currency: try row.text("currency")) },
          count: Int(try row.integer("number")))
      }
    }

    /// Periods that had begun before, and were running.
    func running(in connection: borrowing Connection) throws -> [SalesCount] {
      let all =
        [
          "t.expires >= ?", "t.purchased < ?", "(t.revoked IS NULL OR t.revoked >= ?)",
          "t.product IS NOT NULL", "t.expires > t.purchased", SalesTable.isOwn,
        ] + conditions
      return try connection.query(
        """
        SELECT 0 AS day, count(*) AS number\(columns)
        FROM transactions AS t \(SQLDialect.index("transactions_by_end"))
        WHERE \(all.joined(separator: " AND ")) GROUP BY day\(grouping)
        """, [.timestamp(from), .timestamp(from), .timestamp(from)] + values
      ).map { try Self.count(.runningBefore, $0, day: 0) }
    }

    /// Reads a count. A dimension that was not asked for is empty.
    private static func count(_ event: SalesCount.Event, _ row: Row, day: Int) throws -> SalesCount {
      func text(_ column: String) throws -> String {
        row.columns.contains(column) ? try row.optionalText(column) ?? "" : ""
      }
      return SalesCount(
        event: event, day: day,
        group: SalesCount.Group(
          product: try text("product"), territory: try text("territory"), store: try text("store"),
          environment: try text("environment")), count: Int(try row.integer("number")))
    }
  }
}
