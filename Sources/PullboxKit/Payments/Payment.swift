public import Commerce

/// A wish to buy, for ``PaymentQueue/add(_:)``.
public struct Payment: Hashable, Sendable {
  public var product: ProductIdentifier
  /// 1 to 10; stores refuse more than 1 of anything but consumables.
  public var quantity: Int

  public init(product: ProductIdentifier, quantity: Int = 1) {
    self.product = product
    self.quantity = quantity
  }
}
