import Commerce
import PullboxAPI
import PullboxKit
import ServiceRuntime

/// `shop [PUBLICATION]`: what this device's account can buy, with prices of its territory and texts in the
/// reader's language. With `--json` it prints publications and products as objects, one a line.
enum ShopCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "shop", summary: "Show what is for sale to this device's store account, and what it has already",
    discussion: """
      Without an operand the command shows the publications, and the products that \
      belong to none. With one it shows that publication's subscriptions and its issues, \
      the newest first. Prices are those of the account's territory; texts are in the language \
      that LC_ALL, LC_MESSAGES or LANG names.
      """,
    operands: [.publication],
    options: [.limit])

  /// Prints the two lists one after the other, with an empty line between, or one publication's products alone. `--limit`
  /// holds for each list.
  static func run(_ context: CommandContext) async throws {
    let publication = try context.arguments.operands.isEmpty ? nil : context.product(0)
    let limit = try context.arguments.integer("limit", in: 1...1_000_000_000) ?? Paging.defaultLimit
    let agent = try context.agent()
    let locale = ReaderLocale.tag()
    if let publication {
      let products = try await products(limit: limit, on: context.console) {
        try await agent.publication(publication, locale: locale, after: $0)
      }
      return try print(products, on: context.console)
    }
    let publications = try await publications(of: agent, limit: limit, locale: locale, on: context.console)
    try print(publications, on: context.console)
    let singles = try await products(limit: limit, on: context.console) {
      try await agent.singles(locale: locale, after: $0)
    }
    if !singles.isEmpty || publications.isEmpty {
      if !publications.isEmpty, !context.console.printsJSON { context.console.print("") }
      try print(singles, on: context.console)
    }
  }

  /// At most `limit`, in the server's order.
  private static func publications(
    of agent: AgentClient, limit: Int, locale: String?, on console: Console
  ) async throws -> [PublicationListing] {
    var found: [PublicationListing] = []
    let ending = try await Paging.forEachPage(limit: limit) { after in
      let page = try await agent.publications(locale: locale, after: after)
      return Page(items: page.publications, next: page.next)
    } body: {
      found += $0
      return true
    }
    if ending == .limited { console.note("there are more than \(limit); --limit N prints the first N") }
    return found
  }

  /// The subscriptions of the first page, and the issues of all; tells the environment as soon as it is known.
  ///
  /// - Parameter fetch: the page after a mark; nil for the first.
  private static func products(
    limit: Int, on console: Console, page fetch: (String?) async throws -> AgentPublicationResponse
  ) async throws -> [AgentProduct] {
    var found: [AgentProduct] = []
    let ending = try await Paging.forEachPage(limit: limit) { after in
      let page = try await fetch(after)
      if after == nil {
        found += page.subscriptions
        if !page.issues.isEmpty || !page.subscriptions.isEmpty {
          console.note("\(page.account.territory), \(page.account.environment)")
        }
      }
      return Page(items: page.issues, next: page.next)
    } body: {
      found += $0
      return true
    }
    if ending == .limited { console.note("there are more than \(limit); --limit N prints the first N") }
    return found
  }

  /// Prints nothing where there are none, not even a remark: the products follow.
  private static func print(_ publications: [PublicationListing], on console: Console) throws {
    guard !publications.isEmpty || console.printsJSON else { return }
    try console.print(
      publications,
      columns: [.name("PUBLICATION"), .text("LATEST ISSUE"), .text("SUBSCRIPTION"), .text("TITLE")],
      whenEmpty: "no publications"
    ) { publication in
      [
        publication.id.description, publication.latestIssue?.title ?? "",
        publication.subscriptions.first.map(OfferText.priceAndPeriod) ?? "", publication.title,
      ]
    }
  }

  /// A table in the order of the agent. HELD is empty for what the account may buy.
  private static func print(_ products: [AgentProduct], on console: Console) throws {
    try console.print(
      products,
      columns: [.name("PRODUCT"), .text("PRICE"), .text("HELD"), .text("TITLE")],
      whenEmpty: "nothing is for sale"
    ) { product in
      [
        product.listing.id.description, OfferText.terms(of: product),
        OfferText.standing(product), product.listing.title,
      ]
    }
  }
}
