internal import COpenSSL

/// A private key of RSA, for the algorithm RS256 of JSON Web Tokens (RFC 7518 §3.3): PKCS #1 v1.5 over SHA-256.
@safe
public final class RS256Key: Sendable {
  /// Lives as long as the key object; libcrypto's keys may be read from several threads at once.
  private nonisolated(unsafe) let key: OpaquePointer

  /// A fresh key of 2048 bits: it takes a good part of a second.
  public init() {
    let context = unsafe EVP_PKEY_CTX_new_id(EVP_PKEY_RSA, nil)
    defer { unsafe EVP_PKEY_CTX_free(context) }
    var made: OpaquePointer?
    let done =
      unsafe EVP_PKEY_keygen_init(context) == 1 && EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048) == 1
      && EVP_PKEY_keygen(context, &made) == 1
    guard done, let made = unsafe made else { preconditionFailure("libcrypto refused to make an RSA key") }
    unsafe key = made
  }

  /// Nil unless `pem` is one private key of RSA in PKCS #8, of a length within ``RS256PublicKey/lengths``.
  public init?(pem: String) {
    guard let document = PEMDocument(only: Self.label, in: pem) else { return nil }
    let read = unsafe document.bytes.withUnsafeBufferPointer { bytes in
      var cursor = bytes.baseAddress
      return unsafe d2i_AutoPrivateKey(nil, &cursor, bytes.count)
    }
    guard Libcrypto.accepts(unsafe read != nil), let read = unsafe read else { return nil }
    guard Libcrypto.accepts(unsafe RS256.isUsable(read)) else {
      unsafe EVP_PKEY_free(read)
      return nil
    }
    unsafe key = read
  }

  deinit {
    unsafe EVP_PKEY_free(key)
  }

  /// PKCS #8, `-----BEGIN PRIVATE KEY-----`. Secret.
  public var pem: String {
    let information = unsafe EVP_PKEY2PKCS8(key)
    defer { unsafe PKCS8_PRIV_KEY_INFO_free(information) }
    let length = unsafe i2d_PKCS8_PRIV_KEY_INFO(information, nil)
    Libcrypto.require(length > 0, "write an RSA key")
    var bytes = [UInt8](repeating: 0, count: Int(length))
    unsafe bytes.withUnsafeMutableBufferPointer { buffer in
      var cursor = buffer.baseAddress
      Libcrypto.require(unsafe i2d_PKCS8_PRIV_KEY_INFO(information, &cursor) == length, "write an RSA key")
    }
    return PEMDocument(label: Self.label, bytes: bytes).text
  }

  /// The public half.
  public var publicKey: RS256PublicKey {
    let length = unsafe i2d_PUBKEY(key, nil)
    Libcrypto.require(length > 0, "write an RSA key")
    var bytes = [UInt8](repeating: 0, count: Int(length))
    unsafe bytes.withUnsafeMutableBufferPointer { buffer in
      var cursor = buffer.baseAddress
      Libcrypto.require(unsafe i2d_PUBKEY(key, &cursor) == length, "write an RSA key")
    }
    guard let made = RS256PublicKey(subjectPublicKeyInfo: bytes) else {
      preconditionFailure("a private key has a public one")
    }
    return made
  }

  /// As long as the key.
  public func sign(_ message: [UInt8]) -> [UInt8] {
    let context = unsafe EVP_MD_CTX_new()
    defer { unsafe EVP_MD_CTX_free(context) }
    var signature = [UInt8](repeating: 0, count: Int(unsafe EVP_PKEY_get_size(key)))
    var length = signature.count
    Libcrypto.require(
      unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1
        && EVP_DigestSign(context, &signature, &length, message, message.count) == 1, "sign with RSA")
    signature.removeLast(signature.count - length)
    return signature
  }

  private static let label = "PRIVATE KEY"
}

/// A public key of RSA, for signatures of RS256.
@safe
public final class RS256PublicKey: Sendable {
  /// As in ``RS256Key``.
  private nonisolated(unsafe) let key: OpaquePointer

  /// Bits of a key: shorter ones are guessed, longer ones cost too much.
  public static let lengths = 2048...4096

  /// Nil unless `bytes` are the SubjectPublicKeyInfo (RFC 5280 §4.1) of an RSA key of a length within ``lengths``, in DER and
  /// nothing behind it.
  public init?(subjectPublicKeyInfo bytes: [UInt8]) {
    let (read, isWhole) = unsafe bytes.withUnsafeBufferPointer { buffer -> (OpaquePointer?, Bool) in
      var cursor = buffer.baseAddress
      let read = unsafe d2i_PUBKEY(nil, &cursor, buffer.count)
      return unsafe (read, cursor == buffer.baseAddress.map { unsafe $0 + buffer.count })
    }
    guard Libcrypto.accepts(unsafe read != nil), let read = unsafe read else { return nil }
    guard isWhole, Libcrypto.accepts(unsafe RS256.isUsable(read)) else {
      unsafe EVP_PKEY_free(read)
      return nil
    }
    unsafe key = read
  }

  deinit {
    unsafe EVP_PKEY_free(key)
  }

  /// The modulus, without leading zeros (`n` of RFC 7518 §6.3.1).
  public var modulus: [UInt8] { unsafe RS256.number(OSSL_PKEY_PARAM_RSA_N, of: key) }

  /// The exponent, without leading zeros (`e` of RFC 7518 §6.3.1).
  public var exponent: [UInt8] { unsafe RS256.number(OSSL_PKEY_PARAM_RSA_E, of: key) }

  /// Whether `signature` was made of `message` with this key's private half. Never throws: what cannot be checked is not valid.
  public func isValid(signature: [UInt8], for message: [UInt8]) -> Bool {
    guard unsafe signature.count == Int(EVP_PKEY_get_size(key)) else { return false }
    let context = unsafe EVP_MD_CTX_new()
    defer { unsafe EVP_MD_CTX_free(context) }
    let valid =
      unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
      && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    return Libcrypto.accepts(valid)
  }
}

/// What both kinds of keys share.
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
