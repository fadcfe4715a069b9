import COpenSSL

/// An RSA private key.
@safe
final class RSAKey: Sendable {
  /// Lives as long as the key object; libcrypto's keys may be used from several threads at once.
  nonisolated(unsafe) let handle: OpaquePointer

  private init(takingOwnershipOf handle: OpaquePointer) {
    unsafe self.handle = handle
  }

  deinit {
    unsafe EVP_PKEY_free(handle)
  }

  /// A fresh key of 2048 bits. Takes a good part of a second.
  static func generate() throws -> RSAKey {
    LibcryptoErrors.clear()
    let context = unsafe EVP_PKEY_CTX_new_id(EVP_PKEY_RSA, nil)
    defer { unsafe EVP_PKEY_CTX_free(context) }
    var handle: OpaquePointer?
    guard unsafe EVP_PKEY_keygen_init(context) == 1,
      unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048) == 1,
      unsafe EVP_PKEY_keygen(context, &handle) == 1, let handle = unsafe handle
    else { throw ReceiptError(.signingFailed, "no RSA key: \(LibcryptoErrors.drain())") }
    return unsafe RSAKey(takingOwnershipOf: handle)
  }

  /// Reads an unencrypted PKCS#8 key in PEM. Throws ``ReceiptError`` `malformed`.
  init(pem: String) throws {
    LibcryptoErrors.clear()
    let stream = try MemoryStream.holding(Array(pem.utf8))
    // An empty pass phrase rather than none, or libcrypto would ask for one on the terminal.
    var passphrase: [CChar] = [0]
    guard let handle = unsafe PEM_read_bio_PrivateKey(stream.handle, nil, nil, &passphrase) else {
      throw ReceiptError.malformed("this is no private key: \(LibcryptoErrors.drain())")
    }
    guard unsafe EVP_PKEY_get_id(handle) == EVP_PKEY_RSA else {
      unsafe EVP_PKEY_free(handle)
      throw ReceiptError.malformed("this is no RSA key")
    }
    unsafe self.handle = handle
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
}
