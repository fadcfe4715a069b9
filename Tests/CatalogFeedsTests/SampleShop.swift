import Commerce
import ContentPackage
import CoreTypes
import Crypto
import DeliveryModel
import PullboxAPI
import ServiceAPI
import Testing

@testable import CatalogDocuments
@testable import CatalogFeeds
@testable import ContentCatalog
@testable import DeliveryRecords

/// A shop of a few products for tests, and feeds of it.
struct SampleShop {
  /// 21 November 2026, 10:30 (UTC).
  static let now = Timestamp(millisecondsSinceEpoch: 1_795_257_000_000)
  static let start = Timestamp(millisecondsSinceEpoch: 0)

  var products: [Product] = []
  var publications: [OperatorPublication] = []
  /// Products without a release.
  var unreleased: Set<ProductIdentifier> = []

  static func name(_ text: String) throws -> ProductIdentifier {
    try #require(ProductIdentifier("com.example.\(text)"))
  }

  static func prices(_ amounts: [String: String]) throws -> [String: Price] {
    try amounts.mapValues { try #require(Price(amount: $0, currency: "EUR")) }
  }

  /// Adds an issue, or without a publication a single product.
  mutating func add(
    _ name: String, title: String? = nil, description: String = "", of publication: String? = nil,
    on date: String? = nil, prices: [String: String] = [:], samples: [String]? = nil,
    from: Timestamp? = nil, until: Timestamp? = nil
  ) throws {
    products.append(
      Product(
        id: try Self.name(name), type: .nonConsumable,
        localizations: title.map { ["en-US": Product.Localization(title: $0, description: description)] }
          ?? [:],
        prices: try Self.prices(prices), publication: try publication.map { try Self.name($0) },
        publicationDate: try date.map { try #require(Timestamp(rfc3339: "\($0)T00:00:00Z")) },
        samples: samples, availableFrom: from, availableUntil: until))
  }

  mutating func subscribe(_ name: String, to publication: String, prices: [String: String] = [:]) throws {
    products.append(
      Product(
        id: try Self.name(name), type: .autoRenewableSubscription,
        localizations: [
          "en-US": Product.Localization(title: "A year of it", description: "", terms: "It renews.")
        ],
        prices: try Self.prices(prices), publication: try Self.name(publication), period: .month))
  }

  func snapshot() throws -> CatalogSnapshot {
    let documents = try products.map { product in
      ProductTable.StoredDocument(
        document: String(decoding: try APIJSON.encode(product), as: UTF8.self), sale: .cleared,
        created: Self.start, changed: Self.start, firstReleased: product.publicationDate)
    }
    let releases = try products.filter { !$0.type.isSubscription && !unreleased.contains($0.id) }
      .map { product in
        (
          content: ReleasedContent(
            product: product.id, version: try #require(ContentVersion("1.0")),
            digest: .of(Array(product.id.description.utf8)), length: ByteCount(1000),
            manifestDigest: .of([1]), cover: "cover.jpg", hasPublicCover: true),
          share: try #require(RolloutPercentage(percentage: 100))
        )
      }
    return try CatalogSnapshot.empty.applying(
      CatalogSnapshot.Changes(
        revision: CatalogRevision(number: 1, changed: Self.start), removed: [],
        products: ProductTable.StoredDocuments(documents), releases: releases, publications: publications,
        tiers: []))
  }

  func composer(in territory: String? = nil, title: String = "Example Comics") throws -> FeedComposer {
    let catalog = try snapshot()
    let window = ShopWindow(
      catalog: catalog,
      localizer: ProductLocalizer(territory: try territory.map { try #require(Territory($0)) }), device: nil,
      application: nil, now: Self.now)
    return FeedComposer(window: window, order: CatalogOrder(catalog), title: title)
  }

  /// The product as it is shown.
  func publication(
    _ name: String, in territory: String? = nil, facts: PackageFacts? = nil
  ) throws -> CatalogFeed.Publication {
    let composer = try composer(in: territory)
    let selection = try composer.selection(of: Self.name(name))
    let known = Dictionary(
      uniqueKeysWithValues: selection.digests.compactMap { digest in facts.map { (digest, $0) } })
    return try #require(composer.publications(selection, facts: known).first)
  }
}

extension CatalogFeed.Publication {
  func link(_ relation: FeedLink.Relation) -> FeedLink? { links.first { $0.relation == relation } }
}

extension PackageFacts {
  /// Those of a comic of 32 pages.
  static let comic = PackageFacts(mediaType: .comicBook, fileExtension: "cbz", isComic: true, pageCount: 32)
}
