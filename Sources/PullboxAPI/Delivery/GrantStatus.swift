public import Commerce
public import Crypto
public import CoreTypes

/// `GET /v1/grants/{grant}`, and an entry of `GET /v1/operator/deliveries`.
public struct GrantStatus: Codable, Sendable {
  /// One transition that the server recorded.
  public struct Event: Codable, Sendable {
    public var state: GrantState
    public var at: Timestamp
    public var detail: String?

    public init(state: GrantState, at: Timestamp, detail: String? = nil) {
      self.state = state
      self.at = at
      self.detail = detail
    }
  }

  public var grant: GrantIdentifier
  public var state: GrantState
  public var store: String
  public var transaction: TransactionIdentifier
  public var product: ProductIdentifier
  public var version: ContentVersion
  public var device: DeviceIdentifier
  public var digest: SHA256Digest
  public var length: ByteCount
  /// Body bytes of the package sent for this grant so far, repeated ones counted again.
  public var bytesDelivered: ByteCount
  /// Oldest first.
  public var history: [Event]

  public init(
    grant: GrantIdentifier, state: GrantState, store: String, transaction: TransactionIdentifier,
    product: ProductIdentifier, version: ContentVersion, device: DeviceIdentifier, digest: SHA256Digest,
    length: ByteCount, bytesDelivered: ByteCount, history: [Event]
  ) {
    self.grant = grant
    self.state = state
    self.store = store
    self.transaction = transaction
    self.product = product
    self.version = version
    self.device = device
    self.digest = digest
    self.length = length
    self.bytesDelivered = bytesDelivered
    self.history = history
  }
}
