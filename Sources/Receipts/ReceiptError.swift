/// Why a proof of purchase, a signature or a certificate was not accepted, or could not be made.
public struct ReceiptError: Error, Hashable, Sendable {
  public enum Code: String, Sendable {
    /// The bytes are not what they should be: not base 64, not CMS, not a receipt's payload, not a certificate.
    case malformed
    /// The signature does not fit the bytes.
    case signatureInvalid
    /// The signing certificate does not lead to a trusted root at the receipt's creation date.
    case chainInvalid
    /// The chain holds, but its certificates were not issued for signing receipts.
    case markerMissing
    /// The receipt says it was made in the future, or before there were receipts.
    case creationDateImplausible
    /// The signature uses a digest the policy no longer accepts.
    case digestTooWeak
    /// The cryptographic library refused to make a key, a certificate or a signature.
    case signingFailed
  }

  public let code: Code
  /// A sentence for people. It never holds the bytes of a receipt or a key.
  public let message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  static func malformed(_ message: String) -> ReceiptError { ReceiptError(.malformed, message) }
}

extension ReceiptError: CustomStringConvertible {
  public var description: String { message }
}
