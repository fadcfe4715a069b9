import Commerce
import CoreTypes
import Foundation
import PullboxAPI

/// Chooses the texts of one locale and the price of one territory.
struct ProductLocalizer: Sendable {
  /// A BCP 47 tag as the client wrote it; nil for the product's first.
  var locale: String?
  /// Nil for the product's first.
  var territory: Territory?

  func listing(of product: Product, released: ReleasedContent?) -> ProductListing {
    let texts = localization(of: product)
    return ProductListing(
      id: product.id, type: product.type,
      title: texts?.title.removingInvisibleFormatting ?? product.id.description,
      description: texts?.description ?? "", price: price(of: product),
      contentVersion: released?.version, contentLength: released?.length, publication: product.publication,
      publicationDate: product.publicationDate, period: product.period, cover: released?.cover)
  }

  /// The asked locale, else another region of its language, else English, else the first by tag.
  private func localization(of product: Product) -> Product.Localization? {
    let tags = product.localizations.keys.sorted()
    func language(_ tag: String) -> Substring { tag.prefix { $0 != "-" && $0 != "_" } }
    let wanted = locale.map { $0.replacingOccurrences(of: "_", with: "-") }
    let tag =
      tags.first { $0.lowercased() == wanted?.lowercased() }
      ?? tags.first { wanted.map(language)?.lowercased() == language($0).lowercased() }
      ?? tags.first { language($0) == "en" } ?? tags.first
    return tag.flatMap { product.localizations[$0] }
  }

  /// No price for a product without prices, and where it is not sold in the asked territory. It is written by the rules of
  /// its own territory, whatever language the texts are in.
  private func price(of product: Product) -> ProductListing.ListedPrice? {
    let first = product.prices.keys.min()
    guard let code = territory?.code ?? first, let price = product.prices[code],
      let amount = Decimal(string: price.amount)
    else { return nil }
    // One that an earlier version of this server took may be of no territory.
    let locale = Territory(code).map { PriceText.locale(of: $0) }
    return ProductListing.ListedPrice(
      amount: price.amount, currency: price.currency,
      formatted: PriceText.formatted(amount, currency: price.currency, locale: locale ?? "en-US"),
      locale: locale)
  }
}
