package import CatalogDocuments
package import Commerce
package import ContentCatalog
import ContentPackage
import CoreTypes
import DeliveryRecords
import Entitlements
import PullboxAPI
import ServiceAPI

extension FeedComposer {
  /// Returns the subscriptions to the publication that are for sale.
  func subscriptions(to publication: ProductIdentifier) -> [ShopWindow.Item] {
    guard let shelf = order.shelves[publication] else { return [] }
    return shelf.names.lazy.prefix { window.catalog[$0]?.product.type.isSubscription == true }
      .compactMap { window.item($0) }
  }

  /// Returns the product with the ways to have it. `offers` are the subscriptions to its publication.
  func publication(
    _ item: ShopWindow.Item, facts: PackageFacts?, offers: [ShopWindow.Item]
  ) -> CatalogFeed.Publication {
    let listing = item.listing
    var publication = CatalogFeed.Publication(
      id: listing.id, kind: kind(of: item, facts), title: listing.title, summary: listing.description,
      updated: item.changed, published: listing.publicationDate)
    publication.pageCount = facts?.pageCount
    publication.images = item.content.map(images) ?? []
    if let id = listing.publication {
      publication.series = CatalogFeed.Publication.Series(
        id: id, title: window.texts(ofPublication: id).title)
    }
    publication.links = [purchase(of: item, facts)] + reading(of: item, facts)
    if let date = item.product.publicationDate, !isFree(item), owned?.contents[listing.id] == nil {
      publication.links += offers.filter { opens($0, issueOf: date) }.map { offer in
        FeedLink(
          .subscribe, to: CatalogPage(.shop(offer.listing.id)), Self.page, title: offer.listing.title,
          price: price(of: offer), indirectType: facts?.mediaType.text)
      }
    }
    publication.links += samples(of: item)
    return publication
  }

  /// Returns the entry that leads to a publication.
  func navigation(_ publication: PublicationListing) -> CatalogFeed.Navigation {
    let cover =
      window.catalog.described[publication.id]?.cover.flatMap { window.item($0)?.content }
      ?? publication.latestIssue.flatMap { window.item($0.id)?.content }
    return CatalogFeed.Navigation(
      CatalogPage(.publication(publication.id)), .acquisition, title: publication.title,
      summary: publication.description, images: cover.map(images) ?? [])
  }

  private static let page = FeedLink.Kind.other("text/html")

  private func kind(
    of item: ShopWindow.Item, _ facts: PackageFacts?
  ) -> CatalogFeed.Publication.Kind {
    if item.product.type.isSubscription { return .subscription }
    return facts?.isComic == true ? .comic : .book
  }

  /// Whether everyone may have it: it costs nothing in any territory, since a request names its own. What is used up is bought each time,
  /// whatever it costs.
  package func isFree(_ item: ShopWindow.Item) -> Bool {
    item.product.type == .nonConsumable && item.isFree(in: nil)
  }

  private func purchase(of item: ShopWindow.Item, _ facts: PackageFacts?) -> FeedLink {
    let id = item.listing.id
    let availability: FeedLink.Availability? =
      item.product.availableFrom == nil && item.product.availableUntil == nil
      ? nil : .init(since: item.product.availableFrom, until: item.product.availableUntil)
    if let known = owned?.contents[id] {
      return FeedLink(
        .acquisition,
        to: CatalogPage(.file(id, known.content.version, name: Self.fileName(of: id, facts))),
        .other(facts?.mediaType.text),
        availability: known.until.map { FeedLink.Availability(until: $0) })
    }
    if item.product.type.isSubscription {
      return FeedLink(
        .subscribe, to: CatalogPage(.shop(id)), Self.page, price: price(of: item), availability: availability)
    }
    if isFree(item), let content = item.content {
      return FeedLink(
        .openAccess, to: CatalogPage(.file(id, content.version, name: Self.fileName(of: id, facts))),
        .other(facts?.mediaType.text), availability: availability)
    }
    return FeedLink(
      .buy, to: CatalogPage(.shop(id)), Self.page, price: price(of: item),
      indirectType: facts?.mediaType.text, availability: availability)
  }

  /// The links to the manifest and to the pages of what the reader may read.
  private func reading(of item: ShopWindow.Item, _ facts: PackageFacts?) -> [FeedLink] {
    let id = item.listing.id
    let (relation, version): (FeedLink.Relation, ContentVersion)
    if let known = owned?.contents[id] {
      (relation, version) = (.acquisition, known.content.version)
    } else if isFree(item), let content = item.content {
      (relation, version) = (.openAccess, content.version)
    } else {
      return []
    }
    let manifest = FeedLink(
      relation, to: CatalogPage(.manifest(id, version)),
      .other(PackagePages.manifestType(isComic: facts?.stream != nil)))
    var links = [manifest]
    if progress != nil {
      links.append(FeedLink(.progression, to: CatalogPage(.progress(id)), .other(ReadingProgress.mediaType)))
    }
    guard let stream = facts?.stream else { return links }
    let mark = progress?.marks[id]
    let lastRead = mark?.page.map { min($0 + 1, stream.count) }
    links.append(
      FeedLink(
        .stream, to: CatalogPage(.pageTemplate(id, version)), .other(stream.mediaType),
        stream: FeedLink.Stream(
          count: stream.count, lastRead: lastRead, lastReadDate: lastRead == nil ? nil : mark?.modified)))
    return links
  }

  /// The name of a package's file, as addresses have it.
  package static func fileName(of product: ProductIdentifier, _ facts: PackageFacts?) -> String {
    PackageFacts.fileName(of: product, facts)
  }

  /// Nil where no territory is known: the price of another one would be none.
  private func price(of item: ShopWindow.Item) -> FeedLink.Price? {
    guard window.territory != nil, let price = item.listing.price else { return nil }
    return FeedLink.Price(amount: price.amount, currency: price.currency)
  }

  /// Whether a subscription that begins now opens the issue of that date.
  private func opens(_ subscription: ShopWindow.Item, issueOf date: Timestamp) -> Bool {
    guard let publication = subscription.product.publication, let issues = order.issues[publication] else {
      return false
    }
    return issues.areOpened(
      of: date, toSubscriberSince: window.now,
      under: window.catalog.policies[publication] ?? PublicationPolicy.standard)
  }

  private func samples(of item: ShopWindow.Item) -> [FeedLink] {
    guard let content = item.content else { return [] }
    return (item.product.samples ?? []).enumerated().map { index, path in
      let type = PackageFacts.sampleType(ofFileNamed: path)
      return FeedLink(
        .sample, to: CatalogPage(.sample(item.listing.id, content.version, index + 1)), .other(type))
    }
  }

  private func images(of content: ReleasedContent) -> [CatalogFeed.Image] {
    guard content.hasPublicCover else { return [] }
    let type = content.cover.flatMap(PackageFacts.pictureType)
    return [nil, Self.thumbnailWidth].map { width in
      CatalogFeed.Image(
        target: CatalogPage(.cover(content.product, content.version, width: width)), mediaType: type,
        isThumbnail: width != nil)
    }
  }
}
