import COpenSSL
import CoreTypes
import Crypto

/// The number that its issuer gave a certificate (RFC 5280 §4.1.2.2).
public struct CertificateSerialNumber: Hashable, Sendable, CustomStringConvertible {
  private let octets: [UInt8]

  init(of certificate: OpaquePointer) {
    guard let number = unsafe X509_get0_serialNumber(certificate),
      let start = unsafe ASN1_STRING_get0_data(number)
    else {
      octets = []
      return
    }
    octets = unsafe Array(UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(number))))
  }

  /// In lower-case hexadecimal.
  public var description: String { Hexadecimal.encode(octets) }
}

extension Certificate {
  /// Returns the number that the issuer gave the certificate. Throws ``ReceiptError`` `malformed`.
  public func serialNumber() throws -> CertificateSerialNumber {
    let certificate = try X509Certificate(der: der)
    return unsafe CertificateSerialNumber(of: certificate.handle)
  }

  /// The units of the organization that the subject names. Throws ``ReceiptError`` `malformed`.
  public func subjectUnits() throws -> [String] {
    let certificate = try X509Certificate(der: der)
    let name = unsafe X509_get_subject_name(certificate.handle)
    var units: [String] = []
    var position: Int32 = -1
    while true {
      position = unsafe X509_NAME_get_index_by_NID(name, NID_organizationalUnitName, position)
      guard position >= 0, let entry = unsafe X509_NAME_get_entry(name, position),
        let text = unsafe X509_NAME_ENTRY_get_data(entry), let start = unsafe ASN1_STRING_get0_data(text)
      else { return units }
      units.append(
        unsafe String(
          decoding: UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(text))), as: UTF8.self))
    }
  }
}

extension X509Certificate {
  /// From the first moment at which it is valid to the last. Throws ``ReceiptError`` `malformed`.
  static func validity(of certificate: OpaquePointer) throws -> ClosedRange<Timestamp> {
    guard let start = unsafe ASN1Time.timestamp(X509_get0_notBefore(certificate)),
      let end = unsafe ASN1Time.timestamp(X509_get0_notAfter(certificate)), start <= end
    else { throw ReceiptError.malformed("the certificate's validity is not readable") }
    return start...end
  }

  /// The first address at which a responder tells of the certificate (RFC 6960 §3.1); nil for one that names none.
  static func responder(of certificate: OpaquePointer) -> String? {
    guard let addresses = unsafe X509_get1_ocsp(certificate) else { return nil }
    defer { unsafe X509_email_free(addresses) }
    guard let first = unsafe OPENSSL_sk_value(addresses, 0) else { return nil }
    return unsafe String(cString: first.assumingMemoryBound(to: CChar.self))
  }
}

/// Dates of libcrypto.
enum ASN1Time {
  /// Nil for what is no date, and for the absent one.
  static func timestamp(_ time: UnsafePointer<ASN1_TIME>?) -> Timestamp? {
    guard let time = unsafe time, let epoch = unsafe ASN1_TIME_set(nil, 0) else { return nil }
    defer { unsafe ASN1_TIME_free(epoch) }
    var (days, seconds): (Int32, Int32) = (0, 0)
    guard unsafe ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return nil }
    return Timestamp(millisecondsSinceEpoch: (Int64(days) * 86_400 + Int64(seconds)) * 1000)
  }
}
