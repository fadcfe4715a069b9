internal import COpenSSL

/// A private key of RSA, for the algorithm RS256 of JSON Web Tokens (RFC 7518 §3.3): PKCS #1 v1.5 over SHA-256.
@safe
public final class RS256Key: Sendable {
  private let key: KeyHandle

  /// A fresh key of 2048 bits: it takes a good part of a second.
  public init() {
    let context = unsafe EVP_PKEY_CTX_new_id(EVP_PKEY_RSA, nil)
    defer { unsafe EVP_PKEY_CTX_free(context) }
    var made: OpaquePointer?
    let done =
      unsafe EVP_PKEY_keygen_init(context) == 1 && EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048) == 1
      && EVP_PKEY_keygen(context, &made) == 1
    guard done, let made = unsafe made else { preconditionFailure("libcrypto refused to make an RSA key") }
    key = unsafe KeyHandle(takingOwnershipOf: made)
  }

  /// Nil unless `pem` is one private key of RSA in PKCS #8, of a length within ``RS256PublicKey/lengths``.
  public init?(pem: String) {
    guard let key = unsafe KeyHandle(pem: pem, where: RS256.isUsable) else { return nil }
    self.key = key
  }

  /// PKCS #8, `-----BEGIN PRIVATE KEY-----`. Secret.
  public var pem: String { key.pem }

  /// The public half.
  public var publicKey: RS256PublicKey {
    guard let made = RS256PublicKey(subjectPublicKeyInfo: key.subjectPublicKeyInfo) else {
      preconditionFailure("a private key has a public one")
    }
    return made
  }

  /// Returns the signature, which is as long as the key.
  public func sign(_ message: [UInt8]) -> [UInt8] {
    let context = unsafe EVP_MD_CTX_new()
    defer { unsafe EVP_MD_CTX_free(context) }
    var signature = [UInt8](repeating: 0, count: Int(unsafe EVP_PKEY_get_size(key.pointer)))
    var length = signature.count
    Libcrypto.require(
      unsafe EVP_DigestSignInit(context, nil, Libcrypto.sha256, nil, key.pointer) == 1
        && EVP_DigestSign(context, &signature, &length, message, message.count) == 1, "sign with RSA")
    signature.removeLast(signature.count - length)
    return signature
  }
}

/// A public key of RSA, for signatures of RS256.
@safe
public final class RS256PublicKey: Sendable {
  private let key: KeyHandle

  /// Bits of a key: shorter ones are guessed, longer ones cost too much.
  public static let lengths = 2048...4096

  /// Nil unless `bytes` are the SubjectPublicKeyInfo (RFC 5280 §4.1) of an RSA key of a length within ``lengths``, in DER and
  /// nothing behind it.
  public init?(subjectPublicKeyInfo bytes: [UInt8]) {
    guard let key = unsafe KeyHandle(subjectPublicKeyInfo: bytes, where: RS256.isUsable) else { return nil }
    self.key = key
  }

  /// The modulus, without leading zeros (`n` of RFC 7518 §6.3.1).
  public var modulus: [UInt8] { unsafe RS256.number(OSSL_PKEY_PARAM_RSA_N, of: key.pointer) }

  /// The exponent, without leading zeros (`e` of RFC 7518 §6.3.1).
  public var exponent: [UInt8] { unsafe RS256.number(OSSL_PKEY_PARAM_RSA_E, of: key.pointer) }

  /// Whether `signature` was made of `message` with this key's private half. Never throws: what cannot be checked is not valid.
  public func isValid(signature: [UInt8], for message: [UInt8]) -> Bool {
    guard unsafe signature.count == Int(EVP_PKEY_get_size(key.pointer)) else { return false }
    let context = unsafe EVP_MD_CTX_new()
    defer { unsafe EVP_MD_CTX_free(context) }
    let valid =
      unsafe EVP_DigestVerifyInit(context, nil, Libcrypto.sha256, nil, key.pointer) == 1
      && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    return Libcrypto.accepts(valid)
  }
}

/// The functions that private and public keys share.
private enum RS256 {
  static func isUsable(_ key: OpaquePointer) -> Bool {
    unsafe EVP_PKEY_get_id(key) == EVP_PKEY_RSA
      && RS256PublicKey.lengths.contains(Int(EVP_PKEY_get_bits(key)))
  }

  static func number(_ name: String, of key: OpaquePointer) -> [UInt8] {
    var number: OpaquePointer?
    let found = unsafe EVP_PKEY_get_bn_param(key, name, &number) == 1
    defer { unsafe BN_free(number) }
    Libcrypto.require(found, "tell a number of an RSA key")
    var bytes = [UInt8](repeating: 0, count: Int(unsafe BN_num_bits(number) + 7) / 8)
    Libcrypto.require(unsafe BN_bn2bin(number, &bytes) == Int32(bytes.count), "tell a number of an RSA key")
    return bytes
  }
}
