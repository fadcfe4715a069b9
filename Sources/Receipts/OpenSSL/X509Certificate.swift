import COpenSSL

/// Owner of one reference to an X509. Not Sendable: it stays in the function that made it.
@safe
final class X509Certificate {
  let handle: OpaquePointer

  init(takingOwnershipOf handle: OpaquePointer) {
    unsafe self.handle = handle
  }

  /// Throws ``ReceiptError`` `malformed` when `der` is not exactly one certificate.
  convenience init(der: [UInt8]) throws {
    LibcryptoErrors.clear()
    guard
      let handle = unsafe DERCoding.decode(
        der, with: { unsafe d2i_X509(nil, $0, $1) }, free: { unsafe X509_free($0) })
    else { throw ReceiptError.malformed("this is no certificate: \(LibcryptoErrors.drain())") }
    unsafe self.init(takingOwnershipOf: handle)
  }

  deinit {
    unsafe X509_free(handle)
  }

  func der() throws -> [UInt8] {
    guard let der = unsafe DERCoding.encode({ unsafe i2d_X509(handle, $0) }) else {
      throw ReceiptError(.signingFailed, "libcrypto: \(LibcryptoErrors.drain())")
    }
    return der
  }
}
