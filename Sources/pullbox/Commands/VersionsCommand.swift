import Commerce
import CoreTypes
import PullboxAPI
import PullboxKit
import ServiceRuntime

enum VersionsCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "versions", summary: "Show a product's content versions, or one with its history",
    operands: [.init("ID"), .init("VERSION", isRequired: false)],
    options: [.value("limit", "N", environment: .some(nil), fallback: "200", help: "At most so many")])

  static func run(_ context: CommandContext) async throws {
    let product = try context.product(0)
    let client = try context.operatorClient()
    if context.arguments.operands.count > 1 {
      let version = try context.version(1)
      guard let record = try await client.version(product, version) else {
        throw CommandFailure(.failed, "\(product) has no version \(version)")
      }
      return try show(record, context.console)
    }
    let limit = try context.arguments.integer("limit", in: 1...Paging.maximumItems) ?? 200
    try print(
      try await Paging.all(limit: limit) { try await client.versions(of: product, after: $0) },
      context.console)
  }

  /// One line for each, or JSON: what a step led to.
  static func report(_ version: VersionRecord, _ console: Console) throws {
    if console.printsJSON {
      try console.print(json: version)
      return
    }
    var line = "\(version.product) \(version.version): \(state(version))"
    if let scheduled = schedule(version) { line += "; to be released \(scheduled)" }
    if let reason = version.reason { line += " (\(reason))" }
    console.print(line)
  }

  private static func print(_ versions: [VersionRecord], _ console: Console) throws {
    let columns: [(TextTable.Column, (VersionRecord) -> String)] = [
      (.text("VERSION"), { $0.version.text }), (.text("STATE"), state),
      (.number("SIZE"), { $0.length.description }), (.number("FILES"), { String($0.files) }),
      (.text("RELEASED"), { $0.released?.description ?? "" }),
      (.text("TO BE RELEASED"), { schedule($0) ?? "" }), (.text("REASON"), { $0.reason ?? "" }),
    ]
    // Columns that say nothing of any version only take room.
    let shown = columns.filter { column in versions.contains { !column.1($0).isEmpty } }
    try console.print(versions, columns: shown.map(\.0), whenEmpty: "no versions") { version in
      shown.map { $0.1(version) }
    }
  }

  /// `released to 10 % of devices`, `withdrawn, downloads stopped`.
  static func state(_ version: VersionRecord) -> String {
    if version.state == .released, let percentage = version.percentage, percentage < 100 {
      return "released to \(percentage) % of devices"
    }
    return version.state.rawValue + (version.downloadsStopped == true ? ", downloads stopped" : "")
  }

  private static func schedule(_ version: VersionRecord) -> String? {
    version.scheduled.map { "\($0.at)" + ($0.percentage < 100 ? " to \($0.percentage) % of devices" : "") }
  }

  private static func show(_ version: VersionRecord, _ console: Console) throws {
    if console.printsJSON {
      try console.print(json: version)
      return
    }
    console.print("\(version.product) \(version.version): \(state(version))")
    let lines = [
      ("size", "\(version.length) (\(version.length.rawValue) bytes), \(version.files) files"),
      ("sha256", "\(version.digest)"), ("handed in by", version.submittedBy),
      ("approved by", version.approvedBy), ("released", version.released?.description),
      ("to be released", schedule(version)), ("reason", version.reason),
    ]
    for (name, text) in lines {
      guard let text else { continue }
      console.print("  " + name + String(repeating: " ", count: 16 - name.count) + text)
    }
    try AuditCommand.print(version.history ?? [], console)
  }
}
