import COpenSSL
import Crypto

/// An X.509 certificate, as its DER octets.
public struct Certificate: Hashable, Sendable {
  /// The certificate's DER octets (X.690), exactly one certificate.
  public let der: [UInt8]

  /// Throws ``ReceiptError`` `malformed` when `der` is not exactly one certificate.
  public init(der: [UInt8]) throws {
    _ = try X509Certificate(der: der)
    self.der = der
  }

  /// - Parameter parsed: what `der` was read as.
  init(_ parsed: X509Certificate, der: [UInt8]) {
    self.der = der
  }

  /// The certificates of a PEM text, in order. Throws ``ReceiptError`` `malformed`.
  public static func certificates(inPEM text: String) throws -> [Certificate] {
    guard let documents = PEMDocument.documents(labeled: "CERTIFICATE", in: text) else {
      throw ReceiptError.malformed("a certificate in the PEM text is not base 64")
    }
    return try documents.map { try Certificate(der: $0.bytes) }
  }

  /// The certificate in PEM (RFC 7468), with a line feed at its end.
  public var pem: String { PEMDocument(label: "CERTIFICATE", bytes: der).text }
}

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

/// Marker extensions, told apart by their object identifiers.
enum X509Extension {
  /// - Parameter identifier: dotted decimal.
  static func isPresent(_ identifier: String, in certificate: OpaquePointer) -> Bool {
    guard let object = unsafe OBJ_txt2obj(identifier, 1) else { return false }
    defer { unsafe ASN1_OBJECT_free(object) }
    return unsafe X509_get_ext_by_OBJ(certificate, object, -1) >= 0
  }
}

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

  /// Takes a reference of its own.
  func append(_ certificate: OpaquePointer) throws {
    guard unsafe X509_up_ref(certificate) == 1 else {
      throw ReceiptError(.signingFailed, "libcrypto: \(LibcryptoErrors.drain())")
    }
    guard unsafe OPENSSL_sk_push(handle, UnsafeRawPointer(certificate)) > 0 else {
      unsafe X509_free(certificate)
      throw ReceiptError(.signingFailed, "libcrypto: \(LibcryptoErrors.drain())")
    }
  }

  /// Borrowed: lives as long as the stack.
  subscript(index: Int) -> OpaquePointer? {
    unsafe OpaquePointer(OPENSSL_sk_value(handle, Int32(index)))
  }

  func contains(_ certificate: OpaquePointer) -> Bool {
    (0..<count).contains { unsafe X509_cmp(self[$0], certificate) == 0 }
  }
}
