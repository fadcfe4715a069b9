import PullboxKit
import ServiceRuntime

enum ReinstateCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "reinstate", summary: "Give a revoked grant back: its device goes on where it was stopped",
    operands: [.init("GRANT")],
    options: [
      .value("reason", "TEXT", environment: .some(nil), help: "Kept in the grant's history and the audit log")
    ])

  static func run(_ context: CommandContext) async throws {
    let status = try await context.patientClient().reinstate(
      try GrantsCommand.grant(context), reason: context.arguments.value("reason"))
    try GrantsCommand.print([status], context.console)
  }
}
