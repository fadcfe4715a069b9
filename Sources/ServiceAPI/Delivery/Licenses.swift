public import Commerce
public import CoreTypes
public import Crypto
import PullboxAPI
import Receipts

/// The products that a customer owns, signed by the delivery server for one device: `GET /v1/license` has it as a compact JWS (RFC 7515, Ed25519). A
/// device that holds one answers without a network until ``expires``.
///
/// ```swift
/// let text = try license.signed(with: serverKey)
/// let read = try License(text, verifiedWith: [serverKey.verificationKey])
/// ```
public struct License: Codable, Hashable, Sendable {
  /// A product that is owned.
  public struct Owned: Codable, Hashable, Sendable {
    /// The product.
    public var product: ProductIdentifier
    /// The rule of docs/entitlements.md by which it is owned, such as `purchased`.
    public var because: String
    /// When it is owned no more unless it is paid for again; absent for what stays owned.
    public var until: Timestamp?

    /// Bytes as JSON, at most, with the comma behind it.
    package var listedLength: Int { License.listedLength(product, because, until) }

    /// Creates the member.
    public init(product: ProductIdentifier, because: String, until: Timestamp? = nil) {
      self.product = product
      self.because = because
      self.until = until
    }
  }

  /// A product that was owned, and is not any more.
  public struct Ended: Codable, Hashable, Sendable {
    /// The product.
    public var product: ProductIdentifier
    /// The rule of docs/entitlements.md against it, such as `revoked`.
    public var because: String
    /// When it ended; absent where that has no date.
    public var until: Timestamp?
    /// True where the publisher leaves the content to those who have it; absent is false.
    public var keep: Bool?

    /// Bytes as JSON, at most, with the comma behind it.
    package var listedLength: Int {
      License.listedLength(product, because, until) + (keep == nil ? 0 : #","keep":false"#.utf8.count)
    }

    /// Creates the member.
    public init(product: ProductIdentifier, because: String, until: Timestamp? = nil, keep: Bool? = nil) {
      self.product = product
      self.because = because
      self.until = until
      self.keep = keep
    }
  }

  /// Tells the document from others that the same key signs.
  public static let kind = "license"
  /// Characters of ``serial``: 16 bytes.
  package static let serialLength = 22

  /// Whether a text may be ``serial``.
  package static func isSerial(_ text: String) -> Bool {
    text.utf8.count == serialLength && Base64.decode(text, .url)?.count == 16
  }

  /// Characters of the signed text, at most.
  public static let maximumLength = 2 << 20
  /// Products in the lists together, at most.
  public static let maximumProducts = 10_000
  /// Bytes of the lists as JSON, at most: signed with all else they are within ``maximumLength``.
  package static let maximumListLength = (maximumLength - 4096) / 4 * 3 - 4096
  /// The longest time from ``issued`` to ``expires``.
  public static let longestLife: Duration = .seconds(366 * 86_400)

  /// ``kind``.
  public var kind: String
  /// The name that the device gave it when it asked, so that no earlier answer passes for this one: ``serialLength`` characters of base64url.
  public var serial: String
  /// The service's name for the customer, which it uses nowhere else; absent for one who has bought nothing.
  public var customer: String?
  /// The device that it is for.
  public var device: DeviceIdentifier
  /// The device's public key. Where another device holds the document, it is good for nothing.
  public var deviceKey: VerificationKey
  /// When it was signed, by the server's clock.
  public var issued: Timestamp
  /// It is good before that time.
  public var expires: Timestamp
  /// In the order of their names.
  public var owned: [Owned]
  /// In the order of their names.
  public var ended: [Ended]
  /// Whether what is in neither list is not owned; otherwise there were more products than a license has room for.
  public var isWhole: Bool

  private enum CodingKeys: String, CodingKey {
    case kind, serial, customer, device, deviceKey, issued, expires, owned, ended
    case isWhole = "whole"
  }

  /// Creates the document from its members.
  public init(
    serial: String, customer: String? = nil, device: DeviceIdentifier, deviceKey: VerificationKey,
    issued: Timestamp, expires: Timestamp, owned: [Owned], ended: [Ended], isWhole: Bool = true
  ) {
    kind = Self.kind
    self.serial = serial
    self.customer = customer
    self.device = device
    self.deviceKey = deviceKey
    self.issued = issued
    self.expires = expires
    self.owned = owned
    self.ended = ended
    self.isWhole = isWhole
  }

  private static func listedLength(
    _ product: ProductIdentifier, _ because: String, _ until: Timestamp?
  ) -> Int {
    #"{"because":"","product":""},"#.utf8.count + product.description.utf8.count + because.utf8.count
      + (until.map { #","until":"""#.utf8.count + $0.rfc3339.utf8.count } ?? 0)
  }

  /// The signed text; its header names the public key. Throws `ReceiptError` for one longer than ``maximumLength``.
  public func signed(with key: SigningKey) throws -> String {
    try JSONWebSignature(
      signing: try APIJSON.encode(self), with: key, keyIdentifier: key.verificationKey.text,
      maximumLength: Self.maximumLength
    ).text
  }

  /// Reads a signed text. Throws ``LicenseError``: `untrusted` where none of `keys` has signed it, `malformed` for anything else that is
  /// no license.
  public init(_ text: String, verifiedWith keys: some Sequence<VerificationKey>) throws(LicenseError) {
    self = try Self.read(text, verifiedWith: keys).license
  }

  /// Reads a signed text, as ``init(_:verifiedWith:)`` does, and answers which of `keys` has signed it.
  package static func read(
    _ text: String, verifiedWith keys: some Sequence<VerificationKey>
  ) throws(LicenseError) -> (license: License, signer: VerificationKey) {
    let (payload, signer) = try SignedByServer.payload(of: text, maximumLength: Self.maximumLength, keys)
    let read: License
    do {
      read = try APIJSON.decode(License.self, from: payload)
    } catch {
      throw LicenseError(.malformed, APIJSON.explain(error))
    }
    if let fault = read.fault { throw LicenseError(.malformed, fault) }
    return (read, signer)
  }

  /// Why it is no license, whichever key signed it; nil for one that is well formed.
  private var fault: String? {
    guard kind == Self.kind else { return "it is a \(kind)" }
    guard (1...64).contains(serial.utf8.count) else { return "its serial is not 1 to 64 bytes" }
    guard issued < expires, expires - issued <= Self.longestLife else { return "its dates cannot be" }
    guard owned.count + ended.count <= Self.maximumProducts else { return "it has too many products" }
    guard Set(owned.map(\.product)).union(ended.map(\.product)).count == owned.count + ended.count else {
      return "it has a product twice"
    }
    return nil
  }
}

/// A public key that licenses are signed with.
public struct LicenseKey: Codable, Hashable, Sendable {
  /// Its number at the service, from 1.
  public var number: Int
  /// The public key.
  public var key: VerificationKey
  /// Licenses are signed with it from then on.
  public var seals: Timestamp
  /// A compact JWS of ``Statement`` by the key before it; absent for the first.
  public var endorsement: String?

  /// Creates the document from its members.
  public init(number: Int, key: VerificationKey, seals: Timestamp, endorsement: String? = nil) {
    self.number = number
    self.key = key
    self.seals = seals
    self.endorsement = endorsement
  }

  /// The statement that the key before signs.
  struct Statement: Codable, Hashable, Sendable {
    static let kind = "license-key"
    static let maximumLength = 1024

    var kind: String
    var key: VerificationKey
  }

  /// The endorsement of a key by the one before it.
  public static func endorsement(of key: VerificationKey, by former: SigningKey) throws -> String {
    try JSONWebSignature(
      signing: try APIJSON.encode(Statement(kind: Statement.kind, key: key)), with: former,
      keyIdentifier: former.verificationKey.text
    ).text
  }

  /// Whether one of `keys` says that this one follows it.
  public func isEndorsed(by keys: some Sequence<VerificationKey>) -> Bool {
    guard let endorsement,
      let (payload, _) = try? SignedByServer.payload(
        of: endorsement, maximumLength: Statement.maximumLength, keys),
      let statement = try? APIJSON.decode(Statement.self, from: payload)
    else { return false }
    return statement.kind == Statement.kind && statement.key == key
  }
}

/// `GET /v1/license/keys`: the keys, the newest first, each endorsed by the one behind it.
public struct LicenseKeysResponse: Codable, Sendable {
  /// 100 at most.
  public var keys: [LicenseKey]

  /// Creates the document from its members.
  public init(keys: [LicenseKey]) {
    self.keys = keys
  }
}

/// `GET /v1/license`: the license, and the keys by which it is verified.
public struct LicenseResponse: Codable, Sendable {
  /// A ``License`` as it was signed.
  public var license: String
  /// The keys as `GET /v1/license/keys` has them.
  public var keys: [LicenseKey]

  /// Creates the document from its members.
  public init(license: String, keys: [LicenseKey]) {
    self.license = license
    self.keys = keys
  }
}

/// Why a text is no license of a service.
public struct LicenseError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of the failure.
  public enum Code: String, Sendable {
    /// It is none, or one that cannot be.
    case malformed
    /// No key that counts here has signed it.
    case untrusted
  }

  /// The kind of the failure.
  public let code: Code
  /// A sentence for people, without a full stop.
  public let message: String

  /// Creates the error.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The kind, and the sentence.
  public var description: String { "the license is \(code.rawValue): \(message)" }
}

/// The reading of what a server's key signs.
private enum SignedByServer {
  static func payload(
    of text: String, maximumLength: Int, _ keys: some Sequence<VerificationKey>
  ) throws(LicenseError) -> (payload: [UInt8], signer: VerificationKey) {
    let signature: JSONWebSignature
    do {
      signature = try JSONWebSignature(text: text, maximumLength: maximumLength)
    } catch {
      throw LicenseError(.malformed, "\(error)")
    }
    // The header's word chooses among keys that count already, and makes none count.
    guard let key = keys.first(where: { $0.text == signature.keyIdentifier }) else {
      throw LicenseError(.untrusted, "its key is not one of those that count here")
    }
    do {
      return (try signature.payload(verifiedWith: key), key)
    } catch {
      throw LicenseError(.untrusted, "\(error)")
    }
  }
}
