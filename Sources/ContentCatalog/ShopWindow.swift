package import Commerce
package import CoreTypes
import DeliveryRecords
package import PullboxAPI
import RouteAccess
package import ServiceAPI

/// The catalog as one reader sees it: what is for sale in a territory, to a device, in the words of a locale. A value.
package struct ShopWindow: Sendable {
  /// The answer about a name that was asked for.
  package enum Answer {
    /// It is for sale to this reader.
    case listing(ProductListing)
    /// It is not, for this reason; the first that applies, in the order of ``ShopWindow/answer(to:)``.
    case invalid(InvalidProductsReport.Reason)
  }

  /// Products that are looked at for one page, about: where nothing of so many is for sale, the page has fewer items than were asked
  /// for, perhaps none, and its `next` goes on behind them.
  package static let maximumLooks = 20_000

  package let catalog: CatalogSnapshot
  let localizer: ProductLocalizer
  /// Nil shows what is for sale to all.
  let device: DeviceIdentifier?
  /// The application whose products are shown; nil for none. Products that belong to no application are shown in any case.
  let application: ApplicationIdentifier?
  /// The moment whose prices and dates count.
  package let now: Timestamp
  var maximumLooks = Self.maximumLooks

  package init(
    catalog: CatalogSnapshot, localizer: ProductLocalizer, device: DeviceIdentifier?,
    application: ApplicationIdentifier?, now: Timestamp
  ) {
    self.catalog = catalog
    self.localizer = localizer
    self.device = device
    self.application = application
    self.now = now
  }

  /// Returns the window's answer about a product that was asked for by name.
  func answer(to name: String) -> Answer {
    guard let id = ProductIdentifier(name), let entry = catalog[id] else { return .invalid(.unknown) }
    guard entry.product.isSold(in: application) else { return .invalid(.otherApplication) }
    switch entry.row.sale {
    case .draft, .submitted, .rejected: return .invalid(.notCleared)
    case .withdrawn: return .invalid(.withdrawn)
    case .cleared: break
    }
    guard entry.product.availableUntil.map({ now < $0 }) ?? true else { return .invalid(.withdrawn) }
    guard entry.product.availableFrom.map({ $0 <= now }) ?? true else { return .invalid(.notYet) }
    guard isSoldHere(entry.product) else { return .invalid(.notHere) }
    let released = released(of: entry)
    if entry.product.type.isSubscription {
      guard catalog.hasIssue(for: entry.product) else { return .invalid(.notCleared) }
    } else if released == nil {
      return .invalid(entry.releasedToPart == nil ? .notCleared : .notYet)
    }
    return .listing(listing(of: entry, released))
  }

  /// A page of publications of which something is for sale: the first of `names` after the cursor. Throws
  /// `request-malformed` for a cursor that is none of them.
  func publications(
    _ names: [ProductIdentifier], after: ProductIdentifier?, limit: Int
  ) throws(Problem) -> PublicationsResponse {
    var page: [PublicationListing] = []
    var looks = 0
    var last: ProductIdentifier?
    for name in names[try Self.start(after: after, in: names)...] {
      if looks >= maximumLooks {
        return PublicationsResponse(publications: page, next: last?.description)
      }
      looks += max(1, catalog.productCount(of: name))
      last = name
      guard let listing = publication(name) else { continue }
      if page.count == limit {
        return PublicationsResponse(publications: page, next: page.last?.id.description)
      }
      page.append(listing)
    }
    return PublicationsResponse(publications: page)
  }

  /// The publication; nil where nothing of it is for sale.
  package func publication(_ id: ProductIdentifier) -> PublicationListing? {
    let products = catalog.products(of: id)
    let subscriptions = products.filter { $0.product.type.isSubscription && isForSale($0) }
      .sorted { $0.product.id < $1.product.id }
    let latest = products.filter { !$0.product.type.isSubscription && isForSale($0) }
      .min { Self.isNewer($0.product, than: $1.product) }
    guard latest != nil || !subscriptions.isEmpty else { return nil }
    let described = catalog.described[id]
    // The same choice among locales as for products.
    let texts = localizer.listing(
      of: Product(id: id, type: .nonConsumable, localizations: described?.localizations ?? [:]), released: nil
    )
    let cover = described?.cover.flatMap { catalog[$0] }.flatMap(released) ?? latest.flatMap(released)
    return PublicationListing(
      id: id, title: texts.title, description: texts.description, coverURL: cover.flatMap(Self.coverURL),
      latestIssue: latest.map(listing), subscriptions: subscriptions.map(listing))
  }

  /// A page of the publication's issues for sale, the newest first. Throws `request-malformed` for a cursor that is no issue
  /// of it.
  func issues(
    of publication: ProductIdentifier, after: ProductIdentifier?, limit: Int
  ) throws(Problem) -> (issues: [ProductListing], next: String?) {
    let issues = catalog.products(of: publication).map(\.product).filter { !$0.type.isSubscription }
      .sorted { Self.isNewer($0, than: $1) }.map(\.id)
    return try page(of: issues, after: after, limit: limit)
  }

  /// A page of what is for sale among `names`, in their order. Throws `request-malformed` for a cursor that is none of them.
  func page(
    of names: [ProductIdentifier], after: ProductIdentifier?, limit: Int
  ) throws(Problem) -> (issues: [ProductListing], next: String?) {
    var page: [ProductListing] = []
    let start = try Self.start(after: after, in: names)
    for (looks, name) in names[start...].enumerated() {
      if looks >= maximumLooks { return (page, names[start + looks - 1].description) }
      guard let entry = catalog[name], isForSale(entry) else { continue }
      if page.count == limit { return (page, page.last?.id.description) }
      page.append(listing(of: entry))
    }
    return (page, nil)
  }

  /// The product for sale that was meant by each of these names, the first few of them; nil where none is near.
  func nearest(to names: [String], among known: ProductNames) -> [String: ProductIdentifier]? {
    var nearest: [String: ProductIdentifier] = [:]
    for name in names.prefix(NearestName.maximumAsked) where ProductIdentifier(name) != nil {
      nearest[name] = known.nearest(to: name) { id in catalog[id].map(isForSale) ?? false }
    }
    return nearest.isEmpty ? nil : nearest
  }

  /// Whether the reader may buy it now: cleared, within its dates, of the application, sold in the territory,
  /// and with content to deliver.
  func isForSale(_ entry: CatalogSnapshot.Entry) -> Bool {
    entry.row.isOnSale(at: now) && entry.product.isSold(in: application) && isSoldHere(entry.product)
      && (entry.product.type.isSubscription
        ? catalog.hasIssue(for: entry.product) : released(of: entry) != nil)
  }

  /// Whether the product has a price in the reader's territory, or is free in all.
  private func isSoldHere(_ product: Product) -> Bool {
    catalog.prices(of: product).isSold(in: localizer.territory?.code)
  }

  /// The content that the device gets, or without a device the one for all; nil where there is none.
  func released(of entry: CatalogSnapshot.Entry) -> ReleasedContent? {
    device.map { catalog.offered(entry.product.id, to: $0) } ?? entry.releasedToAll
  }

  func listing(of entry: CatalogSnapshot.Entry) -> ProductListing {
    listing(of: entry, released(of: entry))
  }

  func listing(
    of entry: CatalogSnapshot.Entry, _ released: ReleasedContent?, showsPrice: Bool = true
  ) -> ProductListing {
    var listing = localizer.listing(
      of: entry.product, at: catalog.prices(of: entry.product), released: released, showsPrice: showsPrice)
    listing.coverURL = released.flatMap(Self.coverURL)
    return listing
  }

  /// The address names the version, whose cover never changes.
  private static func coverURL(of content: ReleasedContent) -> String? {
    content.hasPublicCover ? "/v1/products/\(content.product)/cover?version=\(content.version)" : nil
  }

  /// Whether `one` comes first in a list: the newer date does. Products without a date come last, and those of one date by
  /// identifier.
  package static func isNewer(_ one: Product, than other: Product) -> Bool {
    switch (one.publicationDate, other.publicationDate) {
    case (let date?, let otherDate?) where date != otherDate: date > otherDate
    case (.some, nil): true
    case (nil, .some): false
    default: one.id < other.id
    }
  }

  /// Returns the place behind the cursor. Throws `request-malformed` for a cursor that is none of the names.
  private static func start(
    after: ProductIdentifier?, in names: [ProductIdentifier]
  ) throws(Problem) -> Int {
    guard let after else { return 0 }
    guard let index = names.firstIndex(of: after) else { throw Problem.unknownCursor }
    return index + 1
  }
}
