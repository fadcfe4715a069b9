package import Commerce
package import PullboxAPI
package import ServiceAPI

/// A purchase that may begin: the request with its bounds checked. It also tells whether a repetition under
/// an idempotency key is the same order.
package struct PurchaseOrder: Hashable, Sendable {
  package let product: ProductIdentifier
  /// 1 to ``maximumQuantity``. More than one is refused later for what is no consumable.
  package let quantity: Int
  package let device: DeviceIdentifier?
  /// At most ``maximumUsernameLength`` bytes, without an at sign; the store does not read it.
  package let applicationUsername: String?
  /// Whether this purchase needs an approval, also where the account needs none.
  package let asksToBuy: Bool
  /// Whether the customer gives contact data for a bonus.
  package let optsIn: Bool
  /// The price that the customer saw; nil where any is taken.
  package let shown: ShownPrice?

  static let maximumQuantity = 10
  static let maximumUsernameLength = 255

  /// Throws the problem to answer with. It is `request-malformed` with the member at fault in its detail.
  package init(_ request: PurchaseRequest) throws(Problem) {
    let quantity = request.quantity ?? 1
    guard (1...Self.maximumQuantity).contains(quantity) else {
      throw Problem(.requestMalformed, "quantity is a number from 1 to \(Self.maximumQuantity)")
    }
    guard (request.applicationUsername?.utf8.count ?? 0) <= Self.maximumUsernameLength else {
      throw Problem(
        .requestMalformed, "applicationUsername has at most \(Self.maximumUsernameLength) bytes")
    }
    guard request.applicationUsername?.utf8.contains(0x40) != true else {
      throw Problem(.requestMalformed, "applicationUsername is opaque: an address of mail names a person")
    }
    product = request.product
    self.quantity = quantity
    device = request.device
    applicationUsername = request.applicationUsername
    asksToBuy = request.askToBuy ?? false
    optsIn = request.optIn ?? false
    shown = request.shown
  }

  /// One of `product` that belongs to no device: a code, a seat of a license.
  package init(of product: ProductIdentifier) {
    self.product = product
    quantity = 1
    device = nil
    applicationUsername = nil
    asksToBuy = false
    optsIn = false
    shown = nil
  }

  /// Whether the transaction was begun for the same. The price that was shown is no part of it: what was sold at the one before is
  /// the answer to a repetition.
  package func isOrder(of transaction: StoredTransaction) -> Bool {
    product == transaction.product && quantity == transaction.quantity && device == transaction.device
      && applicationUsername == transaction.applicationUsername && optsIn == transaction.optsIn
  }
}
