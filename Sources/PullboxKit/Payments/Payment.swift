public import Commerce
public import PullboxAPI

/// A product to buy, for ``PaymentQueue/add(_:)``.
public struct Payment: Hashable, Sendable {
  /// The product in the store's catalog.
  public var product: ProductIdentifier
  /// 1 to 10; stores refuse more than 1 of anything but consumables.
  public var quantity: Int
  /// The app's name for its user, at most 255 bytes and no address: the store refuses a name with an `@`. Nil for none.
  public var applicationUsername: String?
  /// The price that the buyer saw. If the price is another by now, nothing is bought (`price-changed`). Nil: any price is
  /// paid.
  public var shown: ShownPrice?
  /// Whether the buyer gives the store contact data, for the bonus of a subscription.
  public var optsIn = false

  /// A payment for one of `product` by default.
  public init(product: ProductIdentifier, quantity: Int = 1, applicationUsername: String? = nil) {
    self.product = product
    self.quantity = quantity
    self.applicationUsername = applicationUsername
  }

  /// A payment for what ``ProductsRequest`` answered, at the price and under the offer that it showed; with its bonus if the buyer gives
  /// contact data.
  public init(
    product: AgentProduct, quantity: Int = 1, applicationUsername: String? = nil, optsIn: Bool = false
  ) {
    self.init(product: product.listing.id, quantity: quantity, applicationUsername: applicationUsername)
    self.optsIn = optsIn
    shown = ShownPrice(
      of: product.listing, under: product.offer, with: optsIn ? product.bonusPeriod : nil)
  }
}
