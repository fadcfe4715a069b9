import Commerce
import PullboxAPI

/// The answer to `GET /store/v1/offers` as any store may give it: what cannot be read, and what does not fit together, is left
/// out, and takes nothing else with it.
struct AccountOfferList: Decodable, Sendable {
  private enum CodingKeys: CodingKey {
    case products
  }

  /// A value, or nil for one that cannot be read.
  private struct Readable<Value: Decodable>: Decodable {
    let value: Value?

    init(from decoder: any Decoder) {
      value = try? Value(from: decoder)
    }
  }

  /// A list without `product` or `offers` is not readable and is left out as a whole.
  private struct Product: Decodable {
    var product: ProductIdentifier
    var offers: [Readable<AccountOffer>]
    var bonus: Readable<AccountBonus>?
  }

  /// By product; those of which nothing is left are not in it.
  let offers: [ProductIdentifier: ProductAccountOffers]

  /// Throws `DecodingError` for what is no such answer at all. The first of two entries for one product that
  /// has anything counts.
  init(from decoder: any Decoder) throws {
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
