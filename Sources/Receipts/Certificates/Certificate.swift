/// An X.509 certificate, as its DER octets.
public struct Certificate: Hashable, Sendable {
  public let der: [UInt8]

  /// Throws ``ReceiptError`` `malformed` when `der` is not exactly one certificate.
  public init(der: [UInt8]) throws {
    _ = try X509Certificate(der: der)
    self.der = der
  }

  /// The certificates of a PEM text, in order. Throws ``ReceiptError`` `malformed`.
  public static func certificates(inPEM text: String) throws -> [Certificate] {
    try PEM.decode("CERTIFICATE", in: text).map { try Certificate(der: $0) }
  }

  public var pem: String { PEM.encode("CERTIFICATE", der) }
}
