import Commerce
import CoreTypes
import Entitlements
import PullboxAPI
import PullboxKit
import PullboxOperatorKit
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// `explain [PRODUCT]`: asks the server for the rules by which a customer may have a product, or not; without a product, for all that the
/// customer owns. Exactly one of `--customer`, `--transaction`, `--device` and `--account` names the customer. Both answers are exit code 0.
enum ExplainCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "explain", summary: "Show why a customer may have a product at an instant, or all that the customer owns",
    discussion: """
      The customer is named by the server's own name, by a transaction, by a device, or by \
      an application's name for its user. The server answers from its ledger, by today's \
      catalog and policies, and asks no store. Without PRODUCT everything that is owned is listed: by \
      which rule, because of which purchase, and until when.
      """,
    operands: [.init("PRODUCT", isRequired: false)],
    options: CustomerSelection.options + [
      .value(
        "at", "TIME", environment: .none, help: "The instant, such as 2026-11-21T08:00:00Z; now unless given")
    ])

  /// Checks the options and then makes one request. A count of names other than one, and a time that cannot be read, are
  /// wrong usage.
  static func run(_ context: CommandContext) async throws {
    let arguments = context.arguments
    let selection = try CustomerSelection(arguments)
    let moment = try arguments.value("at").map { text throws(UsageError) in
      guard let moment = Timestamp(argument: text) else {
        throw UsageError("--at takes a date and time such as 2026-11-21T08:00:00Z, not '\(text)'")
      }
      return moment
    }
    guard !arguments.operands.isEmpty else { return try await list(selection, at: moment, context) }
    let answer = try await context.operatorClient().explain(
      try context.product(0), customer: selection.customer, transaction: selection.transaction,
      device: selection.device, account: selection.account, store: selection.store,
      environment: selection.environment, at: moment)
    if context.console.printsJSON {
      try context.console.print(json: answer)
      return
    }
    for line in lines(answer) { context.console.print(line) }
  }

  /// Prints everything that is owned, page by page.
  private static func list(
    _ selection: CustomerSelection, at moment: Timestamp?, _ context: CommandContext
  ) async throws {
    let client = try context.operatorClient()
    var owned: [CustomerEntitlement] = []
    var after: String?
    repeat {
      let page = try await client.entitlements(
        customer: selection.customer, transaction: selection.transaction, device: selection.device,
        account: selection.account, store: selection.store, environment: selection.environment, at: moment,
        after: after)
      owned += page.items
      after = page.next
    } while after != nil
    guard !context.console.printsJSON else {
      try context.console.print(json: owned)
      return
    }
    try context.console.print(
      owned,
      columns: [
        .name("PRODUCT"), .text("BECAUSE"), .name("TRANSACTION"), .text("BOUGHT"), .text("UNTIL"),
      ], whenEmpty: "nothing is owned"
    ) { item in
      [
        item.product.description, item.rule.rawValue, item.transaction.description,
        LocalTime.text(item.purchased), item.until.map { LocalTime.text($0) } ?? "",
      ]
    }
  }

  /// The verdict, then what speaks for it, then what speaks against it, then what was sent to applications for reading.
  static func lines(_ answer: ExplanationResponse) -> [String] {
    let end = answer.until.map { (answer.allowed ? " until " : ", ended ") + LocalTime.text($0) } ?? ""
    let verdict = "\(answer.product): \(answer.allowed ? "allowed" : "not allowed")\(end)"
    let findings = answer.because.map { ("+", $0) } + answer.against.map { ("-", $0) }
    return [verdict]
      + findings.map { mark, finding in
        let payment = finding.transaction.map { " (transaction \($0))" } ?? ""
        return "\(mark) \(finding.rule.rawValue): \(finding.sentence)\(payment)"
      } + (answer.readers ?? []).map(line)
  }

  private static func line(_ delivery: ExplanationResponse.ReaderDelivery) -> String {
    let key =
      switch (delivery.name, delivery.title) {
      case (let name?, let title?): "\(title) (reader's key \(name))"
      default: "a reader's key that is removed (\(delivery.device))"
      }
    let last = delivery.lastSent.map { ", last \(LocalTime.text($0))" } ?? ""
    return
      "= \(key): \(delivery.bytesDelivered.description) of \(delivery.version) since \(LocalTime.text(delivery.created))\(last)"
  }
}
