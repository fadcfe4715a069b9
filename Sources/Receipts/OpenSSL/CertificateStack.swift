import COpenSSL

/// Owner of a STACK_OF(X509) with one reference to each member.
@safe
struct CertificateStack: ~Copyable {
  let handle: OpaquePointer

  /// Nil stands for the empty stack.
  init(takingOwnershipOf handle: OpaquePointer?) throws {
    guard let handle = unsafe handle ?? OPENSSL_sk_new_null() else {
      throw ReceiptError(.signingFailed, "libcrypto: \(LibcryptoErrors.drain())")
    }
    unsafe self.handle = handle
  }

  deinit {
    unsafe OPENSSL_sk_pop_free(handle) { member in
      unsafe X509_free(OpaquePointer(member))
    }
  }

  var count: Int { Int(unsafe OPENSSL_sk_num(handle)) }

  /// Borrowed: lives as long as the stack.
  subscript(index: Int) -> OpaquePointer? {
    unsafe OpaquePointer(OPENSSL_sk_value(handle, Int32(index)))
  }

  func contains(_ certificate: OpaquePointer) -> Bool {
    (0..<count).contains { unsafe X509_cmp(self[$0], certificate) == 0 }
  }
}
