import PullboxKit
import ServiceRuntime

enum RejectCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "reject", summary: "Send a version back",
    operands: [.init("ID"), .init("VERSION")],
    options: [.value("reason", "TEXT", environment: .some(nil), help: "Kept with the version")])

  static func run(_ context: CommandContext) async throws {
    let record = try await context.operatorClient().take(
      .reject, try context.product(0), try context.version(1), reason: context.arguments.value("reason"))
    try VersionsCommand.print([record], context.console)
  }
}
