import Commerce
import PullboxAPI
import PullboxKit
import ServiceRuntime

/// `transactions`: the purchases that the agent follows. `--state` takes a part of the agent's list (`live`,
/// `over`) or a step; a step is filtered here.
enum TransactionsCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "transactions", summary: "Show the purchases that are not finished, and what they wait for",
    options: [
      CommandOption.value(
        "state", "STATE", environment: .none,
        help: "Show the transactions in this state: \(states.joined(separator: ", "))"
      ).taking(.words(states)),
      .flag("all", environment: .none, help: "Show every transaction that the agent remembers"),
    ])

  /// The steps of docs/agent.md, and the two parts of the agent's list.
  private static let states =
    [AgentListPart.live, .over].map(\.rawValue) + [
      "observed", "planning", "delivering", "waiting-for-server", "finished", "failed",
    ]

  /// A state is checked before the request. Steps are filtered here among all transactions of the agent.
  static func run(_ context: CommandContext) async throws {
    let state = context.arguments.value("state")
    if let state, !states.contains(state) {
      throw UsageError("--state takes one of \(states.joined(separator: ", ")), not '\(state)'")
    }
    guard state == nil || !context.arguments.isSet("all") else {
      throw UsageError("--all and --state exclude each other")
    }
    let usual: AgentListPart = context.arguments.isSet("all") || state != nil ? .all : .live
    let part = state.flatMap(AgentListPart.init(rawValue:))
    let found = try await context.agent().transactions(part ?? usual)
    try context.console.print(
      part != nil || state == nil ? found : found.filter { $0.step == state },
      columns: [.name("TRANSACTION"), .text("TITLE"), .text("PAYMENT"), .text("STATE")],
      whenEmpty: usual == .live ? "no unfinished transactions" : "no transactions"
    ) { transaction in
      [
        transaction.id.description, transaction.title ?? transaction.product.description, transaction.state,
        StandingText.of(transaction),
      ]
    }
  }
}
