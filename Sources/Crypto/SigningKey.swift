internal import CSodium

/// An Ed25519 private key (RFC 8032). What this object has of it is overwritten when its last holder lets it go.
@safe
public final class SigningKey: Sendable {
  /// The 32 bytes of the seed, then the 32 of the public key. Written before an initializer returns, and never again.
  private nonisolated(unsafe) let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: SigningKey.length)

  /// A fresh key.
  public init() {
    Libsodium.start()
    var publicKey = [UInt8](repeating: 0, count: VerificationKey.length)
    Libsodium.require(unsafe crypto_sign_keypair(&publicKey, bytes) == 0, "make an Ed25519 key")
  }

  /// Nil unless `seed` is 32 bytes.
  public init?(seed: [UInt8]) {
    guard seed.count == SigningKey.seedLength else { return nil }
    Libsodium.start()
    var publicKey = [UInt8](repeating: 0, count: VerificationKey.length)
    Libsodium.require(unsafe crypto_sign_seed_keypair(&publicKey, bytes, seed) == 0, "make an Ed25519 key")
  }

  deinit {
    unsafe sodium_memzero(bytes, SigningKey.length)
    unsafe bytes.deallocate()
  }

  /// The 32 secret bytes, for a file that only its owner may read.
  public var seed: [UInt8] {
    unsafe Array(UnsafeBufferPointer(start: bytes, count: SigningKey.seedLength))
  }

  /// The public half, computed from the secret one.
  public var verificationKey: VerificationKey {
    let half = unsafe UnsafeBufferPointer(
      start: bytes + SigningKey.seedLength, count: VerificationKey.length)
    guard let key = VerificationKey(unsafe Array(half)) else {
      preconditionFailure("a private key has a public one")
    }
    return key
  }

  /// 64 bytes.
  public func sign(_ message: [UInt8]) -> [UInt8] {
    var signature = [UInt8](repeating: 0, count: VerificationKey.signatureLength)
    let done = unsafe crypto_sign_detached(&signature, nil, message, UInt64(message.count), bytes) == 0
    Libsodium.require(done, "sign with Ed25519")
    return signature
  }

  private static let seedLength = 32
  private static let length = seedLength + VerificationKey.length
}

/// An Ed25519 public key. As text, and in JSON, its 32 bytes in base64url.
public struct VerificationKey: Hashable, Sendable {
  /// The 32 bytes as RFC 8032 §5.1.2 encodes a point.
  public let bytes: [UInt8]

  /// Nil unless `bytes` are 32.
  public init?(_ bytes: [UInt8]) {
    guard bytes.count == VerificationKey.length else { return nil }
    self.bytes = bytes
  }

  /// Base 64 of either alphabet.
  public init?(text: String) {
    guard let bytes = Base64.decode(text, .url) ?? Base64.decode(text, .standard) else { return nil }
    self.init(bytes)
  }

  /// The 32 bytes in base64url without padding.
  public var text: String { Base64.encode(bytes, .url) }

  /// Whether `signature`, 64 bytes, was made of `message` with this key's secret half (RFC 8032 §5.1.7). Nor is
  /// one of a key of small order, under which a signature holds for many messages.
  /// Never throws: what cannot be checked is not valid.
  public func isValid(signature: [UInt8], for message: [UInt8]) -> Bool {
    guard signature.count == VerificationKey.signatureLength else { return false }
    Libsodium.start()
    return unsafe crypto_sign_verify_detached(signature, message, UInt64(message.count), bytes) == 0
  }

  fileprivate static let length = 32
  fileprivate static let signatureLength = 64
}

extension VerificationKey: Codable {
  /// Reads the text. Throws `DecodingError` when it is none of this type.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let key = VerificationKey(text: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "not 32 bytes in base64url")
    }
    self = key
  }

  /// Writes the text as a JSON string.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

/// Keys as `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout` write them (RFC 8410): one fixed prefix, then
/// the 32 bytes.
extension SigningKey {
  /// PKCS #8, `-----BEGIN PRIVATE KEY-----`. Secret.
  public var pem: String {
    PEMDocument(label: SigningKey.label, bytes: SigningKey.prefix + seed).text
  }

  /// Nil unless `pem` is one Ed25519 private key in that form.
  public convenience init?(pem: String) {
    guard let document = PEMDocument(only: SigningKey.label, in: pem),
      document.bytes.starts(with: SigningKey.prefix)
    else { return nil }
    self.init(seed: Array(document.bytes.dropFirst(SigningKey.prefix.count)))
  }

  private static let label = "PRIVATE KEY"
  private static let prefix: [UInt8] = [
    0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
  ]
}

extension VerificationKey {
  /// SubjectPublicKeyInfo, `-----BEGIN PUBLIC KEY-----`.
  public var pem: String { PEMDocument(label: "PUBLIC KEY", bytes: Self.prefix + bytes).text }

  private static let prefix: [UInt8] = [
    0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00,
  ]
}
