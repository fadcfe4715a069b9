import PullboxAPI
import PullboxAPIClient
import PullboxKit
import ServiceRuntime

/// `redeem CODE`: shows what the code gives, asks on a terminal, redeems it and follows the transaction as
/// `buy` does. A refusal is exit code 1 and leaves the code as it was.
enum RedeemCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "redeem", summary: "Redeem a gift or promotional code with the agent's store account",
    discussion: """
      The command shows what the code gives, as far as the store tells it, and asks on a \
      terminal. The content comes as with a purchase, whether this command waits or not. \
      A code is refused if it is used up, if this account has redeemed it already or owns \
      its product, or if it is not valid in this territory. A refusal does not use the code.
      """,
    operands: [.init("CODE")],
    options: [
      .confirmed,
      .flag(
        "wait", abbreviation: "w", environment: .none, help: "Wait until the transaction is finished"),
      .timeout, .ignoredConditions,
    ])

  /// Checks the code's form before any request. A store that does not tell what a code gives is asked to redeem it all
  /// the same, after a question that says so.
  static func run(_ context: CommandContext) async throws {
    let text = context.arguments.operands[0]
    guard GiftCode(text) != nil else {
      throw UsageError("CODE is letters, digits and hyphens, \(GiftCode.maximumLength) at most")
    }
    _ = try context.timeout()
    let wanted = AgentRedeemRequest(ignore: try context.ignoredConditions())
    let agent = try context.agent()
    let shown = try await telling(of: text) { () async throws(APICallError) in
      try await agent.preview(of: text, locale: ReaderLocale.tag())
    }
    let gives = shown.flatMap(OfferText.code)
    if Confirmation.isAsked(context) {
      try await Confirmation.ask(
        gives.map { "Redeem \(text) for \($0)?" }
          ?? "The store does not say what \(text) gives. Redeem it?")
    } else if let gives {
      context.console.note(gives)
    }
    let transaction = try await telling(of: text) { () async throws(APICallError) in
      try await agent.redeem(text, wanted)
    }
    try await BuyCommand.follow(transaction, with: agent, in: context)
  }

  /// Calls `body`. A refusal of the code is told in the store's own words, which say all of it.
  private static func telling<Value>(
    of code: String, _ body: () async throws(APICallError) -> Value
  ) async throws -> Value {
    do {
      return try await body()
    } catch {
      guard case .problem(let problem) = error, let detail = problem.detail,
        problem.code == .notFound || problem.code == .stateConflict
      else { throw error }
      throw CommandFailure(.failed, "\(code): \(detail)")
    }
  }
}
