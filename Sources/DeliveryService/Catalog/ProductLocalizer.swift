import Commerce
import CoreTypes
import Foundation
import PullboxAPI

/// Chooses the texts of one locale and the price of one territory.
struct ProductLocalizer: Sendable {
  let formatters: PriceFormatters
  /// A BCP 47 tag as the client wrote it; nil for the product's first.
  var locale: String?
  /// ISO 3166 alpha-3; nil for the product's first.
  var territory: String?

  func listing(of product: Product, released: ReleasedContent?) -> ProductListing {
    let (tag, texts) = localization(of: product)
    return ProductListing(
      id: product.id, type: product.type,
      title: texts?.title.removingInvisibleFormatting ?? product.id.description,
      description: texts?.description ?? "", price: price(of: product, shownIn: tag),
      contentVersion: released?.version, contentLength: released?.length, publication: product.publication,
      publicationDate: product.publicationDate, period: product.period, cover: released?.cover)
  }

  /// The asked locale, else another region of its language, else English, else the first by tag.
  private func localization(of product: Product) -> (tag: String, texts: Product.Localization?) {
    let tags = product.localizations.keys.sorted()
    func language(_ tag: String) -> Substring { tag.prefix { $0 != "-" && $0 != "_" } }
    let wanted = locale.map { $0.replacingOccurrences(of: "_", with: "-") }
    let tag =
      tags.first { $0.lowercased() == wanted?.lowercased() }
      ?? tags.first { wanted.map(language)?.lowercased() == language($0).lowercased() }
      ?? tags.first { language($0) == "en" } ?? tags.first
    return (tag ?? "en-US", tag.flatMap { product.localizations[$0] })
  }

  /// No price where the product is not sold in the asked territory. It is written by the rules of the asked
  /// locale, or of the one that the texts are in where the system does not know that.
  private func price(of product: Product, shownIn tag: String) -> ProductListing.ListedPrice? {
    let chosen = territory.map { product.prices[$0] } ?? product.prices.min { $0.key < $1.key }?.value
    guard let price = chosen, let amount = Decimal(string: price.amount) else { return nil }
    let known = locale.flatMap(KnownLocale.identifier) ?? KnownLocale.identifier(for: tag) ?? "en_US"
    let formatted =
      formatters.text(amount, currency: price.currency, locale: known) ?? "\(price.amount) \(price.currency)"
    return ProductListing.ListedPrice(amount: price.amount, currency: price.currency, formatted: formatted)
  }
}
