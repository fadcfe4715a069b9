import PullboxKit
import ServiceRuntime

enum RevokeCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "revoke", summary: "Take a grant back: nothing more is sent for it, and what is being sent stops",
    operands: [.init("GRANT")],
    options: [
      .value("reason", "TEXT", environment: .some(nil), help: "Kept in the grant's history and the audit log")
    ])

  static func run(_ context: CommandContext) async throws {
    let status = try await context.patientClient().revoke(
      try GrantsCommand.grant(context), reason: context.arguments.value("reason"))
    try GrantsCommand.print([status], context.console)
  }
}
