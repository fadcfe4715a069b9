import PullboxAPI
import PullboxKit
import ServiceRuntime

enum NewsCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "news", summary: "Show issues and corrections that have arrived and are not fetched by themselves",
    discussion: """
      The agent lists them where its configuration says arrivals: "ask"; 'pullbox restore ID' fetches one.
      """)

  static func run(_ context: CommandContext) async throws {
    let entries = try await context.agent().news()
    try context.console.print(
      entries,
      columns: [.text("PRODUCT"), .text("VERSION"), .number("SIZE"), .text("APPEARED"), .text("NEWS")],
      whenEmpty: "nothing has arrived"
    ) { entry in
      [
        entry.product.description, entry.version?.description ?? "", entry.length?.description ?? "",
        entry.publicationDate.map { LocalTime.text($0) } ?? "", words(entry.kind),
      ]
    }
  }

  /// What a later server says is shown as it is.
  static func words(_ kind: String) -> String {
    switch FeedEntry.Kind(rawValue: kind) {
    case .issueAvailable: "a new issue"
    case .correctionAvailable: "a correction"
    default: kind
    }
  }
}
