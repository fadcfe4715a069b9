internal import COpenSSL

/// A private key of ECDSA over P-256, for the algorithm ES256 of JSON Web Tokens (RFC 7518 §3.4).
@safe
public final class ES256Key: Sendable {
  private let key: KeyHandle

  /// A fresh key.
  public init() {
    let context = unsafe EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil)
    defer { unsafe EVP_PKEY_CTX_free(context) }
    var made: OpaquePointer?
    let done =
      unsafe EVP_PKEY_keygen_init(context) == 1 && EVP_PKEY_CTX_set_group_name(context, ES256.curve) == 1
      && EVP_PKEY_keygen(context, &made) == 1
    guard done, let made = unsafe made else { preconditionFailure("libcrypto refused to make a P-256 key") }
    key = unsafe KeyHandle(takingOwnershipOf: made)
  }

  /// Nil unless `pem` is one private key over P-256 in PKCS #8, as files named `.p8` hold it.
  public init?(pem: String) {
    guard let key = unsafe KeyHandle(pem: pem, where: ES256.isCurve(of:)) else { return nil }
    self.key = key
  }

  /// PKCS #8, `-----BEGIN PRIVATE KEY-----`. Secret.
  public var pem: String { key.pem }

  /// 64 bytes: r and s, each of 32 (RFC 7518 §3.4).
  public func sign(_ message: [UInt8]) -> [UInt8] {
    let context = unsafe EVP_MD_CTX_new()
    defer { unsafe EVP_MD_CTX_free(context) }
    var encoded = [UInt8](repeating: 0, count: ES256.longestEncoding)
    var length = encoded.count
    Libcrypto.require(
      unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key.pointer) == 1
        && EVP_DigestSign(context, &encoded, &length, message, message.count) == 1, "sign with ECDSA")
    let parsed = unsafe encoded.withUnsafeBufferPointer { bytes in
      var cursor = bytes.baseAddress
      return unsafe d2i_ECDSA_SIG(nil, &cursor, length)
    }
    defer { unsafe ECDSA_SIG_free(parsed) }
    var signature = [UInt8](repeating: 0, count: 64)
    let done = unsafe signature.withUnsafeMutableBufferPointer { buffer in
      guard let parsed = unsafe parsed, let start = buffer.baseAddress else { return false }
      return unsafe BN_bn2binpad(ECDSA_SIG_get0_r(parsed), start, 32) == 32
        && BN_bn2binpad(ECDSA_SIG_get0_s(parsed), start + 32, 32) == 32
    }
    Libcrypto.require(done, "take an ECDSA signature apart")
    return signature
  }

  /// Whether `signature`, 64 bytes, was made of `message` with this key. Never throws: what cannot be checked is not valid.
  public func isValid(signature: [UInt8], for message: [UInt8]) -> Bool {
    unsafe ES256.isValid(signature, for: message, by: key.pointer)
  }
}

/// A public key of ECDSA over P-256, for signatures of ES256.
@safe
public final class ES256PublicKey: Sendable {
  private let key: KeyHandle

  /// Nil unless `bytes` are the SubjectPublicKeyInfo (RFC 5280 §4.1) of a key over P-256, in DER and nothing behind it.
  public init?(subjectPublicKeyInfo bytes: [UInt8]) {
    guard let key = unsafe KeyHandle(subjectPublicKeyInfo: bytes, where: ES256.isCurve(of:)) else {
      return nil
    }
    self.key = key
  }

  /// As ``ES256Key/isValid(signature:for:)``.
  public func isValid(signature: [UInt8], for message: [UInt8]) -> Bool {
    unsafe ES256.isValid(signature, for: message, by: key.pointer)
  }
}

/// What both kinds of keys share.
private enum ES256 {
  static let curve = "prime256v1"
  /// Two integers of 33 bytes, their heads and that of the sequence.
  static let longestEncoding = 72

  static func isCurve(of key: OpaquePointer) -> Bool {
    var name = [CChar](repeating: 0, count: 32)
    var length = 0
    return unsafe EVP_PKEY_get_id(key) == EVP_PKEY_EC
      && EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1
      && String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self) == curve
  }

  static func isValid(_ signature: [UInt8], for message: [UInt8], by key: OpaquePointer) -> Bool {
    guard signature.count == 64, let parsed = unsafe ECDSA_SIG_new() else { return false }
    defer { unsafe ECDSA_SIG_free(parsed) }
    let r = unsafe BN_bin2bn(Array(signature[..<32]), 32, nil)
    let s = unsafe BN_bin2bn(Array(signature[32...]), 32, nil)
    guard unsafe ECDSA_SIG_set0(parsed, r, s) == 1 else {
      unsafe BN_free(r)
      unsafe BN_free(s)
      return Libcrypto.accepts(false)
    }
    var encoded = [UInt8](repeating: 0, count: longestEncoding)
    let length = unsafe encoded.withUnsafeMutableBufferPointer { buffer in
      var cursor = buffer.baseAddress
      return unsafe i2d_ECDSA_SIG(parsed, &cursor)
    }
    guard length > 0 else { return Libcrypto.accepts(false) }
    let context = unsafe EVP_MD_CTX_new()
    defer { unsafe EVP_MD_CTX_free(context) }
    let valid =
      unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
      && EVP_DigestVerify(context, encoded, Int(length), message, message.count) == 1
    return Libcrypto.accepts(valid)
  }
}
