import Commerce
import PullboxAPI
import PullboxKit
import ServiceRuntime
import SystemCalls

/// `news`: what has arrived and waits for the user, then what is here and owned no more.
enum NewsCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "news", summary: "Show issues and corrections that have arrived and are not fetched by themselves",
    discussion: """
      The agent lists them where its configuration says arrivals: "ask"; 'pullbox restore ID' fetches one.
      Below them, the command lists products on this device that are not owned any more.
      """)

  /// A library that cannot be asked is left out, but with `--json` it is a failure.
  static func run(_ context: CommandContext) async throws {
    let agent = try context.agent()
    let entries = try await agent.news()
    let titles = await titles(of: entries.map(\.product), from: agent)
    try context.console.print(
      entries,
      columns: [
        .name("PRODUCT"), .name("VERSION"), .number("SIZE"), .text("APPEARED"), .text("NEWS"), .text("TITLE"),
      ],
      whenEmpty: "nothing has arrived"
    ) { news in
      let entry = news.entry
      return [
        entry.product.description, entry.version?.description ?? "", entry.length?.description ?? "",
        entry.publicationDate.map { LocalTime.text($0) } ?? "", words(entry.kind),
        titles[entry.product] ?? news.title ?? "",
      ]
    }
    guard !context.console.printsJSON else {
      for item in try await agent.library() where item.owned == false {
        try context.console.print(json: item)
      }
      return
    }
    guard let items = try? await agent.library() else { return }
    var seen: Set<ProductIdentifier> = []
    for item in items where item.owned == false && seen.insert(item.product).inserted {
      context.console.print(LibraryCommand.notice(item))
    }
  }

  /// In the reader's language, of what is for sale. Where the shop cannot be asked, the titles have to do
  /// that the agent keeps. Empty where the shop cannot be asked; never throws.
  private static func titles(
    of products: [ProductIdentifier], from agent: AgentClient
  ) async -> [ProductIdentifier: String] {
    guard !products.isEmpty,
      let answer = try? await agent.products(products.map(\.description), locale: ReaderLocale.tag())
    else { return [:] }
    return Dictionary(
      answer.products.map { ($0.listing.id, $0.listing.title) }, uniquingKeysWith: { first, _ in first })
  }

  /// Returns words for the kind of an entry. A kind that only a later server knows is returned as it is.
  static func words(_ kind: String) -> String {
    switch FeedEntry.Kind(rawValue: kind) {
    case .issueAvailable: "a new issue"
    case .correctionAvailable: "a correction"
    default: kind
    }
  }
}
