import Commerce
import CoreTypes
import PullboxAPI
import PullboxAPIClient
import PullboxKit
import ServiceRuntime

enum LibraryCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription("library", summary: "Show the library of this device")

  static func run(_ context: CommandContext) async throws {
    try context.console.print(
      try await context.agent().library(),
      columns: [
        .text("PRODUCT"), .text("VERSION"), .number("SIZE"), .text("PLACED"), .text("TITLE"), .text("PATH"),
      ], whenEmpty: "the library is empty"
    ) { item in
      [
        item.product.description, item.version.description, item.length.description,
        item.placedAt.description,
        item.title ?? "", item.path,
      ]
    }
  }
}

enum PathCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "path", summary: "Print the path of a product's newest version on this device", operands: [.init("ID")])

  static func run(_ context: CommandContext) async throws {
    let product = try context.product(0)
    let items = try await context.agent().library().filter { $0.product == product }
    guard let newest = items.max(by: { $0.version < $1.version }) else {
      throw APICallError.problem(
        Problem(.libraryItemUnknown, "\(product); 'pullbox downloads' shows what is under way"))
    }
    if context.console.printsJSON {
      try context.console.print(json: newest)
    } else {
      context.console.print(newest.path)
    }
  }
}

enum RemoveCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "remove", summary: "Remove a product from this device; 'restore' downloads it again",
    operands: [.init("ID")])

  static func run(_ context: CommandContext) async throws {
    try await context.agent().remove(try context.product(0))
  }
}

enum RestoreCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "restore", summary: "Download again what was bought and is not on this device",
    options: [
      .flag("plan", environment: .none, help: "Only show what is owned")
    ])

  static func run(_ context: CommandContext) async throws {
    let agent = try context.agent()
    guard context.arguments.isSet("plan") else {
      for product in try await agent.restore() {
        if context.console.printsJSON {
          try context.console.print(json: ["product": product.description])
        } else {
          context.console.print(product.description)
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
        owned.product.description, owned.version.description, owned.length.description, owned.state,
        owned.because,
        owned.transaction.description,
      ]
    }
  }
}
