public import Commerce
public import CoreTypes
public import Crypto

/// `POST /v1/grants`: a ``Proof``'s members, the product, the device, and a version where not the latest is wanted. Where
/// several transactions of the proof pay for the product, `transaction` says which one the grant is for; without it the
/// server takes the strongest.
public struct GrantRequest: Codable, Sendable {
  public var proof: Proof
  public var product: ProductIdentifier
  public var device: Device
  public var version: ContentVersion?
  public var transaction: TransactionIdentifier?

  public init(
    proof: Proof, product: ProductIdentifier, device: Device, version: ContentVersion? = nil,
    transaction: TransactionIdentifier? = nil
  ) {
    self.transaction = transaction
    self.proof = proof
    self.product = product
    self.device = device
    self.version = version
  }

  private enum CodingKeys: CodingKey {
    case product
    case device
    case version
    case transaction
  }

  public init(from decoder: any Decoder) throws {
    proof = try Proof(from: decoder)
    let container = try decoder.container(keyedBy: CodingKeys.self)
    product = try container.decode(ProductIdentifier.self, forKey: .product)
    device = try container.decode(Device.self, forKey: .device)
    version = try container.decodeIfPresent(ContentVersion.self, forKey: .version)
    transaction = try container.decodeIfPresent(TransactionIdentifier.self, forKey: .transaction)
  }

  public func encode(to encoder: any Encoder) throws {
    try proof.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(product, forKey: .product)
    try container.encode(device, forKey: .device)
    try container.encodeIfPresent(version, forKey: .version)
    try container.encodeIfPresent(transaction, forKey: .transaction)
  }
}

/// What a client offers as proof of purchase; exactly one of the three kinds is present. Nothing in it is trusted
/// before the store was asked.
public struct Proof: Codable, Sendable {
  /// The name the server's configuration gives the store; may be left out where the server knows one store only.
  public var store: String?
  /// A CMS app receipt in base 64.
  public var receipt: String?
  /// A compact JWS.
  public var signedTransaction: String?
  public var purchaseToken: String?

  public init(
    store: String? = nil, receipt: String? = nil, signedTransaction: String? = nil,
    purchaseToken: String? = nil
  ) {
    self.store = store
    self.receipt = receipt
    self.signedTransaction = signedTransaction
    self.purchaseToken = purchaseToken
  }
}

/// The device a grant is for.
public struct Device: Codable, Hashable, Sendable {
  public var id: DeviceIdentifier
  /// Completions must be signed with it once it was given (Ed25519, 32 bytes in base64url).
  public var publicKey: VerificationKey?

  public init(id: DeviceIdentifier, publicKey: VerificationKey? = nil) {
    self.id = id
    self.publicKey = publicKey
  }
}

/// A version that a device has completed.
public struct PreviousContent: Codable, Hashable, Sendable {
  public var version: ContentVersion
  /// Of the package.
  public var digest: SHA256Digest

  public init(version: ContentVersion, digest: SHA256Digest) {
    self.version = version
    self.digest = digest
  }
}

/// The answer to `POST /v1/grants`: a recorded permission, and all that is needed to use it.
public struct GrantResponse: Codable, Sendable {
  public var grant: GrantIdentifier
  public var transaction: TransactionIdentifier
  public var download: DownloadTerms

  public init(grant: GrantIdentifier, transaction: TransactionIdentifier, download: DownloadTerms) {
    self.grant = grant
    self.transaction = transaction
    self.download = download
  }
}

/// Names a grant. 128 random bits as 32 hexadecimal digits: whoever knows it may renew its ticket, so it cannot be
/// guessed, and it says nothing about anybody.
public struct GrantIdentifier: Hashable, Sendable, TextCodable, CustomStringConvertible {
  public let text: String

  public init?(_ text: String) {
    guard Hexadecimal.decode(text)?.count == 16 else { return nil }
    self.text = text
  }

  /// Nil unless `bytes` are 16.
  public init?(_ bytes: [UInt8]) {
    self.init(Hexadecimal.encode(bytes))
  }

  public var bytes: [UInt8] { Hexadecimal.decode(text) ?? [] }

  public var description: String { text }
}

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

/// Where a grant stands.
public enum GrantState: String, Codable, Sendable, CaseIterable {
  /// The receipt was checked; tickets may be issued.
  case granted
  /// The device reported "verified and placed", and the report was right; the transaction still waits, for other
  /// products it pays for or for the store's answer.
  case completed
  /// The store has marked the transaction finished.
  case finished
  /// Refunded or withdrawn: no tickets, no completion.
  case revoked
}
