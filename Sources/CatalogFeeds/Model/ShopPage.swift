package import CatalogDocuments
package import Commerce
import ContentCatalog
package import PullboxAPI

/// The page on which a product is bought: what it is, what it costs, and where it is to be had. Nothing is paid there.
package struct ShopPage: Hashable, Sendable {
  /// A price with what it is for.
  package struct Offer: Hashable, Sendable {
    package var id: ProductIdentifier
    package var title: String
    /// For people; nil where no territory is known.
    package var price: String?
    package var isFree: Bool
    /// How long one payment lasts; nil for what is bought for good.
    package var period: BillingPeriod?
    /// Whether it goes on by itself.
    package var renews: Bool
    /// The publisher's words on period, price and renewal.
    package var terms: String?
    /// The publisher's own address; nil where there is none.
    package var address: String?
    /// The address that an agent on the device takes.
    package var agentAddress: String { "pullbox:buy?product=\(id)" }
  }

  package var title: String
  package var description: String
  /// The cover, a path at this server.
  package var cover: String?
  package var privacyURL: String?
  /// The product itself.
  package var offer: Offer
  /// Subscriptions that would bring it, or others to its publication.
  package var subscriptions: [Offer]
}

extension FeedComposer {
  /// Returns the page of a product. Throws `product-unknown` unless it is for sale here.
  ///
  /// - Parameters:
  ///   - product: what is to be bought.
  ///   - shop: the publisher's own address.
  ///   - choice: what the reader has chosen, for that address.
  package func shopPage(
    of product: ProductIdentifier, shop: ShopAddress?, choice: FeedChoice
  ) throws(Problem) -> ShopPage {
    guard let item = window.item(product) else {
      throw Problem(.productUnknown, "\(product) is not for sale here")
    }
    func offer(_ item: ShopWindow.Item) -> ShopPage.Offer {
      let id = item.listing.id
      return ShopPage.Offer(
        id: id, title: item.listing.title,
        price: window.territory == nil ? nil : item.listing.price?.formatted,
        isFree: item.isFree(in: window.territory), period: item.listing.period,
        renews: item.product.type == .autoRenewableSubscription, terms: item.listing.terms,
        address: shop?.address(of: id, territory: window.territory?.code, locale: choice.locale))
    }
    let subscriptions =
      item.product.type.isSubscription
      ? [] : item.product.publication.map(self.subscriptions(to:)) ?? []
    return ShopPage(
      title: item.listing.title, description: item.listing.description, cover: item.listing.coverURL,
      privacyURL: item.listing.privacyURL, offer: offer(item), subscriptions: subscriptions.map(offer))
  }
}
