import Commerce
import CoreTypes
import PullboxAPI
import PullboxKit
import ServiceRuntime

enum RestoreCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "restore", summary: "Fetch again what was bought and is not on this device",
    options: [
      .flag("plan", environment: .some(nil), help: "Only show what is owned")
    ])

  static func run(_ context: CommandContext) async throws {
    let agent = try context.agent()
    guard context.arguments.isSet("plan") else {
      for product in try await agent.restore() {
        if context.console.printsJSON {
          try context.console.print(json: ["product": product.text])
        } else {
          context.console.print(product.text)
        }
      }
      return
    }
    try context.console.print(
      try await agent.restorePlan(),
      columns: [
        .text("PRODUCT"), .text("VERSION"), .number("SIZE"), .text("STATE"), .text("BECAUSE"),
        .text("TRANSACTION"),
      ], whenEmpty: "nothing is owned"
    ) { owned in
      [
        owned.product.text, owned.version.text, owned.length.description, owned.state, owned.because,
        owned.transaction.text,
      ]
    }
  }
}
