import Commerce
import PullboxAPI
import PullboxKit
import ServiceRuntime

enum TransactionsCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "transactions", summary: "Show the purchases that are not finished, and what they wait for",
    options: [
      .flag("all", environment: .none, help: "Show every transaction that the agent remembers")
    ])

  static func run(_ context: CommandContext) async throws {
    try context.console.print(
      try await context.agent().transactions(context.arguments.isSet("all") ? .all : .live),
      columns: [.text("TRANSACTION"), .text("PRODUCT"), .text("PAYMENT"), .text("STATE")],
      whenEmpty: "no unfinished transactions"
    ) { transaction in
      [
        transaction.id.description, transaction.product.description, transaction.state,
        StandingText.of(transaction),
      ]
    }
  }
}
