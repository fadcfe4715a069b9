public import Commerce
public import CoreTypes
public import Crypto

/// How operators name a grant: 16 hexadecimal digits. It opens and renews nothing, and is unrelated to the name by
/// which the device knows its grant.
public struct GrantShortName: Hashable, Sendable, LosslessStringCodable {
  /// The number that the digits write.
  public let value: UInt64

  /// Any number is a name.
  public init(_ value: UInt64) {
    self.value = value
  }

  /// Nil unless `text` is 16 lower-case hexadecimal digits.
  public init?(_ text: String) {
    guard text.utf8.count == 16, text.utf8.allSatisfy(Self.isDigit), let value = UInt64(text, radix: 16)
    else {
      return nil
    }
    self.value = value
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
  }

  /// The 16 lower-case hexadecimal digits.
  public var description: String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}

/// A grant as operators see it: an entry of `GET /v1/operator/deliveries`, and the answer to its revocation. Nothing
/// in it opens or renews anything.
public struct OperatorGrant: Codable, Sendable {
  /// The grant's name for operators.
  public var grant: GrantShortName
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
  public var history: [GrantStatus.Event]
  /// Which world of the store the purchase was made in: `Production`, which costs money, or `Sandbox`. Absent from servers
  /// that did not tell them apart.
  public var environment: String?
  /// Since when the grant rests on what its store said before it was away; absent once the store has confirmed it.
  public var unconfirmed: Timestamp?
  /// The application that the purchase was made in; absent where its store does not tell it.
  public var application: ApplicationIdentifier?
  /// When bytes were last sent for this grant, some seconds later at most; absent before the first.
  public var lastSent: Timestamp?
  /// How the delivery goes; absent once it is placed or revoked.
  public var progress: DeliveryProgress?

  /// Creates the document from its members.
  public init(
    grant: GrantShortName, state: GrantState, store: String, transaction: TransactionIdentifier,
    product: ProductIdentifier, version: ContentVersion, device: DeviceIdentifier, digest: SHA256Digest,
    length: ByteCount, bytesDelivered: ByteCount, history: [GrantStatus.Event],
    environment: String? = nil
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
    self.environment = environment
  }
}
