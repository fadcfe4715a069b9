public import Commerce
public import CoreTypes
public import PullboxAPI
import PullboxAPIClient

/// A product that is for sale to this device's account: texts, price, what the account has of it, and ``purchase(quantity:optsIn:confirm:)``.
///
/// ```swift
/// let shown = try await Product.products(for: ["com.example.heroes.issue42"])
/// for product in shown { print(product.displayName, product.displayPrice) }
/// ```
///
/// What an operator's program describes products with is `Commerce.Product`.
public struct Product: Sendable, Identifiable {
  /// The product as the agent tells it, with every member.
  public let value: AgentProduct
  /// Where the price is good.
  public let storefront: Storefront
  let agent: AgentClient

  /// A product of the agent's answer, for an app that asks the agent itself.
  public init(_ value: AgentProduct, account: StoreAccount, agent: AgentClient) {
    self.value = value
    storefront = Storefront(account)
    self.agent = agent
  }

  /// The product's name in the store.
  public var id: ProductIdentifier { value.listing.id }
  /// How it is bought, and how long it lasts.
  public var type: ProductType { value.listing.type }
  /// The title, in the language that was asked for if it has it.
  public var displayName: String { value.listing.title }
  /// In the language of the title; may be empty.
  public var description: String { value.listing.description }
  /// The amount and the currency; nil for what is free.
  public var price: Price? {
    value.listing.price.flatMap { Price(amount: $0.amount, currency: $0.currency) }
  }
  /// `$2.99`, or `free`: by the rules of the account's territory, whatever language the texts are in.
  public var displayPrice: String { value.listing.price?.formatted ?? Self.free }
  /// Bytes of the package; nil for what has no content of its own, such as a subscription.
  public var contentLength: ByteCount? { value.listing.contentLength }
  /// Whether a purchase would pay for nothing that the account does not have.
  public var isHeld: Bool { value.isHeld }
  /// The terms of a subscription; nil for what is none.
  public var subscription: SubscriptionInfo? { SubscriptionInfo(self) }

  static let free = "free"

  /// The price by the rules of another locale (BCP 47), such as one that the user has chosen.
  public func displayPrice(locale: String) -> String {
    price.map { PriceFormat.text($0, locale: locale) } ?? Self.free
  }

  /// The products of these names that are for sale to the account, in the order of the names; others are left out.
  /// ``ProductsRequest`` tells which. Throws `APICallError`: `store-unavailable` or `unavailable` while a service is away.
  ///
  /// - Parameters:
  ///   - locale: BCP 47; nil for each product's first language.
  ///   - agent: nil for ``AppStore/agent``.
  public static func products(
    for names: [String], locale: String? = nil, from agent: AgentClient? = nil
  ) async throws -> [Product] {
    let agent = try agent ?? AppStore.agent
    guard !names.isEmpty else { return [] }
    let found = try await agent.products(names, locale: locale)
    return found.products.map { Product($0, account: found.account, agent: agent) }
  }

  /// Everything that is for sale to the account, publication by publication, at most `limit`: what a shop without a list of its own shows.
  /// Throws as ``products(for:locale:from:)`` does.
  public static func all(
    locale: String? = nil, limit: Int = 1000, from agent: AgentClient? = nil
  ) async throws -> [Product] {
    let agent = try agent ?? AppStore.agent
    var found: [Product] = []
    var page = try await agent.publications(locale: locale)
    while true {
      for publication in page.publications where found.count < limit {
        try await append(to: &found, limit: limit, agent: agent) { after in
          try await agent.publication(publication.id, locale: locale, after: after)
        }
      }
      guard let next = page.next, found.count < limit else { break }
      page = try await agent.publications(locale: locale, after: next)
    }
    try await append(to: &found, limit: limit, agent: agent) {
      try await agent.singles(locale: locale, after: $0)
    }
    return Array(found.prefix(limit))
  }

  /// The subscriptions of the first page, and the issues of all.
  private static func append(
    to found: inout [Product], limit: Int, agent: AgentClient,
    page ask: (String?) async throws -> AgentPublicationResponse
  ) async throws {
    var after: String?
    repeat {
      let page = try await ask(after)
      let products = (after == nil ? page.subscriptions : []) + page.issues
      found += products.map { Product($0, account: page.account, agent: agent) }
      after = page.issues.isEmpty ? nil : page.next
    } while after != nil && found.count < limit
  }

  /// The longest cover that is read.
  public static let maximumCoverLength = ByteCount.mebibytes(8)

  /// The bytes of its cover, a picture of any of the formats that browsers show, read from the delivery server over the way of the system's
  /// own certificates; nil where it has none. Nothing is kept: an app that scrolls keeps what it has shown.
  ///
  /// - Parameter width: of the picture in pixels at least, where the server has it smaller than the original.
  ///
  /// Throws `APICallError`, also for one that is longer than ``maximumCoverLength``.
  public func cover(width: Int? = nil) async throws -> [UInt8]? {
    guard let address = value.listing.coverURL else { return nil }
    var server = APIClient(baseURL: try await agent.status().server.url, client: agent.client)
    server.maximumResponseLength = Self.maximumCoverLength
    return try await server.exchange("GET", address, query: width.map { [("width", "\($0)")] } ?? []).body
  }
}
