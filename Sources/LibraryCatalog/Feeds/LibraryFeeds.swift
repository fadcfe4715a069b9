import AgentRecords
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
  /// Those that were begun and not read to their ends, the latest first.
  private let reading: Shelf
  /// The publications that are known of issues, and the issues of each.
  private let publications: PublicationShelves
  /// Whether the library's volume is away.
  private let isOffline: Bool

  /// Content that is damaged or away is not shown.
  ///
  /// - Parameters:
  ///   - all: what was not taken back.
  ///   - readings: how far products were read, the latest first.
  ///   - listings: what the server has told of products that belong to publications.
  init(
    _ all: [LibraryItem], title: String, started: Timestamp, readings: [ReadingRecord] = [],
    listings: [ProductIdentifier: PublicationShelves.Listing] = [:]
  ) {
    self.title = title
    isOffline = all.contains { $0.state == .offline }
    var items: [ProductIdentifier: LibraryItem] = [:]
    for item in all where item.state == .present {
      if let other = items[item.product], !Self.isPreferred(item, to: other) { continue }
      items[item.product] = item
    }
    self.items = items
    shelf = Shelf(
      items.values.sorted { one, other in
        one.placedAt == other.placedAt ? one.product < other.product : one.placedAt > other.placedAt
      }.map(\.product))
    let shown = items
    reading = Shelf(readings.filter { !$0.isRead && shown[$0.product] != nil }.map(\.product))
    publications = PublicationShelves(listings.filter { shown[$0.key] != nil })
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

  /// Chooses the products of a page; of a list of publications none. Throws `request-malformed` for a cursor that is not of it, and
  /// `publication-unknown`.
  func selection(of page: CatalogPage) throws(Problem) -> Selection {
    let shelf =
      switch page.place {
      case .search(let words): Shelf(found(words))
      case .reading: reading
      case .publications: Shelf([])
      case .publication(let publication): try publications.issues(of: publication)
      default: self.shelf
      }
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
  ///
  /// - Parameter marks: how far the products were read, as their versions of now have it.
  func feed(
    _ selection: Selection, facts: [ProductIdentifier: PlacedFacts],
    marks: [ProductIdentifier: ReadingProgress] = [:]
  ) -> CatalogFeed {
    let page = selection.page
    var feed = CatalogFeed(page: page, title: title(of: page.place), updated: updated)
    if isOffline { feed.navigation.append(Self.offlineEntry) }
    guard page.place != .publications else {
      feed.navigation += self.publications.all.map(entry)
      return feed
    }
    let publications = selection.items.map {
      publication($0, facts: facts[$0.product], mark: marks[$0.product])
    }
    guard page.place != .start else {
      feed.navigation += [Self.readingEntry, Self.libraryEntry]
      if !self.publications.all.isEmpty { feed.navigation.append(Self.publicationsEntry) }
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
    case .reading: Self.readingTitle
    case .publications: Self.publicationsTitle
    case .publication(let publication): publications.series(publication)?.title ?? publication.description
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

  /// The entry that leads to a publication, with the cover of its newest issue.
  private func entry(_ series: CatalogFeed.Publication.Series) -> CatalogFeed.Navigation {
    let newest = publications.newest(of: series.id).flatMap { items[$0] }
    return CatalogFeed.Navigation(
      CatalogPage(.publication(series.id)), .acquisition, title: series.title, summary: "",
      images: newest.map { Self.images(of: $0.product, $0.version) } ?? [])
  }

  private static func images(of id: ProductIdentifier, _ version: ContentVersion) -> [CatalogFeed.Image] {
    [nil, thumbnailWidth].map { width in
      CatalogFeed.Image(
        target: CatalogPage(.cover(id, version, width: width)), mediaType: nil, isThumbnail: width != nil)
    }
  }

  /// Returns a product as it is shown. Without facts it has no file and no pages.
  func publication(
    _ item: LibraryItem, facts: PlacedFacts?, mark: ReadingProgress? = nil
  ) -> CatalogFeed.Publication {
    let (id, version) = (item.product, item.version)
    var publication = CatalogFeed.Publication(
      id: id, kind: facts?.package.isComic == true ? .comic : .book,
      title: item.productTitle ?? item.title ?? id.description, summary: "", updated: item.placedAt)
    publication.series = publications.series(ofIssue: id)
    publication.published = publications.published(id)
    guard let facts else { return publication }
    publication.pageCount = facts.package.pageCount
    if facts.hasCover || item.cover != nil {
      publication.images = Self.images(of: id, version)
    }
    let name = PackageFacts.fileName(of: id, facts.package)
    publication.links = [
      FeedLink(
        .acquisition, to: CatalogPage(.file(id, version, name: name)), .other(facts.package.mediaType.text),
        availability: item.until.map { FeedLink.Availability(until: $0) }),
      FeedLink(
        .acquisition, to: CatalogPage(.manifest(id, version)),
        .other(PackagePages.manifestType(isComic: facts.package.stream != nil))),
      FeedLink(.progression, to: CatalogPage(.progress(id)), .other(ReadingProgress.mediaType)),
    ]
    if let stream = facts.package.stream {
      let lastRead = mark?.page.map { min($0 + 1, stream.count) }
      publication.links.append(
        FeedLink(
          .stream, to: CatalogPage(.pageTemplate(id, version)), .other(stream.mediaType),
          stream: FeedLink.Stream(
            count: stream.count, lastRead: lastRead, lastReadDate: lastRead == nil ? nil : mark?.modified)))
    }
    return publication
  }

  private static let libraryTitle = "Library"
  private static let readingTitle = "Continue reading"
  private static let publicationsTitle = "Publications"

  private static let readingEntry = CatalogFeed.Navigation(
    CatalogPage(.reading), .acquisition, title: readingTitle,
    summary: "What was begun on this device and not read to its end, the latest first")

  private static let publicationsEntry = CatalogFeed.Navigation(
    CatalogPage(.publications), .navigation, title: publicationsTitle,
    summary: "What lies on this device, by its publications")

  private static let libraryEntry = CatalogFeed.Navigation(
    CatalogPage(.owned), .acquisition, relation: .shelf, title: libraryTitle,
    summary: "What lies on this device, what came last first")

  private static let offlineEntry = CatalogFeed.Navigation(
    CatalogPage(.start), .navigation, title: "The library is away (library-offline)",
    summary: "Its file system is not there. What lies on it is shown once it is back")
}
