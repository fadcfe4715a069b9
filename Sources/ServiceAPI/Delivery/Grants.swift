public import Commerce
public import CoreTypes
public import Crypto
public import PullboxAPI

/// The body of `POST /v1/grants`: asks for the content of one product on one device. The members of the ``Proof`` stand
/// beside the others:
///
/// ```json
/// {"device":{"id":"reader-1"},"product":"com.example.issue-7","receipt":"MIIT…","store":"apple"}
/// ```
///
/// Where several transactions of the proof pay for the product, `transaction` says which one the grant is for; without it the
/// server takes the strongest. The answer is a ``GrantResponse``: 201 for a new grant, 200 for one that the device has already.
public struct GrantRequest: Codable, Sendable {
  /// The proofs that the product was bought.
  public var proofs: ProofList
  /// The product.
  public var product: ProductIdentifier
  /// The device that the content is for.
  public var device: Device
  /// The version that is wanted; absent for the newest released one.
  public var version: ContentVersion?
  /// The transaction that the grant is for; absent when the server may choose.
  public var transaction: TransactionIdentifier?
  /// The customer's consent; absent where it stays as it was.
  public var consent: Consent?
  /// Whom the application asks for, as it named its customer when it bought; absent where it knows none, or only the store is
  /// to say. It opens nothing.
  public var account: ApplicationAccount?

  /// Creates the request. Nil for `version` means the newest released one, nil for `transaction` the
  /// strongest.
  public init(
    proof: Proof, product: ProductIdentifier, device: Device, version: ContentVersion? = nil,
    transaction: TransactionIdentifier? = nil, consent: Consent? = nil, account: ApplicationAccount? = nil
  ) {
    self.transaction = transaction
    self.consent = consent
    self.account = account
    self.proofs = ProofList(proof)
    self.product = product
    self.device = device
    self.version = version
  }

  private enum CodingKeys: CodingKey {
    case product
    case device
    case version
    case transaction
    case consent
    case account
  }

  /// Reads the proof's members from the same object as the others. Throws `DecodingError`.
  public init(from decoder: any Decoder) throws {
    proofs = try ProofList(from: decoder)
    let container = try decoder.container(keyedBy: CodingKeys.self)
    product = try container.decode(ProductIdentifier.self, forKey: .product)
    device = try container.decode(Device.self, forKey: .device)
    version = try container.decodeIfPresent(ContentVersion.self, forKey: .version)
    transaction = try container.decodeIfPresent(TransactionIdentifier.self, forKey: .transaction)
    consent = try container.decodeIfPresent(Consent.self, forKey: .consent)
    account = try container.decodeIfPresent(ApplicationAccount.self, forKey: .account)
  }

  /// Writes the proof's members into the same object as the others.
  public func encode(to encoder: any Encoder) throws {
    try proofs.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(product, forKey: .product)
    try container.encode(device, forKey: .device)
    try container.encodeIfPresent(version, forKey: .version)
    try container.encodeIfPresent(transaction, forKey: .transaction)
    try container.encodeIfPresent(consent, forKey: .consent)
    try container.encodeIfPresent(account, forKey: .account)
  }
}

/// The consent that a customer gave when the application asked.
public struct Consent: Codable, Hashable, Sendable {
  /// Whether the store may learn how much of a purchase was delivered, when it decides on a refund.
  public var consumption: Bool

  /// Creates the document from its members.
  public init(consumption: Bool) {
    self.consumption = consumption
  }
}

/// A client's proof of purchase; exactly one of the three kinds is present. Nothing in it is trusted before the store was
/// asked.
public struct Proof: Codable, Sendable {
  /// The name the server's configuration gives the store; may be left out where the server knows one store only.
  public var store: String?
  /// A CMS app receipt in base 64.
  public var receipt: String?
  /// A compact JWS.
  public var signedTransaction: String?
  /// A token that the store gives an account to look its purchases up with.
  public var purchaseToken: String?

  /// Creates the proof; exactly one of the last three is given.
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

extension Proof {
  /// Line ends in the receipt's base 64 are passed over: however it is broken into lines, it is one proof.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      store: try container.decodeIfPresent(String.self, forKey: .store),
      receipt: try container.decodeIfPresent(String.self, forKey: .receipt).map(Base64.withoutLineEnds),
      signedTransaction: try container.decodeIfPresent(String.self, forKey: .signedTransaction),
      purchaseToken: try container.decodeIfPresent(String.self, forKey: .purchaseToken))
  }
}

/// A version that a device has completed.
public struct PreviousContent: Codable, Hashable, Sendable {
  /// The content version.
  public var version: ContentVersion
  /// The digest of the package.
  public var digest: SHA256Digest

  /// Creates the document from its members.
  public init(version: ContentVersion, digest: SHA256Digest) {
    self.version = version
    self.digest = digest
  }
}

/// The answer to `POST /v1/grants`: a recorded permission, and all that is needed to use it.
public struct GrantResponse: Codable, Sendable {
  /// The grant's name.
  public var grant: GrantIdentifier
  /// The store's name of the transaction.
  public var transaction: TransactionIdentifier
  /// The content that may be downloaded, its addresses and its ticket.
  public var download: DownloadTerms
  /// Only for a device without a public key, and only in this answer: what renews the grant's tickets and reads its state, as
  /// `Authorization: Bearer …`. It replaces the one of an earlier answer.
  public var renewalSecret: String?
  /// Where the device learns what becomes of what it owns; absent in answers about several products, which have one, and from
  /// servers that have no feeds.
  public var feed: FeedReference?

  /// Creates the document from its members.
  public init(
    grant: GrantIdentifier, transaction: TransactionIdentifier, download: DownloadTerms,
    renewalSecret: String? = nil, feed: FeedReference? = nil
  ) {
    self.grant = grant
    self.transaction = transaction
    self.download = download
    self.renewalSecret = renewalSecret
    self.feed = feed
  }
}

extension GrantResponse: SelfWritten {
  package func write(to object: inout JSONObjectWriter) throws {
    try object.set("download", to: download)
    if let feed { try object.set("feed", to: feed) }
    object.set("grant", to: grant.description)
    if let renewalSecret { object.set("renewalSecret", to: renewalSecret) }
    object.set("transaction", to: transaction.description)
  }
}

/// Names a grant to its device. 128 random bits as 32 hexadecimal digits: it cannot be guessed, says nothing about a
/// customer, and opens nothing without a proof (``DeviceProof``).
public struct GrantIdentifier: Hashable, Sendable, LosslessStringCodable {
  /// The 32 lower-case hexadecimal digits.
  public let description: String

  /// Nil unless `text` is 32 lower-case hexadecimal digits.
  public init?(_ text: String) {
    guard Hexadecimal.decode(text)?.count == 16 else { return nil }
    self.description = text
  }

  /// Nil unless `bytes` are 16.
  public init?(_ bytes: [UInt8]) {
    self.init(Hexadecimal.encode(bytes))
  }

  /// The 16 octets that the digits stand for.
  public var bytes: [UInt8] { Hexadecimal.decode(description) ?? [] }
}

/// `GET /v1/grants/{grant}`. Operators see an ``OperatorGrant``.
public struct GrantStatus: Codable, Sendable {
  /// One transition that the server recorded.
  public struct Event: Codable, Sendable {
    /// The content version.
    public var state: GrantState
    /// When the server recorded it, by its own clock.
    public var at: Timestamp
    /// A sentence on why; absent when there is nothing to add.
    public var detail: String?

    /// Creates the document from its members.
    public init(state: GrantState, at: Timestamp, detail: String? = nil) {
      self.state = state
      self.at = at
      self.detail = detail
    }
  }

  /// The grant's name.
  public var grant: GrantIdentifier
  /// The grant's present state, the last of ``history``.
  public var state: GrantState
  /// The name that the server's configuration gives the store.
  public var store: String
  /// The store's name of the transaction.
  public var transaction: TransactionIdentifier
  /// The product.
  public var product: ProductIdentifier
  /// The content version that was granted.
  public var version: ContentVersion
  /// The device that the grant is for.
  public var device: DeviceIdentifier
  /// The digest of the package.
  public var digest: SHA256Digest
  /// Bytes of the package.
  public var length: ByteCount
  /// Body bytes of the package sent for this grant so far, repeated ones counted again.
  public var bytesDelivered: ByteCount
  /// Oldest first.
  public var history: [Event]
  /// Which world of the store the purchase was made in: `Production`, which costs money, or `Sandbox`. Absent from servers
  /// that did not tell them apart.
  public var environment: String?
  /// Products that the transaction still owes the device, of a grant that is completed, or that an operator alone has revoked; absent where there
  /// are none, and from servers that do not tell.
  public var remaining: [ProductIdentifier]?

  /// Creates the document from its members.
  public init(
    grant: GrantIdentifier, state: GrantState, store: String, transaction: TransactionIdentifier,
    product: ProductIdentifier, version: ContentVersion, device: DeviceIdentifier, digest: SHA256Digest,
    length: ByteCount, bytesDelivered: ByteCount, history: [Event],
    environment: String? = nil, remaining: [ProductIdentifier]? = nil
  ) {
    self.remaining = remaining
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
    self.environment = environment
  }
}

/// Where a grant stands.
public enum GrantState: String, ListedWords, Sendable {
  /// The receipt was checked; tickets may be issued.
  case granted
  /// The device reported "verified and placed", and the report was right; the transaction still waits, for other
  /// products it pays for or for the store's answer.
  case completed
  /// The store has marked the transaction finished.
  case finished
  /// Made for a reader's key: an application for reading fetches the content, and reports nothing.
  case reading
  /// Refunded or withdrawn: no tickets, no completion.
  case revoked
}
