public import Commerce

/// `POST /store/v1/purchases`.
public struct PurchaseRequest: Codable, Sendable {
  public var product: ProductIdentifier
  /// 1 to 10; 1 when left out.
  public var quantity: Int?
  public var applicationUsername: String?
  public var askToBuy: Bool?
  public var device: DeviceIdentifier?

  public init(
    product: ProductIdentifier, quantity: Int? = nil, applicationUsername: String? = nil,
    askToBuy: Bool? = nil, device: DeviceIdentifier? = nil
  ) {
    self.product = product
    self.quantity = quantity
    self.applicationUsername = applicationUsername
    self.askToBuy = askToBuy
    self.device = device
  }
}
