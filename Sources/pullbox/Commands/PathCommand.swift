import PullboxAPIClient
import PullboxAPI
import PullboxKit
import ServiceRuntime

enum PathCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "path", summary: "Print where a product's newest version lies", operands: [.init("ID")])

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
