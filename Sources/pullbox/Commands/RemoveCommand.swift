import PullboxKit
import ServiceRuntime

enum RemoveCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "remove", summary: "Take a product off this device; 'restore' brings it back", operands: [.init("ID")])

  static func run(_ context: CommandContext) async throws {
    try await context.agent().remove(try context.product(0))
  }
}
