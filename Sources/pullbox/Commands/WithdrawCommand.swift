import PullboxKit
import ServiceRuntime

enum WithdrawCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "withdraw", summary: "Take a version back: nobody gets it any more",
    operands: [.init("ID"), .init("VERSION")],
    options: [.value("reason", "TEXT", environment: .some(nil), help: "Kept with the version")])

  static func run(_ context: CommandContext) async throws {
    let record = try await context.operatorClient().take(
      .withdraw, try context.product(0), try context.version(1), reason: context.arguments.value("reason"))
    try VersionsCommand.print([record], context.console)
  }
}
