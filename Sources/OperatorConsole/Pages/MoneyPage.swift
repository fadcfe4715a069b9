import Commerce
import CoreTypes
import PullboxAPI
import PullboxAPIServer
import ServiceAPI

/// The page of money: what was sold, paid and given back, by period, product and territory, with the same as CSV.
struct MoneyPage {
  private let visit: Visit
  private var words: Words { visit.words }

  init(_ visit: Visit) {
    self.visit = visit
  }

  /// The order of the rows of sold units, where the address asks for another one than the report's own.
  private enum Order: String, CaseIterable {
    case units, refunds

    var phrase: Phrase {
      switch self {
      case .units: .mostUnitsFirst
      case .refunds: .mostRefundsFirst
      }
    }

    func count(of row: SalesReport.Row) -> Int {
      switch self {
      case .units: row.units
      case .refunds: row.refunds
      }
    }
  }

  private static let filters = ["from", "to", "product", "territory", "store", "environment"]

  func page() async throws -> Page {
    try visit.request.requireQuery(only: Set(Self.filters + ["by", "order", "notice"]))
    let order = try order()
    let filter = Self.filters.map { ($0, visit.value($0)) }
    let by = visit.value("by") ?? "product"
    let report = Address.interface("reports", query: filter + [("by", by)])
    let sums = Address.interface("reports", "money", query: filter)
    async let sold = visit.get(report, as: SalesReport.self)
    async let days = visit.get(.interface("reports", query: filter + [("by", "day")]), as: SalesReport.self)
    async let paid = visit.get(sums, as: MoneyReport.self)
    let (sales, course, money) = await (sold, days, paid)
    return Page(words(.money), in: .money, reading: sums, command: "pullbox report --by \(shellWord(by))") {
      Parts.filters(.console("money"), words) {
        Parts.field(words(.fromDay), "from", visit.value("from"), .date)
        Parts.field(words(.toDay), "to", visit.value("to"), .date)
        Parts.field(words(.product), "product", visit.value("product"), .search)
        Parts.field(
          words(.territory), "territory", visit.value("territory"), .search, hint: words(.territoryHint))
        Parts.field(words(.store), "store", visit.value("store"), .search)
        Parts.choice(
          words(.environment), "environment", visit.value("environment"),
          [("", "Production"), ("Sandbox", "Sandbox")])
        Parts.choice(
          words(.by), "by", by,
          [
            ("product", words(.product)), ("territory", words(.territory)), ("store", words(.store)),
            ("day", words(.day)), ("product,territory", "\(words(.product)), \(words(.territory))"),
          ])
        Parts.choice(
          words(.listOrder), "order", order?.rawValue,
          [("", words(.asCounted))] + Order.allCases.map { ($0.rawValue, words($0.phrase)) })
      }
      Parts.section(words(.paid), money, words) { self.money($0) }
      Parts.section(words(.soldUnits), sales, words) { report in
        element(.p) {
          element(.a, .href(Layout.json(self.csv(filter, by)))) { words(.asCSV) }
        }
        self.sales(report, by: order)
      }
      switch course {
      case .failure(let problem): Parts.problem(problem, words)
      case .success(let report): SalesChart(report: report, words: words).markup
      }
    }
  }

  private func csv(_ filter: [(String, String?)], _ by: String) -> Address {
    .interface("reports", query: filter + [("by", by), ("format", "csv")])
  }

  private func money(_ report: MoneyReport) -> Markup {
    Markup([
      element(.p) {
        Parts.time(report.from, words)
        " – "
        Parts.time(report.to, words)
      },
      report.rows.isEmpty
        ? element(.p) { words(.nothingPaid) }
        : Parts.table(
          words(.paid),
          [words(.territory), words(.sales), words(.soldFor), words(.refunds), words(.givenBack)],
          report.rows.map { row in
            [
              .init(Parts.name(row.territory)), .numeric(words.number(row.sales)),
              .numeric(words.money(row.sold, row.currency)), .numeric(words.number(row.refunds)),
              .numeric(words.money(row.refunded, row.currency)),
            ]
          }),
      element(.p, .look(.hint)) { words(.withoutPrice, words.number(report.withoutPrice)) },
    ])
  }

  /// Rows that a page shows, at most; the file has all of them.
  private static let shownRows = 200

  /// Nil for the report's own order. Throws `request-malformed` for an order that there is not.
  private func order() throws(Problem) -> Order? {
    guard let text = visit.value("order") else { return nil }
    guard let order = Order(rawValue: text) else {
      let known = Order.allCases.map(\.rawValue).joined(separator: " or ")
      throw Problem(.requestMalformed, "order is \(known), or left out; it cannot be '\(text)'")
    }
    return order
  }

  /// The rows in that order; of equal ones the report's own.
  private func ordered(_ rows: [SalesReport.Row], by order: Order?) -> [SalesReport.Row] {
    guard let order else { return rows }
    return rows.enumerated().sorted {
      (order.count(of: $1.element), $0.offset) < (order.count(of: $0.element), $1.offset)
    }.map(\.element)
  }

  private func sales(_ report: SalesReport, by order: Order?) -> Markup {
    guard !report.rows.isEmpty else { return element(.p) { words(.nothingSold) } }
    let shown = ordered(report.rows, by: order).prefix(Self.shownRows)
    let table = Parts.table(
      words(.soldUnits),
      [
        words(.whatIsCounted), words(.units), words(.refunds), words(.newSubscribers), words(.lapsed),
        words(.active),
      ],
      shown.map { row in
        let names = [row.day, row.product?.description, row.territory, row.store?.description]
        return [
          .init(Parts.name(names.compactMap { $0 }.joined(separator: ", "))),
          .numeric(words.number(row.units)), .numeric(words.number(row.refunds)),
          .numeric(words.number(row.newSubscribers)), .numeric(words.number(row.lapsed)),
          .numeric(words.number(row.active)),
        ]
      })
    guard shown.count < report.rows.count else { return table }
    return Markup([
      table,
      element(.p, .look(.hint)) {
        words(.moreRows, words.number(shown.count), words.number(report.rows.count))
      },
    ])
  }
}
