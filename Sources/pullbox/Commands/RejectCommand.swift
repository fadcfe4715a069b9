import PullboxKit
import ServiceRuntime

enum RejectCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "reject", summary: "Send a version back that was handed in or approved",
    operands: [.init("ID"), .init("VERSION")],
    options: [
      .value("reason", "TEXT", environment: .some(nil), help: "Kept with the version and in the audit log")
    ])

  static func run(_ context: CommandContext) async throws {
    let record = try await context.patientClient().reject(
      try context.product(0), try context.version(1), because: context.arguments.value("reason"))
    try VersionsCommand.report(record, context.console)
  }
}
