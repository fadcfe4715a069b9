internal import COpenSSL

/// An Ed25519 public key. As text, and in JSON, its 32 bytes in base64url.
public struct VerificationKey: Hashable, Sendable {
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

  public var text: String { Base64.encode(bytes, .url) }

  public func isValid(signature: [UInt8], for message: [UInt8]) -> Bool {
    guard signature.count == 64,
      let key = unsafe EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, 32)
    else { return false }
    defer { unsafe EVP_PKEY_free(key) }
    let context = unsafe EVP_MD_CTX_new()
    defer { unsafe EVP_MD_CTX_free(context) }
    let valid =
      unsafe EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
      && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    // A refused signature leaves an entry in the thread's error queue, which later calls would mistake for theirs.
    if !valid { ERR_clear_error() }
    return valid
  }
}

extension VerificationKey: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let key = VerificationKey(text: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "not 32 bytes in base64url")
    }
    self = key
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}
