public import Commerce
public import CoreTypes

/// One product that a proof owns.
public struct EntitledProduct: Codable, Sendable {
  public var product: ProductIdentifier
  public var version: ContentVersion
  public var length: ByteCount
  /// Why it is owned: `purchased`, `published-during-subscription`, `unlocked-at-start`.
  public var because: String
  /// The transaction that pays for it; it is finished when all that it pays for has been completed.
  public var transaction: TransactionIdentifier
  /// The state of this device's grant, `not-granted` before there is one.
  public var state: String

  public init(
    product: ProductIdentifier, version: ContentVersion, length: ByteCount, because: String,
    transaction: TransactionIdentifier, state: String
  ) {
    self.product = product
    self.version = version
    self.length = length
    self.because = because
    self.transaction = transaction
    self.state = state
  }
}
