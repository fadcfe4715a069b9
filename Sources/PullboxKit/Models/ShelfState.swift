public import Commerce
public import PullboxAPI

/// The state of a shelf's screen: what is on this device, what comes, and what is owned beside. A pure value without a toolkit.
public struct ShelfState: Sendable {
  /// Something on the shelf.
  public struct Book: Hashable, Sendable, Identifiable {
    /// The product.
    public let product: ProductIdentifier
    /// The title; the product's identifier until the agent knows one.
    public let title: String
    /// The version that is read; nil for what comes for the first time.
    public let item: LibraryItem?
    /// The download that brings something, or failed to: the first version, or a correction of the one that is here.
    public let download: ContentDownload?

    /// By product.
    public var id: ProductIdentifier { product }
    /// Whether it can be opened now.
    public var canBeOpened: Bool { item.map { ($0.state ?? .present) == .present } ?? false }
    /// Whether pages of it can be read now, also while it comes: see ``ShelfModel/page(_:of:)``.
    public var canBeRead: Bool {
      canBeOpened || item?.withdrawn != true && download.map { !$0.state.isFinal } ?? false
    }
    /// Whether it was never opened.
    public var isNew: Bool { item != nil && item?.lastOpened == nil }

    /// How it stands, in words for people.
    public var statusText: String {
      guard let item else { return Self.words(download, "comes") }
      if item.withdrawn == true { return "is owned no more; it comes back when it is owned again" }
      if item.state == .offline { return "the library's volume is not there" }
      if item.state == .damaged, download == nil { return "is damaged; a repair fetches what is missing" }
      if download != nil { return Self.words(download, item.state == .damaged ? "repair" : "correction") }
      if item.owned == false { return "is owned no more" }
      return isNew ? "new" : ""
    }

    private static func words(_ download: ContentDownload?, _ what: String) -> String {
      guard let download else { return what }
      guard download.state == .active else { return "\(what): \(download.statusText)" }
      return "\(what): \(download.percent) %"
    }
  }

  /// A change of a shelf.
  public enum Event: Sendable {
    /// The library was listed.
    case library([LibraryItem])
    /// The agent told something.
    case agent(AgentUpdate)
    /// The plan of a restore was asked for.
    case plan(RestorePlan)
    /// Something that was asked for went wrong: a sentence.
    case problem(String)
  }

  /// The facts about this device.
  public private(set) var device = DeviceFacts()
  /// The last thing that went wrong; nil once the agent answers again.
  public private(set) var problem: String?
  private var owned: [EntitledProduct] = []

  /// An empty shelf.
  public init() {}

  /// By title.
  public var books: [Book] {
    device.products.map { product in
      let (item, download) = (device.item(of: product), device.download(of: product))
      return Book(
        product: product,
        title: item?.productTitle ?? item?.title ?? download?.title ?? product.description, item: item,
        download: download)
    }.sorted { ($0.title, $0.product.description) < ($1.title, $1.product.description) }
  }

  /// The products that are owned and neither here nor coming, as the last plan told.
  public var missing: [EntitledProduct] {
    RestorePlan(owned: owned, library: device.library).missing.filter {
      device.download(of: $0.product)?.state.isFinal != false
    }
  }

  /// Takes one event.
  public mutating func apply(_ event: Event) {
    switch event {
    case .library(let items): device.apply(library: items)
    case .agent(let update):
      device.apply(update)
      if case .snapshot = update { problem = nil }
    case .plan(let plan): owned = plan.missing + plan.present
    case .problem(let why): problem = why
    }
  }
}
