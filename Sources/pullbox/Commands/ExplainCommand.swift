import Commerce
import CoreTypes
import PullboxAPI
import PullboxKit
import ServiceRuntime

/// `explain PRODUCT`: asks the server for the rules by which a customer may have a product, or not. Exactly
/// one of `--customer`, `--transaction`, `--device` and `--account` names the customer. Both answers are exit code 0.
enum ExplainCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "explain", summary: "Show why a customer may have a product at an instant, or not",
    discussion: """
      The customer is named by the server's own name, by a transaction, by a device, or by \
      an application's name for its user. The server answers from its ledger, by today's \
      catalog and policies, and asks no store.
      """,
    operands: [.init("PRODUCT")],
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
