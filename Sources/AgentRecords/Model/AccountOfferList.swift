package import Commerce
import PullboxAPI
package import ServiceAPI

/// The answer to `GET /store/v1/offers` as any store may give it: what cannot be read, and what does not fit together, is left
/// out, and takes nothing else with it.
package struct AccountOfferList: Decodable, Sendable {
  /// The key of the list.
  private enum CodingKeys: CodingKey {
    case products
  }

  /// A value, or nil for one that cannot be read.
  private struct Readable<Value: Decodable>: Decodable {
    /// The value; nil for one that cannot be read.
    let value: Value?

    /// Never throws, so that the list around it can be read.
    init(from decoder: any Decoder) {
      value = try? Value(from: decoder)
    }
  }

  /// A list without `product` or `offers` is not readable and is left out as a whole.
  private struct Product: Decodable {
    /// The product that the offers are for.
    var product: ProductIdentifier
    /// The offers, of which those that cannot be read are left out.
    var offers: [Readable<AccountOffer>]
    /// The bonus; left out where it cannot be read.
    var bonus: Readable<AccountBonus>?
  }

  /// By product; those of which nothing is left are not in it.
  package let offers: [ProductIdentifier: ProductAccountOffers]

  /// Throws `DecodingError` for what is no such answer at all. The first of two entries for one product that
  /// has anything counts.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    var offers: [ProductIdentifier: ProductAccountOffers] = [:]
    for product in try container.decode([Readable<Product>].self, forKey: .products).compactMap(\.value) {
      let readable = ProductAccountOffers(
        product: product.product, offers: product.offers.compactMap(\.value).filter(\.isConsistent),
        bonus: product.bonus?.value)
      guard !readable.offers.isEmpty || readable.bonus != nil, offers[product.product] == nil else {
        continue
      }
      offers[product.product] = readable
    }
    self.offers = offers
  }
}
