import Commerce
import CoreTypes
import Crypto
import DeliveryModel
import PullboxAPI
import ServiceAPI
import Testing

@testable import ContentCatalog
@testable import DeliveryRecords

/// A product of a catalog that a test describes, with its state of sale and what is released of it.
struct SampleProduct: Sendable {
  struct Release: Sendable {
    var version = "1.0"
    /// The part of the devices that get it.
    var percentage = 100
    var hasPublicCover = false
  }

  var product: Product
  var sale = SaleState.cleared
  var releases = [Release()]

  /// The name of an issue, a subscription or a publication: `com.example.` and the text.
  static func name(_ text: String) throws -> ProductIdentifier {
    try #require(ProductIdentifier("com.example.\(text)"))
  }

  /// The moment of a day at midnight (UTC), such as `2026-11-21`.
  static func day(_ text: String) throws -> Timestamp {
    try #require(Timestamp(rfc3339: "\(text)T00:00:00Z"))
  }

  /// An issue or a single product, with one version for all devices. `prices` are amounts in EUR by territory.
  static func issue(
    _ name: String, of publication: String? = nil, on date: String? = nil, prices: [String: String] = [:],
    title: String? = nil, releases: [Release] = [Release()]
  ) throws -> SampleProduct {
    SampleProduct(
      product: Product(
        id: try self.name(name), type: .nonConsumable,
        localizations: title.map { ["en-US": Product.Localization(title: $0, description: "")] } ?? [:],
        prices: try Self.prices(prices), publication: try publication.map { try self.name($0) },
        publicationDate: try date.map { try day($0) }), releases: releases)
  }

  static func subscription(
    _ name: String, to publication: String, prices: [String: String] = [:]
  ) throws -> SampleProduct {
    SampleProduct(
      product: Product(
        id: try self.name(name), type: .autoRenewableSubscription, prices: try Self.prices(prices),
        publication: try self.name(publication), period: .month), releases: [])
  }

  /// The amounts in EUR as prices.
  static func prices(_ amounts: [String: String]) throws -> [String: Price] {
    try amounts.mapValues { try #require(Price(amount: $0, currency: "EUR")) }
  }
}

extension CatalogSnapshot {
  /// A catalog of these products, made of the rows that a database would have.
  static func of(
    _ samples: [SampleProduct], publications: [OperatorPublication] = [], tiers: [PriceTier] = []
  ) throws -> CatalogSnapshot {
    let start = Timestamp(millisecondsSinceEpoch: 0)
    let documents = try samples.map { sample in
      ProductTable.StoredDocument(
        document: String(decoding: try APIJSON.encode(sample.product), as: UTF8.self), sale: sample.sale,
        created: start, changed: start, firstReleased: nil)
    }
    let releases = try samples.flatMap { sample in
      try sample.releases.map { release in
        let content = ReleasedContent(
          product: sample.product.id, version: try #require(ContentVersion(release.version)),
          digest: .of(Array("\(sample.product.id) \(release.version)".utf8)),
          length: Self.length(of: release), manifestDigest: .of([1]), cover: "cover.jpg",
          hasPublicCover: release.hasPublicCover)
        return (
          content: content, share: try #require(RolloutPercentage(percentage: release.percentage))
        )
      }
    }
    return try CatalogSnapshot.empty.applying(
      Changes(
        revision: CatalogRevision(number: 1, changed: start), removed: [],
        products: ProductTable.StoredDocuments(documents), releases: releases, publications: publications,
        tiers: tiers))
  }

  /// The bytes of a sample's package, by its share alone.
  static func length(of release: SampleProduct.Release) -> ByteCount { ByteCount(1000 + release.percentage) }
}

extension ShopWindow {
  /// Why the product is not for sale; nil where it is.
  func reason(_ name: String) -> InvalidProductsReport.Reason? {
    switch answer(to: "com.example.\(name)") {
    case .listing: nil
    case .invalid(let reason): reason
    }
  }

  /// The product as it is shown; nil where it is not for sale.
  func listing(_ name: String) -> ProductListing? {
    switch answer(to: "com.example.\(name)") {
    case .listing(let listing): listing
    case .invalid: nil
    }
  }
}
