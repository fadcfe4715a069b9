internal import COpenSSL

/// An Ed25519 private key (RFC 8032).
@safe
public final class SigningKey: Sendable {
  /// Lives as long as the key object; libcrypto's keys may be read from several threads at once.
  private nonisolated(unsafe) let key: OpaquePointer

  /// A fresh key.
  public convenience init() {
    // 32 random bytes are always a key.
    guard let key = SigningKey(seed: RandomBytes.make(32)) else { preconditionFailure("no Ed25519") }
    unsafe self.init(takingOwnershipOf: EVP_PKEY_dup(key.key))
  }

  /// Nil unless `seed` is 32 bytes.
  public init?(seed: [UInt8]) {
    guard seed.count == 32, let key = unsafe EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, 32)
    else { return nil }
    unsafe self.key = key
  }

  private init(takingOwnershipOf key: OpaquePointer) {
    unsafe self.key = key
  }

  deinit {
    unsafe EVP_PKEY_free(key)
  }

  /// The 32 secret bytes, for a file that only its owner may read.
  public var seed: [UInt8] {
    unsafe raw { unsafe EVP_PKEY_get_raw_private_key(key, $0, $1) }
  }

  /// The public half, computed from the secret one.
  public var verificationKey: VerificationKey {
    guard let key = unsafe VerificationKey(raw { unsafe EVP_PKEY_get_raw_public_key(key, $0, $1) }) else {
      preconditionFailure("a private key has a public one")
    }
    return key
  }

  /// 64 bytes.
  public func sign(_ message: [UInt8]) -> [UInt8] {
    let context = unsafe EVP_MD_CTX_new()
    defer { unsafe EVP_MD_CTX_free(context) }
    var signature = [UInt8](repeating: 0, count: 64)
    var length = signature.count
    let done =
      unsafe EVP_DigestSignInit(context, nil, nil, nil, key) == 1
      && EVP_DigestSign(context, &signature, &length, message, message.count) == 1
    Libcrypto.require(done && length == 64, "sign with Ed25519")
    return signature
  }

  private func raw(
    _ read: (UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<Int>?) -> Int32
  ) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 32)
    var length = bytes.count
    Libcrypto.require(unsafe read(&bytes, &length) == 1 && length == 32, "read an Ed25519 key")
    return bytes
  }
}

/// An Ed25519 public key. As text, and in JSON, its 32 bytes in base64url.
public struct VerificationKey: Hashable, Sendable {
  /// The 32 bytes as RFC 8032 §5.1.2 encodes a point.
  public let bytes: [UInt8]

  /// Nil unless `bytes` are 32.
  public init?(_ bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    self.bytes = bytes
  }

  /// Base 64 of either alphabet.
  public init?(text: String) {
    guard let bytes = Base64.decode(text, .url) ?? Base64.decode(text, .standard) else { return nil }
    self.init(bytes)
  }

  /// The 32 bytes in base64url without padding.
  public var text: String { Base64.encode(bytes, .url) }

  /// Whether `signature`, 64 bytes, was made of `message` with this key's secret half (RFC 8032 §5.1.7).
  /// Never throws: what cannot be checked is not valid.
  public func isValid(signature: [UInt8], for message: [UInt8]) -> Bool {
    guard signature.count == 64,
      let key = unsafe EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, 32)
    else { return Libcrypto.accepts(false) }
    defer { unsafe EVP_PKEY_free(key) }
    let context = unsafe EVP_MD_CTX_new()
    defer { unsafe EVP_MD_CTX_free(context) }
    let valid =
      unsafe EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
      && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    return Libcrypto.accepts(valid)
  }
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
