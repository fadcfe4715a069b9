/// Why a proof of purchase, a signature or a certificate was not accepted, or could not be made.
public struct ReceiptError: Error, Hashable, Sendable {
  /// The kind of a refusal or failure; new kinds may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Name: String {
      case malformed
      case signatureInvalid
      case chainInvalid
      case markerMissing
      case creationDateImplausible
      case digestTooWeak
      case signingFailed
    }

    private let name: Name
    private init(_ name: Name) { self.name = name }

    /// The bytes are not what they should be: not base 64, not CMS, not a receipt's payload, not a certificate.
    public static let malformed = Code(.malformed)
    /// The signature does not fit the bytes.
    public static let signatureInvalid = Code(.signatureInvalid)
    /// The signing certificate does not lead to a trusted root at the receipt's creation date.
    public static let chainInvalid = Code(.chainInvalid)
    /// The chain holds, but its certificates were not issued for signing receipts.
    public static let markerMissing = Code(.markerMissing)
    /// The receipt says it was made in the future, or before there were receipts.
    public static let creationDateImplausible = Code(.creationDateImplausible)
    /// The signature uses a digest the policy no longer accepts.
    public static let digestTooWeak = Code(.digestTooWeak)
    /// The cryptographic library refused to make a key, a certificate or a signature.
    public static let signingFailed = Code(.signingFailed)

    /// The code's name.
    public var description: String { name.rawValue }
  }

  /// The kind of this refusal or failure.
  public let code: Code
  /// A sentence for people. It never holds the bytes of a receipt or a key.
  public let message: String

  /// Creates the error; `message` must hold no bytes of a receipt or a key.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  static func malformed(_ message: String) -> ReceiptError { ReceiptError(.malformed, message) }
}

extension ReceiptError: CustomStringConvertible {
  /// The sentence.
  public var description: String { message }
}
