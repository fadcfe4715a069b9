import Commerce
import Measures
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

  static func print(_ versions: [VersionRecord], _ console: Console) throws {
    try console.print(
      versions,
      columns: [
        .text("PRODUCT"), .text("VERSION"), .text("STATE"), .number("SIZE"), .number("FILES"),
        .text("RELEASED"), .text("SCHEDULED"), .text("REASON"),
      ], whenEmpty: "no versions"
    ) { version in
      [
        version.product.text, version.version.text, state(version), version.length.description,
        String(version.files), version.released?.description ?? "", schedule(version) ?? "",
        version.reason ?? "",
      ]
    }
  }

  /// `released to 10 %`, `withdrawn, downloads stopped`.
  static func state(_ version: VersionRecord) -> String {
    if version.state == .released, let percentage = version.percentage, percentage < 100 {
      return "released to \(percentage) %"
    }
    return version.state.rawValue + (version.downloadsStopped == true ? ", downloads stopped" : "")
  }

  private static func schedule(_ version: VersionRecord) -> String? {
    version.scheduled.map { $0.percentage < 100 ? "\($0.at) to \($0.percentage) %" : $0.at.description }
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
      ("scheduled", schedule(version)), ("reason", version.reason),
    ]
    for (name, text) in lines {
      guard let text else { continue }
      console.print("  " + name + String(repeating: " ", count: 14 - name.count) + text)
    }
    try AuditCommand.print(version.history ?? [], console)
  }
}
