import Commerce
import Measures
import PullboxAPI
import PullboxKit
import ServiceRuntime

enum VersionsCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "versions", summary: "Show a product's content versions", operands: [.init("ID")])

  static func run(_ context: CommandContext) async throws {
    try print(try await context.operatorClient().versions(of: try context.product(0)), context.console)
  }

  static func print(_ versions: [VersionRecord], _ console: Console) throws {
    try console.print(
      versions,
      columns: [
        .text("PRODUCT"), .text("VERSION"), .text("STATE"), .number("SIZE"), .number("PIECES"),
        .number("FILES"), .text("RELEASED"), .text("REASON"),
      ], whenEmpty: "no versions"
    ) { version in
      [
        version.product.text, version.version.text, version.state.rawValue, version.length.description,
        String(version.pieces), String(version.files), version.released?.description ?? "",
        version.reason ?? "",
      ]
    }
  }
}
