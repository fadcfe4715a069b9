import PullboxKit
import ServiceRuntime

enum ApproveCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "approve", summary: "Let a version that was handed in be released",
    discussion: """
      Needs a key with the scope review, and where the server is run with
      --require-second-key another one than handed the version in.
      """,
    operands: [.init("ID"), .init("VERSION")])

  static func run(_ context: CommandContext) async throws {
    let record = try await context.patientClient().take(
      .approve, try context.product(0), try context.version(1))
    try VersionsCommand.report(record, context.console)
  }
}
