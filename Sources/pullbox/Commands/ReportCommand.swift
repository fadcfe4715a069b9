import Files
import PullboxAPI
import PullboxKit
import PullboxOperatorKit
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// `report`: figures of sales, made by the server. The filters go to it as they are, and it refuses those
/// that cannot be.
enum ReportCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "report", summary: "Show what was sold, by day, product, territory, store and environment",
    discussion: """
      Units include renewals and free products. A subscription is active on a day if it
      is paid for at the day's end; it has lapsed when its period ended and none followed.
      Days are those of UTC; without --from and --to the last 31. No customer is named.
      Sales of a sandbox count only with --environment Sandbox, or where --by tells
      environments apart.

      --money shows what was paid and given back, by territory and currency, as far as
      stores tell prices: signed transactions and Google Play do, app receipts do not.
      """,
    options: [
      .value("from", "DAY", environment: .none, help: "First day, such as 2026-11-01"),
      .value("to", "DAY", environment: .none, help: "Last day"),
      .value(
        "by", "LIST", environment: .none,
        help: "Group the figures by these, with commas between: day, product, territory, store, environment"),
      .value("product", "ID", environment: .none, help: "Only this product"),
      .value("territory", "CODE", environment: .none, help: "Only sold there, such as FRA"),
      .value("sold-by", "NAME", environment: .none, help: "Only sold by the store of that name"),
      .value("environment", "NAME", environment: .none, help: "Only Production or Sandbox"),
      .flag("money", environment: .none, help: "Sums of money by territory and currency"),
      .value("csv", "FILE", environment: .none, help: "Write comma-separated values to this file"),
    ])

  /// `--csv` writes the server's own bytes, and replaces the file durably.
  static func run(_ context: CommandContext) async throws {
    let names = ["from", "to", "by", "product", "territory", "sold-by", "environment"]
    let query = names.compactMap { name in
      context.arguments.value(name).map { (name == "sold-by" ? "store" : name, $0) }
    }
    let client = try context.operatorClient()
    if context.arguments.isSet("money") {
      for name in ["by", "csv"] where context.arguments.value(name) != nil {
        throw UsageError("--money takes no --\(name)")
      }
      return try print(try await client.moneyReport(query), context)
    }
    if let path = context.arguments.value("csv") {
      let bytes = try await client.salesReportText(query)
      try await BlockingPool.shared.run { () throws(SystemError) in
        try DurableFile.write(bytes.span, to: path, permissions: 0o644, ifPresent: .replace)
      }
      context.console.note("\(path): \(CountText.of(bytes.count { $0 == 0x0A } - 1, "row"))")
      return
    }
    let report = try await client.salesReport(query)
    if context.console.printsJSON {
      for row in report.rows { try context.console.print(json: row) }
      return
    }
    try context.console.print(
      report.rows,
      columns: [
        .text("DAY"), .name("PRODUCT"), .text("TERRITORY"), .name("STORE"), .text("ENVIRONMENT"),
        .number("UNITS"), .number("REFUNDS"), .number("NEW"), .number("LAPSED"), .number("ACTIVE"),
      ], whenEmpty: emptyText(context.arguments)
    ) { row in
      [
        row.day ?? "", row.product?.description ?? "", row.territory ?? "", row.store?.description ?? "",
        row.environment?.rawValue ?? "", String(row.units), String(row.refunds), String(row.newSubscribers),
        String(row.lapsed), String(row.active),
      ]
    }
  }

  /// Sums are the server's texts, and are not added up here.
  private static func print(_ report: MoneyReport, _ context: CommandContext) throws {
    if context.console.printsJSON {
      try context.console.print(json: report)
      return
    }
    try context.console.print(
      report.rows,
      columns: [
        .text("TERRITORY"), .text("CURRENCY"), .number("SALES"), .number("SOLD"), .number("REFUNDS"),
        .number("REFUNDED"),
      ], whenEmpty: emptyText(context.arguments)
    ) { row in
      [row.territory, row.currency, String(row.sales), row.sold, String(row.refunds), row.refunded]
    }
    if report.withoutPrice > 0 {
      context.console.note(
        "\(CountText.of(report.withoutPrice, "sale")) without a price \(report.withoutPrice == 1 ? "is" : "are") not in it"
      )
    }
  }

  /// Names the option without which a sandbox is not counted.
  private static func emptyText(_ arguments: ParsedArguments) -> String {
    let dimensions = arguments.value("by")?.split(separator: ",") ?? ["environment"]
    guard arguments.value("environment") == nil, !dimensions.contains("environment") else {
      return "nothing was sold"
    }
    return "nothing was sold in production; --environment Sandbox shows what a sandbox sold"
  }
}
