import COpenSSL
import CoreTypes

/// Owner of an X509_STORE that trusts the given roots and nothing else: the system's roots are never loaded.
@safe
struct TrustStore: ~Copyable, Sendable {
  /// libcrypto's stores may be asked by several threads at once.
  nonisolated(unsafe) let handle: OpaquePointer

  private init() throws {
    LibcryptoErrors.clear()
    guard let handle = unsafe X509_STORE_new() else {
      throw ReceiptError(.chainInvalid, "libcrypto: \(LibcryptoErrors.drain())")
    }
    unsafe self.handle = handle
  }

  /// - Parameters:
  ///   - moment: the date at which certificates must be valid; nil where each chain has its own.
  ///   - authenticationLevel: libcrypto's security level for the chain.
  static func trusting(
    _ roots: [Certificate], at moment: Timestamp?, authenticationLevel: Int
  ) throws -> TrustStore {
    let store = try TrustStore()
    for root in roots {
      let certificate = try X509Certificate(der: root.der)
      guard unsafe X509_STORE_add_cert(store.handle, certificate.handle) == 1 else {
        throw ReceiptError(.chainInvalid, "a root cannot be used: \(LibcryptoErrors.drain())")
      }
    }
    let parameters = unsafe X509_STORE_get0_param(store.handle)
    if let moment { unsafe X509_VERIFY_PARAM_set_time(parameters, time_t(moment.secondsSinceEpoch)) }
    unsafe X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_ANY)
    unsafe X509_VERIFY_PARAM_set_auth_level(parameters, Int32(authenticationLevel))
    unsafe X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_X509_STRICT))
    return store
  }

  deinit {
    unsafe X509_STORE_free(handle)
  }

  /// The chain from `leaf` to a root, both included, at the store's date unless another is given. Throws ``ReceiptError``
  /// `chainInvalid`.
  func chain(
    from leaf: OpaquePointer, among others: borrowing CertificateStack, at moment: Timestamp? = nil
  ) throws -> CertificateStack {
    LibcryptoErrors.clear()
    let context = unsafe X509_STORE_CTX_new()
    defer { unsafe X509_STORE_CTX_free(context) }
    guard unsafe X509_STORE_CTX_init(context, handle, leaf, others.handle) == 1 else {
      throw ReceiptError(.chainInvalid, "libcrypto: \(LibcryptoErrors.drain())")
    }
    if let moment {
      unsafe X509_VERIFY_PARAM_set_time(
        X509_STORE_CTX_get0_param(context), time_t(moment.secondsSinceEpoch))
    }
    guard unsafe X509_verify_cert(context) == 1 else {
      let code = unsafe X509_STORE_CTX_get_error(context)
      let reason = unsafe String(cString: X509_verify_cert_error_string(Int(code)))
      LibcryptoErrors.clear()
      throw ReceiptError(.chainInvalid, "the signing certificate is not trusted: \(reason)")
    }
    return unsafe try CertificateStack(takingOwnershipOf: X509_STORE_CTX_get1_chain(context))
  }
}
