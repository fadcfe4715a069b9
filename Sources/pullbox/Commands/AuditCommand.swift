import Commerce
import CoreTypes
import PullboxAPI
import PullboxKit
import ServiceRuntime

enum AuditCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "audit", summary: "Show who did what at the server, the newest first",
    operands: [.init("ID", isRequired: false)],
    options: [
      .value("actor", "NAME", environment: .some(nil), help: "Only what was done with the key of that name"),
      .value("action", "ACTION", environment: .some(nil), help: "Only one action, such as version.release"),
      .value("limit", "N", environment: .some(nil), fallback: "200", help: "At most so many"),
    ])

  static func run(_ context: CommandContext) async throws {
    let product = try context.arguments.operands.first.map(CommandContext.product)
    let (actor, action) = (context.arguments.value("actor"), context.arguments.value("action"))
    let limit = try context.arguments.integer("limit", in: 1...Paging.maximumItems) ?? 200
    let client = try context.operatorClient()
    let entries = try await Paging.all(limit: limit) {
      try await client.audit(of: product, by: actor, action: action, after: $0)
    }
    try print(entries, context.console)
  }

  static func print(_ entries: [AuditEntry], _ console: Console) throws {
    try console.print(
      entries,
      columns: [.text("WHEN"), .text("WHO"), .text("WHAT"), .text("SUBJECT"), .text("DETAIL")],
      whenEmpty: "no entries"
    ) { entry in
      [entry.at.description, entry.actor, entry.action, entry.subject, entry.detail ?? ""]
    }
  }
}
