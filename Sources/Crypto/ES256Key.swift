internal import COpenSSL
import CoreTypes
import Synchronization

/// A private key of ECDSA over P-256, for the algorithm ES256 of JSON Web Tokens (RFC 7518 §3.4).
@safe
public final class ES256Key: Sendable {
  private let key: KeyHandle
  private let verifier: ES256Verifier

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
    verifier = ES256Verifier(of: key)
  }

  /// Nil unless `pem` is one private key over P-256 in PKCS #8, as files named `.p8` hold it.
  public init?(pem: String) {
    guard let key = unsafe KeyHandle(pem: pem, where: ES256.isCurve(of:)) else { return nil }
    self.key = key
    verifier = ES256Verifier(of: key)
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
      unsafe EVP_DigestSignInit(context, nil, Libcrypto.sha256, nil, key.pointer) == 1
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
    verifier.accepts(signature, of: .of(message))
  }
}

/// A public key of ECDSA over P-256, for signatures of ES256.
@safe
public final class ES256PublicKey: Sendable {
  private let verifier: ES256Verifier

  /// Nil unless `bytes` are the SubjectPublicKeyInfo (RFC 5280 §4.1) of a key over P-256, in DER and nothing behind it.
  public init?(subjectPublicKeyInfo bytes: [UInt8]) {
    guard let key = unsafe KeyHandle(subjectPublicKeyInfo: bytes, where: ES256.isCurve(of:)) else {
      return nil
    }
    verifier = ES256Verifier(of: key)
  }

  /// The key that libcrypto has read, an EVP_PKEY, whose reference becomes this object's. Nil unless it is over P-256.
  package init?(takingOwnershipOf pointer: OpaquePointer) {
    let key = unsafe KeyHandle(takingOwnershipOf: pointer)
    guard Libcrypto.accepts(unsafe ES256.isCurve(of: key.pointer)) else { return nil }
    verifier = ES256Verifier(of: key)
  }

  /// Whether `signature`, 64 bytes, was made of `message` with the private key. Never throws: a signature
  /// that cannot be checked is not valid.
  public func isValid(signature: [UInt8], for message: [UInt8]) -> Bool {
    isValid(signature: signature, forDigest: .of(message))
  }

  /// The same for the message of which `digest` is the SHA-256.
  public func isValid(signature: [UInt8], forDigest digest: SHA256Digest) -> Bool {
    verifier.accepts(signature, of: digest)
  }
}

/// Verifies with one key. Making a context takes a third as long as a verification, so one is kept for the next.
@safe
private final class ES256Verifier: Sendable {
  /// An EVP_PKEY_CTX that is ready to verify. One thread at a time uses it.
  @safe
  private final class Context: Sendable {
    nonisolated(unsafe) let pointer: OpaquePointer

    init(of key: KeyHandle) {
      let made = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil)
      guard let made = unsafe made, unsafe EVP_PKEY_verify_init(made) == 1 else {
        preconditionFailure("libcrypto refused to verify with a P-256 key")
      }
      unsafe pointer = made
    }

    deinit {
      unsafe EVP_PKEY_CTX_free(pointer)
    }
  }

  private let key: KeyHandle
  /// Nil while a thread uses it; others make their own meanwhile.
  private let kept = Mutex<Context?>(nil)

  init(of key: KeyHandle) {
    self.key = key
  }

  func accepts(_ signature: [UInt8], of digest: SHA256Digest) -> Bool {
    guard signature.count == 64 else { return false }
    let encoded = ES256.encode(signature)
    let context = kept.locked { $0.take() } ?? Context(of: key)
    let bytes = digest.bytes
    let valid = unsafe bytes.span.withUnsafeBufferPointer { bytes in
      unsafe EVP_PKEY_verify(context.pointer, encoded, encoded.count, bytes.baseAddress, bytes.count) == 1
    }
    kept.locked { $0 = context }
    return Libcrypto.accepts(valid)
  }
}

/// The constants and functions that private and public keys share.
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

  /// The two numbers of `signature`, 64 bytes, as libcrypto reads them: a SEQUENCE of two INTEGERs in DER (RFC 3279 §2.2.3).
  static func encode(_ signature: [UInt8]) -> [UInt8] {
    var encoded: [UInt8] = [0x30, 0]
    encoded.reserveCapacity(longestEncoding)
    for number in [0..<32, 32..<64] {
      let first = number.first { signature[$0] != 0 } ?? number.upperBound - 1
      // A first bit that is set would make the number negative.
      let sign: [UInt8] = signature[first] < 0x80 ? [] : [0]
      encoded += [0x02, UInt8(sign.count + number.upperBound - first)] + sign
      encoded += signature[first..<number.upperBound]
    }
    encoded[1] = UInt8(encoded.count - 2)
    return encoded
  }
}
