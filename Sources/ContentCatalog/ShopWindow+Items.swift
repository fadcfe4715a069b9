package import Commerce
package import CoreTypes
package import DeliveryRecords
package import PullboxAPI
import ServiceAPI

extension ShopWindow {
  /// A product for sale, with the content that its buyer gets.
  package struct Item: Sendable {
    /// The product as it is shown.
    package let listing: ProductListing
    /// The product as it is described.
    package let product: Product
    /// Its prices now and those that it preserved, in all territories.
    package let prices: ProductPrices
    /// When its description or what is released of it last changed.
    package let changed: Timestamp
    /// Nil for a subscription.
    package let content: ReleasedContent?

    /// Whether it costs nothing in the territory, or anywhere where none is named.
    package func isFree(in territory: Territory?) -> Bool {
      guard !prices.current.isEmpty else { return true }
      guard let territory else { return prices.current.values.allSatisfy(\.isNothing) }
      return prices.price(in: territory.code)?.isNothing ?? false
    }
  }

  /// The product; nil unless it is for sale to this reader.
  package func item(_ id: ProductIdentifier) -> Item? {
    guard let entry = catalog[id], isForSale(entry) else { return nil }
    return item(of: entry, released(of: entry))
  }

  /// The product with the content that its owner gets, whether it is for sale or not; nil where there is no such product. Its listing
  /// tells no price, which its owner has paid.
  package func item(_ id: ProductIdentifier, with content: ReleasedContent) -> Item? {
    catalog[id].map { item(of: $0, content, showsPrice: false) }
  }

  /// Whether the product is for sale to this reader.
  package func isForSale(_ id: ProductIdentifier) -> Bool { catalog[id].map(isForSale) ?? false }

  /// The publication's title and description, whatever is for sale of it; its identifier where it was not described.
  package func texts(ofPublication id: ProductIdentifier) -> (title: String, description: String) {
    let texts = localizer.texts(among: catalog.described[id]?.localizations ?? [:])
    return (texts?.title.removingInvisibleFormatting ?? id.description, texts?.description ?? "")
  }

  /// The territory whose prices are shown; nil where none was named.
  package var territory: Territory? { localizer.territory }

  private func item(
    of entry: CatalogSnapshot.Entry, _ content: ReleasedContent?, showsPrice: Bool = true
  ) -> Item {
    Item(
      listing: listing(of: entry, content, showsPrice: showsPrice), product: entry.product,
      prices: catalog.prices(of: entry.product),
      changed: max(entry.row.changed, content?.released ?? entry.row.changed), content: content)
  }
}

extension Price {
  /// Whether it is an amount of nothing, such as `0.00`.
  fileprivate var isNothing: Bool {
    amount.utf8.allSatisfy { $0 == UInt8(ascii: "0") || $0 == UInt8(ascii: ".") }
  }
}
