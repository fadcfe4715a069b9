package import Commerce
package import CoreTypes
import DeliveryRecords
import Foundation
import PullboxAPI

/// Chooses the texts of one locale and the price of one territory. Pure; docs/catalogue.md ("Prices") has the
/// rules.
package struct ProductLocalizer: Sendable {
  /// A BCP 47 tag as the client wrote it; nil for the product's first.
  var locale: String?
  /// Nil for the product's first.
  var territory: Territory?
  /// Since when its reader has subscribed without a gap: then the prices of that time hold where they were preserved. Nil for a
  /// new customer.
  var subscribedSince: Timestamp?
  /// By whose rules prices are written where that is not by the likely language of their territory.
  var priceLocales: [Territory: String] = [:]

  package init(
    locale: String? = nil, territory: Territory? = nil, subscribedSince: Timestamp? = nil,
    priceLocales: [Territory: String] = [:]
  ) {
    self.locale = locale
    self.territory = territory
    self.subscribedSince = subscribedSince
    self.priceLocales = priceLocales
  }

  /// `prices` are the product's own where they are nil; without `showsPrice` the listing tells none.
  func listing(
    of product: Product, at prices: ProductPrices? = nil, released: ReleasedContent?, showsPrice: Bool = true
  ) -> ProductListing {
    let prices = prices ?? ProductPrices(of: product, tier: [:])
    let texts = localization(of: product)
    return ProductListing(
      id: product.id, type: product.type,
      title: texts?.title.removingInvisibleFormatting ?? product.id.description,
      description: texts?.description ?? "", price: showsPrice ? price(among: prices) : nil,
      contentVersion: released?.version, contentLength: released?.length, publication: product.publication,
      publicationDate: product.publicationDate, period: product.period, cover: released?.cover,
      terms: texts?.terms, privacyURL: product.privacyURL, availableUntil: product.availableUntil)
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
  private func price(among prices: ProductPrices) -> ProductListing.ListedPrice? {
    let first = prices.current.keys.min()
    guard let code = territory?.code ?? first, let price = prices.price(in: code, since: subscribedSince),
      let amount = Decimal(string: price.amount)
    else { return nil }
    // One that an earlier version of this server took may be of no territory.
    let locale = Territory(code).map { priceLocales[$0] ?? PriceText.locale(of: $0) }
    return ProductListing.ListedPrice(
      amount: price.amount, currency: price.currency,
      formatted: PriceText.formatted(amount, currency: price.currency, locale: locale ?? "en-US"),
      locale: locale)
  }
}
