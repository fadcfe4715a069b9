package import CatalogDocuments
package import Commerce
package import ContentCatalog
import CoreTypes
package import Crypto
import DeliveryRecords
package import PullboxAPI

/// Makes feeds of what one reader sees of the catalog. Pure: the products of a page are chosen first, then the caller finds the facts of
/// their packages, and the feed is made of both.
///
///     let selection = try composer.selection(of: CatalogPage(.new))
///     let feed = composer.feed(selection, facts: facts)
package struct FeedComposer: Sendable {
  /// Products or publications of a page.
  package static let pageLength = 50
  /// Products that the start shows.
  static let groupLength = 10
  /// Pixels that a cover in a list may be wide.
  static let thumbnailWidth = 240

  package let window: ShopWindow
  package let order: CatalogOrder
  /// The name of the catalog.
  package let title: String
  /// The products that the reader owns; nil for one who shows no key.
  package var owned: OwnedProducts?
  /// How far the reader has read; nil for one who shows no key.
  package var progress: ReaderProgress?
  /// Products that are looked at for one page, at most.
  var looks = ShopWindow.maximumLooks

  package init(window: ShopWindow, order: CatalogOrder, title: String) {
    self.window = window
    self.order = order
    self.title = title
  }

  /// The products of one page.
  package struct Selection: Sendable {
    package let page: CatalogPage
    /// The products, or the newest ones at the start.
    let items: [ShopWindow.Item]
    /// The publications of the feed of publications.
    let publications: [PublicationListing]
    /// Nil on the last page.
    let next: ProductIdentifier?
    let previous: Shelf.Page<ShopWindow.Item>.Previous

    /// The products that the feed tells of.
    package var products: [ProductIdentifier] { items.map(\.listing.id) }

    /// The packages that the feed tells of.
    package var digests: Set<SHA256Digest> { Set(items.compactMap { $0.content?.digest }) }
  }

  /// Chooses the products of a page. Throws `request-malformed` for a cursor that is not of it, and `publication-unknown` where nothing of
  /// the publication is for sale.
  package func selection(of page: CatalogPage) throws(Problem) -> Selection {
    switch page.place {
    case .start:
      let newest = try items(of: order.new, CatalogPage(.new), length: Self.groupLength)
      return Selection(
        page: page, items: newest.items, publications: [], next: nil, previous: .none)
    case .publications:
      let found = try order.publications.page(
        after: page.after, length: Self.pageLength, looks: looks,
        isShown: { window.publication($0) != nil }, of: { window.publication($0) })
      let previous: Shelf.Page<ShopWindow.Item>.Previous =
        if case .after(let cursor) = found.previous { .after(cursor) } else { .none }
      return Selection(
        page: page, items: [], publications: found.items, next: found.next, previous: previous)
    case .publication(let id):
      let found = try order.shelves[id].map { shelf throws(Problem) in try selection(page, of: shelf) }
      // Behind the first page something was for sale, and may be so no more.
      guard let found, !found.items.isEmpty || found.next != nil || page.after != nil else {
        throw Problem(.publicationUnknown, "nothing of \(id) is for sale here")
      }
      return found
    case .new: return try selection(page, of: order.new)
    case .owned:
      guard let owned, owned.hasPlace else {
        return Selection(page: page, items: [], publications: [], next: nil, previous: .none)
      }
      return try selection(page, of: owned.shelf)
    case .reading:
      guard let progress, owned?.hasPlace != false else {
        return Selection(page: page, items: [], publications: [], next: nil, previous: .none)
      }
      return try selection(page, of: progress.shelf)
    case .singles: return try selection(page, of: order.singles)
    case .search(let words):
      return try selection(
        page, of: Shelf(order.search.places(matching: words), of: order.search.names))
    default:
      throw Problem(.notFound)
    }
  }

  /// The product alone. Throws `product-unknown` unless it is for sale here.
  package func selection(of product: ProductIdentifier) throws(Problem) -> Selection {
    guard let item = item(product) else {
      throw Problem(.productUnknown, "\(product) is not for sale here")
    }
    return Selection(
      page: CatalogPage(.product(product)), items: [item], publications: [], next: nil, previous: .none)
  }

  /// Returns the feed of what was chosen.
  package func feed(_ selection: Selection, facts: [SHA256Digest: PackageFacts]) -> CatalogFeed {
    var feed = CatalogFeed(
      page: selection.page, title: title(of: selection),
      updated: window.catalog.lastChange(before: window.now))
    let publications = self.publications(selection, facts: facts)
    switch selection.page.place {
    case .start:
      feed.navigation = (owned == nil ? [] : [Self.readingEntry, Self.ownedEntry]) + Self.startEntries
      if !publications.isEmpty {
        feed.groups = [
          CatalogFeed.Group(
            title: Self.newTitle, target: CatalogPage(.new), publications: publications)
        ]
      }
      return feed
    case .publications: feed.navigation = selection.publications.map(navigation)
    case .publication(let id):
      feed.publications = publications
      feed.subtitle = window.texts(ofPublication: id).description
      feed.links.append(FeedLink(.up, to: CatalogPage(.publications), .navigation))
    case .owned where owned?.hasPlace == false, .reading where owned?.hasPlace == false:
      // Applications show no bodies of errors.
      feed.navigation = [Self.noPlaceEntry]
    case .new, .singles:
      feed.publications = publications
      feed.facets = [priceFacets(of: selection.page)]
    default: feed.publications = publications
    }
    feed.itemsPerPage = Self.pageLength
    feed.links += pagingLinks(of: selection)
    return feed
  }

  /// Returns the products of the selection, as they are shown.
  package func publications(
    _ selection: Selection, facts: [SHA256Digest: PackageFacts]
  ) -> [CatalogFeed.Publication] {
    var subscriptions: [ProductIdentifier: [ShopWindow.Item]] = [:]
    return selection.items.map { item in
      var offers: [ShopWindow.Item] = []
      // What the reader has is not offered.
      if let publication = item.product.publication, !item.product.type.isSubscription,
        owned?.contents[item.listing.id] == nil
      {
        offers = subscriptions[publication] ?? self.subscriptions(to: publication)
        subscriptions[publication] = offers
      }
      return publication(item, facts: item.content.flatMap { facts[$0.digest] }, offers: offers)
    }
  }

  /// The product as the reader has it, or as it is for sale; nil for neither.
  package func item(_ id: ProductIdentifier) -> ShopWindow.Item? {
    guard let known = owned?.contents[id] else { return window.item(id) }
    return window.item(id, with: known.content)
  }

  private func selection(
    _ page: CatalogPage, of shelf: Shelf
  ) throws(Problem) -> Selection {
    let found = try items(of: shelf, page, length: Self.pageLength)
    return Selection(
      page: page, items: found.items, publications: [], next: found.next, previous: found.previous)
  }

  private func items(
    of shelf: Shelf, _ page: CatalogPage, length: Int
  ) throws(Problem) -> Shelf.Page<ShopWindow.Item> {
    let territory = window.territory
    // The price of what comes before a page is not asked for.
    let isWhole = page.place != .reading && !page.onlyFree
    func shown(_ id: ProductIdentifier) -> ShopWindow.Item? {
      if page.place == .owned { return item(id) }
      // What was given back is read no more.
      if page.place == .reading {
        return item(id).flatMap { owned?.contents[id] != nil || isFree($0) ? $0 : nil }
      }
      guard window.isForSale(id) else { return nil }
      return item(id).flatMap { !page.onlyFree || $0.isFree(in: territory) ? $0 : nil }
    }
    return try shelf.page(
      after: page.after, length: length, looks: looks,
      isShown: {
        if page.place == .owned { return window.catalog[$0] != nil }
        return isWhole ? window.isForSale($0) : shown($0) != nil
      }, of: shown)
  }

  private func title(of selection: Selection) -> String {
    switch selection.page.place {
    case .publications: Self.publicationsTitle
    case .publication(let id): window.texts(ofPublication: id).title
    case .new: Self.newTitle
    case .singles: Self.singlesTitle
    case .owned: Self.ownedTitle
    case .reading: Self.readingTitle
    case .search(let words):
      words.isEmpty ? "Search" : "Search: \(words.prefix(SearchIndex.maximumLength))"
    default: title
    }
  }

  private func pagingLinks(of selection: Selection) -> [FeedLink] {
    let page = selection.page
    func link(_ relation: FeedLink.Relation, after: ProductIdentifier?) -> FeedLink {
      FeedLink(
        relation, to: CatalogPage(page.place, after: after, onlyFree: page.onlyFree), page.place.kind)
    }
    var links = [link(.first, after: nil)]
    if case .after(let cursor) = selection.previous { links.append(link(.previous, after: cursor)) }
    if let next = selection.next { links.append(link(.next, after: next)) }
    return links
  }

  private func priceFacets(of page: CatalogPage) -> CatalogFeed.FacetGroup {
    CatalogFeed.FacetGroup(
      title: "Price",
      facets: [(title: "All", onlyFree: false), (title: "Free", onlyFree: true)].map { title, onlyFree in
        CatalogFeed.FacetGroup.Facet(
          title: title, target: CatalogPage(page.place, onlyFree: onlyFree),
          isActive: page.onlyFree == onlyFree)
      })
  }

  private static let ownedTitle = "Owned"
  private static let readingTitle = "Continue reading"
  private static let newTitle = "New issues"
  private static let publicationsTitle = "Publications"
  private static let singlesTitle = "Single issues"

  private static let ownedEntry = CatalogFeed.Navigation(
    CatalogPage(.owned), .acquisition, relation: .shelf, title: ownedTitle,
    summary: "What you have bought, the newest purchase first")

  private static let readingEntry = CatalogFeed.Navigation(
    CatalogPage(.reading), .acquisition, title: readingTitle,
    summary: "What you have begun, on any of your devices, the latest first")

  private static let noPlaceEntry = CatalogFeed.Navigation(
    CatalogPage(.start), .navigation, title: "Too many devices (device-limit)",
    summary:
      "Your purchases are in use on as many devices as the store allows. One that is silent for 90 days makes room, and so does a reader's key that is removed: pullbox readers remove"
  )

  private static let startEntries = [
    CatalogFeed.Navigation(
      CatalogPage(.new), .acquisition, relation: .newest, title: newTitle,
      summary: "The issues of all publications, the newest first"),
    CatalogFeed.Navigation(
      CatalogPage(.publications), .navigation, title: publicationsTitle,
      summary: "Magazines and series, each with its issues and subscriptions"),
    CatalogFeed.Navigation(
      CatalogPage(.singles), .acquisition, title: singlesTitle, summary: "What belongs to no publication"),
  ]
}
