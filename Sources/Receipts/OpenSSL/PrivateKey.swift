import COpenSSL

/// A private key that signs receipts, signed data, certificates or requests.
@safe
final class PrivateKey: Sendable {
  /// What keys there are.
  enum Kind: Sendable {
    /// 2048 bits.
    case rsa
    case p256
    case p384
  }

  /// Lives as long as the key object; libcrypto's keys may be used from several threads at once.
  nonisolated(unsafe) let handle: OpaquePointer
  let kind: Kind

  private init(takingOwnershipOf handle: OpaquePointer, kind: Kind) {
    unsafe self.handle = handle
    self.kind = kind
  }

  deinit {
    unsafe EVP_PKEY_free(handle)
  }

  /// A fresh key. One of the kind RSA takes a good part of a second.
  static func generate(_ kind: Kind) throws -> PrivateKey {
    LibcryptoErrors.clear()
    let context = unsafe EVP_PKEY_CTX_new_id(kind == .rsa ? EVP_PKEY_RSA : EVP_PKEY_EC, nil)
    defer { unsafe EVP_PKEY_CTX_free(context) }
    var handle: OpaquePointer?
    guard unsafe EVP_PKEY_keygen_init(context) == 1, unsafe configure(context, for: kind) == 1,
      unsafe EVP_PKEY_keygen(context, &handle) == 1, let handle = unsafe handle
    else { throw ReceiptError(.signingFailed, "no key can be made: \(LibcryptoErrors.drain())") }
    return unsafe PrivateKey(takingOwnershipOf: handle, kind: kind)
  }

  private static func configure(_ context: OpaquePointer?, for kind: Kind) -> Int32 {
    switch kind {
    case .rsa: unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048)
    case .p256: unsafe EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1)
    case .p384: unsafe EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_secp384r1)
    }
  }

  /// Reads an unencrypted PKCS#8 key in PEM. Throws ``ReceiptError`` `malformed`, also for a key of another kind.
  init(pem: String, kind: Kind) throws {
    LibcryptoErrors.clear()
    let stream = try MemoryStream.holding(Array(pem.utf8))
    // An empty pass phrase rather than none, or libcrypto would ask for one on the terminal.
    var passphrase: [CChar] = [0]
    guard let handle = unsafe PEM_read_bio_PrivateKey(stream.handle, nil, nil, &passphrase) else {
      throw ReceiptError.malformed("this is no private key: \(LibcryptoErrors.drain())")
    }
    guard unsafe KeyFacts.kind(of: handle) == kind else {
      unsafe EVP_PKEY_free(handle)
      throw ReceiptError.malformed("this is a private key of another kind")
    }
    unsafe self.handle = handle
    self.kind = kind
  }

  /// PKCS#8, for a file that only its owner may read.
  func pem() throws -> String {
    LibcryptoErrors.clear()
    let stream = try MemoryStream()
    guard unsafe PEM_write_bio_PKCS8PrivateKey(stream.handle, handle, nil, nil, 0, nil, nil) == 1 else {
      throw ReceiptError(.signingFailed, "the key cannot be written: \(LibcryptoErrors.drain())")
    }
    return String(decoding: stream.contents(), as: UTF8.self)
  }

  /// The digest that signatures of this key are made over, as strong as the key.
  var digest: OpaquePointer? {
    unsafe kind == .p384 ? EVP_sha384() : EVP_sha256()
  }

  /// ES256 (RFC 7518 §3.4) over `message`: two numbers of 32 bytes. Throws ``ReceiptError`` `signingFailed`, also for a
  /// key of another kind than P-256.
  func signES256(_ message: [UInt8]) throws -> [UInt8] {
    LibcryptoErrors.clear()
    let context = unsafe EVP_MD_CTX_new()
    defer { unsafe EVP_MD_CTX_free(context) }
    var encoded = [UInt8](repeating: 0, count: 72)
    var length = encoded.count
    guard kind == .p256, unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, handle) == 1,
      unsafe EVP_DigestSign(context, &encoded, &length, message, message.count) == 1
    else { throw ReceiptError(.signingFailed, "nothing can be signed: \(LibcryptoErrors.drain())") }
    return try ECDSASignature.fixedWidth(Array(encoded.prefix(length)))
  }
}

/// The public key of a certificate.
@safe
final class PublicKey: Sendable {
  /// As in ``PrivateKey``.
  private nonisolated(unsafe) let handle: OpaquePointer
  let kind: PrivateKey.Kind?

  /// Throws ``ReceiptError`` `malformed` for a certificate whose key libcrypto cannot read.
  init(of certificate: OpaquePointer) throws {
    LibcryptoErrors.clear()
    guard let handle = unsafe X509_get_pubkey(certificate) else {
      throw ReceiptError.malformed("the certificate's key is not readable: \(LibcryptoErrors.drain())")
    }
    unsafe self.handle = handle
    kind = unsafe KeyFacts.kind(of: handle)
  }

  deinit {
    unsafe EVP_PKEY_free(handle)
  }

  /// Whether `signature`, two numbers of 32 bytes, is ES256 (RFC 7518 §3.4) of `message`. Never true for another kind
  /// of key than P-256.
  func isValidES256(_ signature: [UInt8], for message: [UInt8]) -> Bool {
    guard kind == .p256, let encoded = ECDSASignature.der(signature) else { return false }
    let context = unsafe EVP_MD_CTX_new()
    defer { unsafe EVP_MD_CTX_free(context) }
    let isValid =
      unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, handle) == 1
      && EVP_DigestVerify(context, encoded, encoded.count, message, message.count) == 1
    LibcryptoErrors.clear()
    return isValid
  }
}

/// What libcrypto tells of a key.
private enum KeyFacts {
  /// Nil for a kind that nothing here uses.
  static func kind(of key: OpaquePointer) -> PrivateKey.Kind? {
    switch unsafe EVP_PKEY_get_id(key) {
    case EVP_PKEY_RSA: return .rsa
    case EVP_PKEY_EC:
      var name = [CChar](repeating: 0, count: 64)
      var length = 0
      guard unsafe EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1 else { return nil }
      switch String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self) {
      case "prime256v1": return .p256
      case "secp384r1": return .p384
      default: return nil
      }
    default: return nil
    }
  }
}

/// The two forms of a P-256 signature: numbers of fixed width (RFC 7518 §3.4), and DER (RFC 3279 §2.2.3), which
/// libcrypto speaks.
enum ECDSASignature {
  private static let width = 32

  /// Nil unless `signature` is of two times 32 bytes.
  static func der(_ signature: [UInt8]) -> [UInt8]? {
    guard signature.count == 2 * width else { return nil }
    let numbers = [signature[..<width], signature[width...]].map { DERWriter.integer(magnitude: $0) }
    return DERWriter.element(DERTag.sequence, numbers[0] + numbers[1])
  }

  /// Throws ``ReceiptError`` `malformed` unless `der` is two numbers of at most 256 bits.
  static func fixedWidth(_ der: [UInt8]) throws -> [UInt8] {
    var reader = DERReader(der)
    var numbers = reader.inside(try reader.next(DERTag.sequence))
    var signature: [UInt8] = []
    for _ in 0..<2 {
      let octets = numbers.octets(try numbers.next(DERTag.integer)).drop { $0 == 0 }
      guard octets.count <= width else { throw ReceiptError.malformed("a signature's number is too long") }
      signature += [UInt8](repeating: 0, count: width - octets.count) + octets
    }
    return signature
  }
}
