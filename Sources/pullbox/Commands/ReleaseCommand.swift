import PullboxKit
import ServiceRuntime

enum ReleaseCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "release", summary: "Give a version to readers, in the place of the one before",
    operands: [.init("ID"), .init("VERSION")])

  static func run(_ context: CommandContext) async throws {
    let record = try await context.operatorClient().take(
      .release, try context.product(0), try context.version(1))
    try VersionsCommand.print([record], context.console)
  }
}
