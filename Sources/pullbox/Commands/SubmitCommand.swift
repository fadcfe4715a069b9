import PullboxKit
import ServiceRuntime

enum SubmitCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "submit", summary: "Hand a version in for review",
    discussion: "publish does this unless --draft; a version that was rejected can be handed in again.",
    operands: [.init("ID"), .init("VERSION")])

  static func run(_ context: CommandContext) async throws {
    let record = try await context.patientClient().take(
      .submit, try context.product(0), try context.version(1))
    try VersionsCommand.report(record, context.console)
  }
}
