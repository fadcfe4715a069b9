import Commerce
import CoreTypes
import PullboxAPI
import PullboxKit
import ServiceRuntime

enum LibraryCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription("library", summary: "Show what is on this device")

  static func run(_ context: CommandContext) async throws {
    try context.console.print(
      try await context.agent().library(),
      columns: [
        .text("PRODUCT"), .text("VERSION"), .number("SIZE"), .text("PLACED"), .text("TITLE"), .text("PATH"),
      ], whenEmpty: "the library is empty"
    ) { item in
      [
        item.product.text, item.version.text, item.length.description, item.placedAt.description,
        item.title ?? "", item.path,
      ]
    }
  }
}
