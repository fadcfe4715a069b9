import PullboxAPI
import PullboxKit
import ServiceRuntime

enum RedeemCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "redeem", summary: "Redeem a gift or promotional code with the agent's store account",
    discussion: """
      The content comes as with a purchase, whether this command waits or not. A code \
      is refused if it is used up, if this account has redeemed it already or owns its \
      product, or if it is not valid in this territory. A refusal does not use the code.
      """,
    operands: [.init("CODE")],
    options: [
      .flag(
        "wait", abbreviation: "w", environment: .none, help: "Wait until the transaction is finished"),
      .timeout,
    ])

  static func run(_ context: CommandContext) async throws {
    let text = context.arguments.operands[0]
    guard GiftCode(text) != nil else {
      throw UsageError("CODE is letters, digits and hyphens, \(GiftCode.maximumLength) at most")
    }
    _ = try context.timeout()
    let agent = try context.agent()
    let transaction: AgentTransaction
    do {
      transaction = try await agent.redeem(text)
    } catch {
      // The store's own words say all of it.
      guard case .problem(let problem) = error, let detail = problem.detail,
        problem.code == .notFound || problem.code == .stateConflict
      else { throw error }
      throw CommandFailure(.failed, "\(text): \(detail)")
    }
    try await BuyCommand.follow(transaction, with: agent, in: context)
  }
}
