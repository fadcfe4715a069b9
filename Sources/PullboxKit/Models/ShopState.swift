public import Commerce
public import PullboxAPI

/// The state of a shop's screen: products with their prices, and how each stands. A pure value without a toolkit.
public struct ShopState: Sendable {
  /// A line of the shop.
  public struct Row: Sendable, Identifiable {
    /// The product that is for sale.
    public let product: Product
    /// How it stands.
    public let standing: Standing

    /// By product.
    public var id: ProductIdentifier { product.id }

    /// The text in place of the price, in words for people: `$2.99`, `owned`, `40 %`, `here`.
    public var statusText: String {
      switch standing {
      case .forSale: OfferText.terms(of: product.value)
      case .held: product.type.isSubscription ? "subscribed" : "owned"
      case .buying: "buying…"
      case .pending(let why): why ?? "waits for the store"
      case .delivering(let download?) where download.state == .active:
        "\(download.percent) %"
      case .delivering(let download): download?.statusText ?? "is being fetched"
      case .here: "here"
      case .declined(let why): "not bought: \(why)"
      case .failed(let why): why
      }
    }
  }

  /// How a product stands.
  public enum Standing: Hashable, Sendable {
    /// It may be bought.
    case forSale
    /// It is owned, or subscribed to, and not on this device.
    case held
    /// The buyer, or the store, is being asked.
    case buying
    /// The store has not decided; why, where it says so.
    case pending(String?)
    /// It is paid for and comes; nil until the server has been asked.
    case delivering(ContentDownload?)
    /// It is on this device.
    case here(LibraryItem)
    /// The last try bought nothing, for that reason.
    case declined(String)
    /// Its download has ended, for that reason, and goes on when a person says so.
    case failed(String)
  }

  /// A change of a shop.
  public enum Event: Sendable {
    /// The products were loaded.
    case products([Product])
    /// They could not be: a sentence.
    case notLoaded(String)
    /// The library was listed.
    case library([LibraryItem])
    /// The agent told something.
    case agent(AgentUpdate)
    /// A purchase begins.
    case buying(ProductIdentifier)
    /// A purchase was decided.
    case bought(ProductIdentifier, Product.PurchaseResult)
    /// A purchase was not decided: a sentence.
    case notBought(ProductIdentifier, String)
  }

  /// In the order in which they were loaded.
  public private(set) var products: [Product] = []
  /// The facts about this device.
  public private(set) var device = DeviceFacts()
  /// Why the products are not there, or not as they are now; nil where nothing went wrong.
  public private(set) var problem: String?
  private var buying: Set<ProductIdentifier> = []
  private var refusals: [ProductIdentifier: String] = [:]
  private var held: Set<ProductIdentifier> = []

  /// An empty shop.
  public init() {}

  /// Where it sells; nil before the products are there.
  public var storefront: Storefront? { products.first?.storefront }

  /// The lines, in the order of the products.
  public var rows: [Row] { products.map { Row(product: $0, standing: standing(of: $0)) } }

  /// The line of one product.
  public func row(of product: ProductIdentifier) -> Row? {
    products.first { $0.id == product }.map { Row(product: $0, standing: standing(of: $0)) }
  }

  private func standing(of product: Product) -> Standing {
    if buying.contains(product.id) { return .buying }
    if let download = device.download(of: product.id) {
      return download.state == .failed ? .failed(download.statusText) : .delivering(download)
    }
    if let item = device.item(of: product.id), (item.state ?? .present) == .present { return .here(item) }
    if let transaction = device.transaction(of: product.id) {
      switch PaymentTransaction(transaction).state {
      case .purchasing, .deferred: return .pending(StandingText.why(transaction))
      default: if !product.type.isSubscription { return .delivering(nil) }
      }
    }
    if let refusal = refusals[product.id] { return .declined(refusal) }
    return product.isHeld || held.contains(product.id) ? .held : .forSale
  }

  /// Takes one event.
  public mutating func apply(_ event: Event) {
    switch event {
    case .products(let products):
      self.products = products
      (problem, held) = (nil, [])
    case .notLoaded(let why): problem = why
    case .library(let items): device.apply(library: items)
    case .agent(let update): device.apply(update)
    case .buying(let product):
      buying.insert(product)
      refusals[product] = nil
    case .bought(let product, let result):
      buying.remove(product)
      switch result {
      case .declined(let refusal) where refusal.reason == .cancelledByBuyer: break
      case .declined(let refusal): refusals[product] = refusal.description
      case .delivering, .delivered: held.insert(product)
      case .pending: break
      }
    case .notBought(let product, let why):
      buying.remove(product)
      refusals[product] = why
    }
  }
}
