import COpenSSL

/// A private key that signs receipts, signed data, certificates or requests.
@safe
final class PrivateKey: Sendable {
  /// A kind of private key.
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
}

/// The properties that libcrypto tells of a key.
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
