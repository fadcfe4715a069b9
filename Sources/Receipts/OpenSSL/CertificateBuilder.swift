import COpenSSL
import CoreTypes
import Crypto

/// A certificate being made. Every method throws ``ReceiptError`` `signingFailed` when libcrypto refuses.
@safe
struct CertificateBuilder {
  private let certificate: X509Certificate
  /// Nil: the certificate issues itself.
  private let issuer: X509Certificate?

  init(issuer: X509Certificate?) throws {
    LibcryptoErrors.clear()
    guard let handle = unsafe X509_new() else { throw Self.failure() }
    certificate = unsafe X509Certificate(takingOwnershipOf: handle)
    self.issuer = issuer
    try Self.require(unsafe X509_set_version(handle, 2))
  }

  /// 126 random bits, positive.
  func setSerialNumber() throws {
    var octets = RandomBytes.make(16)
    octets[0] = octets[0] & 0x3F | 0x40
    guard let number = unsafe BN_bin2bn(octets, Int32(octets.count), nil) else { throw Self.failure() }
    defer { unsafe BN_free(number) }
    let done = unsafe BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate.handle)) != nil
    try Self.require(done ? 1 : 0)
  }

  func setValidity(_ validity: ClosedRange<Timestamp>) throws {
    let notBefore = unsafe X509_getm_notBefore(certificate.handle)
    let notAfter = unsafe X509_getm_notAfter(certificate.handle)
    let done =
      unsafe ASN1_TIME_set(notBefore, time_t(validity.lowerBound.secondsSinceEpoch)) != nil
      && ASN1_TIME_set(notAfter, time_t(validity.upperBound.secondsSinceEpoch)) != nil
    try Self.require(done ? 1 : 0)
  }

  func setKey(_ key: PrivateKey) throws {
    try Self.require(unsafe X509_set_pubkey(certificate.handle, key.handle))
  }

  /// - Parameter unit: of the organization; nil for a subject without one.
  func setSubject(organization: String, unit: String?, commonName: String) throws {
    let subject = unsafe X509_get_subject_name(certificate.handle)
    let fields = [("O", organization)] + (unit.map { [("OU", $0)] } ?? []) + [("CN", commonName)]
    for (field, value) in fields {
      let text = Array(value.utf8)
      try Self.require(
        unsafe X509_NAME_add_entry_by_txt(subject, field, Self.utf8Text, text, Int32(text.count), -1, 0))
    }
  }

  /// - Parameters:
  ///   - name: an extension's short name or a dotted object identifier.
  ///   - value: in libcrypto's configuration language.
  func addExtension(_ name: String, value: String) throws {
    var context = unsafe X509V3_CTX()
    unsafe X509V3_set_ctx(&context, issuerHandle, certificate.handle, nil, nil, 0)
    guard let made = unsafe X509V3_EXT_nconf(nil, &context, name, value) else { throw Self.failure() }
    defer { unsafe X509_EXTENSION_free(made) }
    try Self.require(unsafe X509_add_ext(certificate.handle, made, -1))
  }

  /// Names the issuer and signs with its key.
  func sign(with issuerKey: PrivateKey) throws -> Certificate {
    try Self.require(
      unsafe X509_set_issuer_name(certificate.handle, X509_get_subject_name(issuerHandle)))
    // X509_sign answers with the signature's length.
    try Self.require(unsafe X509_sign(certificate.handle, issuerKey.handle, issuerKey.digest) > 0 ? 1 : 0)
    return try Certificate(der: certificate.der())
  }

  private var issuerHandle: OpaquePointer {
    unsafe issuer?.handle ?? certificate.handle
  }

  /// `MBSTRING_UTF8`, a macro made of a macro.
  private static let utf8Text: Int32 = MBSTRING_FLAG

  private static func require(_ result: Int32) throws {
    guard result == 1 else { throw failure() }
  }

  private static func failure() -> ReceiptError {
    ReceiptError(.signingFailed, "the certificate cannot be made: \(LibcryptoErrors.drain())")
  }
}
