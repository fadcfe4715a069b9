import CatalogDocuments
import Commerce
import ContentPackage
import CoreTypes
import PullboxAPI

/// Makes feeds of what lies in the library. Pure: the products of a page are chosen first, then the caller finds the facts of their contents,
/// and the feed is made of both.
///
///     let page = try feeds.selection(of: CatalogPage(.owned))
///     let feed = feeds.feed(page, facts: facts)
struct LibraryFeeds: Sendable {
  /// Products of a page.
  static let pageLength = 50
  /// Products that the start shows.
  static let groupLength = 10
  /// Pixels that a cover in a list may be wide.
  static let thumbnailWidth = 240

  /// The name of the catalog.
  let title: String
  /// When the newest of the content came, or the agent began.
  let updated: Timestamp
  /// The newest version of each product that can be read.
  private let items: [ProductIdentifier: LibraryItem]
  /// In the order in which they came, the latest first.
  private let shelf: Shelf
  /// Whether the library's volume is away.
  private let isOffline: Bool

  /// Content that is damaged, that is away, or that the account is known to own no more, is not shown.
  init(_ all: [LibraryItem], title: String, started: Timestamp) {
    self.title = title
    isOffline = all.contains { $0.state == .offline }
    var items: [ProductIdentifier: LibraryItem] = [:]
    for item in all where item.state == .present && item.owned != false {
      if let other = items[item.product], !Self.isPreferred(item, to: other) { continue }
      items[item.product] = item
    }
    self.items = items
    shelf = Shelf(
      items.values.sorted { one, other in
        one.placedAt == other.placedAt ? one.product < other.product : one.placedAt > other.placedAt
      }.map(\.product))
    updated = items.values.map(\.placedAt).max() ?? started
  }

  /// The version that the server offers, and of those the latest.
  private static func isPreferred(_ item: LibraryItem, to other: LibraryItem) -> Bool {
    let isRolledBack = item.rolledBack == true
    guard isRolledBack == (other.rolledBack == true) else { return !isRolledBack }
    return item.version > other.version
  }

  /// The products of one page.
  struct Selection: Sendable {
    let page: CatalogPage
    let items: [LibraryItem]
    /// Nil on the last page.
    let next: ProductIdentifier?
    let previous: Shelf.Page<LibraryItem>.Previous
  }

  /// The product as feeds show it; nil for one that they do not.
  func item(_ product: ProductIdentifier) -> LibraryItem? { items[product] }

  /// Chooses the products of a page. Throws `request-malformed` for a cursor that is not of it.
  func selection(of page: CatalogPage) throws(Problem) -> Selection {
    let shelf =
      if case .search(let words) = page.place { Shelf(found(words)) } else { self.shelf }
    let length = page.place == .start ? Self.groupLength : Self.pageLength
    let found = try shelf.page(
      after: page.after, length: length, looks: .max, isShown: { _ in true }, of: { items[$0] })
    return Selection(page: page, items: found.items, next: found.next, previous: found.previous)
  }

  /// Those whose titles have words that begin so, the latest first.
  private func found(_ words: String) -> [ProductIdentifier] {
    SearchIndex(
      titles: shelf.names.map { product in
        (product: product, titles: items[product].map(Self.titles) ?? [])
      }
    ).products(matching: words)
  }

  private static func titles(of item: LibraryItem) -> [String] {
    let titles = [item.productTitle, item.title].compactMap(\.self)
    return titles.isEmpty ? [item.product.description] : titles
  }

  /// Returns the feed of what was chosen.
  func feed(_ selection: Selection, facts: [ProductIdentifier: PlacedFacts]) -> CatalogFeed {
    let page = selection.page
    var feed = CatalogFeed(page: page, title: title(of: page.place), updated: updated)
    let publications = selection.items.map { publication($0, facts: facts[$0.product]) }
    if isOffline { feed.navigation.append(Self.offlineEntry) }
    guard page.place != .start else {
      feed.navigation.append(Self.libraryEntry)
      if !publications.isEmpty {
        feed.groups = [
          CatalogFeed.Group(
            title: "Came last", target: CatalogPage(.owned), publications: publications)
        ]
      }
      return feed
    }
    feed.publications = publications
    feed.itemsPerPage = Self.pageLength
    feed.links = links(of: selection)
    return feed
  }

  private func title(of place: CatalogPlace) -> String {
    switch place {
    case .owned: Self.libraryTitle
    case .search(let words): words.isEmpty ? "Search" : "Search: \(words.prefix(SearchIndex.maximumLength))"
    default: title
    }
  }

  private func links(of selection: Selection) -> [FeedLink] {
    let place = selection.page.place
    func link(_ relation: FeedLink.Relation, after: ProductIdentifier?) -> FeedLink {
      FeedLink(relation, to: CatalogPage(place, after: after), place.kind)
    }
    var links = [link(.first, after: nil)]
    if case .after(let cursor) = selection.previous { links.append(link(.previous, after: cursor)) }
    if let next = selection.next { links.append(link(.next, after: next)) }
    return links
  }

  /// Returns a product as it is shown. Without facts it has no file and no pages.
  func publication(_ item: LibraryItem, facts: PlacedFacts?) -> CatalogFeed.Publication {
    let (id, version) = (item.product, item.version)
    var publication = CatalogFeed.Publication(
      id: id, kind: facts?.package.isComic == true ? .comic : .book,
      title: item.productTitle ?? item.title ?? id.description, summary: "", updated: item.placedAt)
    guard let facts else { return publication }
    publication.pageCount = facts.package.pageCount
    if facts.hasCover || item.cover != nil {
      publication.images = [nil, Self.thumbnailWidth].map { width in
        CatalogFeed.Image(
          target: CatalogPage(.cover(id, version, width: width)), mediaType: nil, isThumbnail: width != nil)
      }
    }
    let name = PackageFacts.fileName(of: id, facts.package)
    publication.links = [
      FeedLink(
        .acquisition, to: CatalogPage(.file(id, version, name: name)), .other(facts.package.mediaType.text),
        availability: item.until.map { FeedLink.Availability(until: $0) }),
      FeedLink(
        .acquisition, to: CatalogPage(.manifest(id, version)),
        .other(PackagePages.manifestType(isComic: facts.package.stream != nil))),
    ]
    if let stream = facts.package.stream {
      publication.links.append(
        FeedLink(
          .stream, to: CatalogPage(.pageTemplate(id, version)), .other(stream.mediaType),
          stream: FeedLink.Stream(count: stream.count)))
    }
    return publication
  }

  private static let libraryTitle = "Library"

  private static let libraryEntry = CatalogFeed.Navigation(
    CatalogPage(.owned), .acquisition, relation: .shelf, title: libraryTitle,
    summary: "What lies on this device, what came last first")

  private static let offlineEntry = CatalogFeed.Navigation(
    CatalogPage(.start), .navigation, title: "The library is away (library-offline)",
    summary: "Its file system is not there. What lies on it is shown once it is back")
}
