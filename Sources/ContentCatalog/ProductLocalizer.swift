package import Commerce
package import CoreTypes
import DeliveryRecords
import Foundation
import PullboxAPI

/// Chooses the texts of one locale and the price of one territory. Pure; docs/catalogue.md ("Prices") has the
/// rules.
package struct ProductLocalizer: Sendable {
  /// A BCP 47 tag in small letters, with the language that it begins with; nil for the product's first.
  private let wanted: (tag: String, language: Substring)?
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
    wanted = locale.map { locale in
      let tag = locale.lowercased().replacing("_", with: "-")
      return (tag, Self.language(of: tag))
    }
    self.territory = territory
    self.subscribedSince = subscribedSince
    self.priceLocales = priceLocales
  }

  /// `prices` are the product's own where they are nil; without `showsPrice` the listing tells none.
  func listing(
    of product: Product, at prices: ProductPrices? = nil, released: ReleasedContent?, showsPrice: Bool = true
  ) -> ProductListing {
    let prices = prices ?? ProductPrices(of: product, tier: [:])
    let texts = self.texts(among: product.localizations)
    return ProductListing(
      id: product.id, type: product.type,
      title: texts?.title.removingInvisibleFormatting ?? product.id.description,
      description: texts?.description ?? "", price: showsPrice ? price(among: prices) : nil,
      contentVersion: released?.version, contentLength: released?.length, publication: product.publication,
      publicationDate: product.publicationDate, period: product.period, cover: released?.cover,
      terms: texts?.terms, privacyURL: product.privacyURL, availableUntil: product.availableUntil)
  }

  /// The asked locale, else another region of its language, else English, else the first by tag; nil without texts.
  func texts(among localizations: [String: Product.Localization]) -> Product.Localization? {
    localizations.min { left, right in
      (rank(of: left.key), left.key) < (rank(of: right.key), right.key)
    }?.value
  }

  private func rank(of tag: String) -> Int {
    if let wanted {
      let small = tag.lowercased()
      if small == wanted.tag { return 0 }
      if Self.language(of: small) == wanted.language { return 1 }
    }
    return Self.language(of: tag) == "en" ? 2 : 3
  }

  private static func language(of tag: String) -> Substring { tag.prefix { $0 != "-" && $0 != "_" } }

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
