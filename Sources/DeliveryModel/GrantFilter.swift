package import Commerce
import PullboxAPI
package import ServiceAPI

/// Which grants a list is to have; nothing set is all of them. A grant is listed if it has all that is set.
package struct GrantFilter: Sendable {
  /// Grants of this product alone.
  package var product: ProductIdentifier?
  /// However it is spelled.
  package var version: ContentVersion?
  /// Grants of this transaction alone.
  package var transaction: TransactionIdentifier?
  /// Grants for this device alone.
  package var device: DeviceIdentifier?
  /// Grants that transactions of this customer's pay for alone.
  package var customer: CustomerIdentifier?
  /// A revoked grant counts as revoked alone, whatever it was before.
  package var state: GrantState?
  /// When they were granted.
  package var granted = TimeRange()

  /// Creates a filter; without arguments, one that every grant passes.
  package init(
    product: ProductIdentifier? = nil, version: ContentVersion? = nil,
    transaction: TransactionIdentifier? = nil, device: DeviceIdentifier? = nil,
    customer: CustomerIdentifier? = nil, state: GrantState? = nil, granted: TimeRange = TimeRange()
  ) {
    self.product = product
    self.version = version
    self.transaction = transaction
    self.device = device
    self.customer = customer
    self.state = state
    self.granted = granted
  }
}
