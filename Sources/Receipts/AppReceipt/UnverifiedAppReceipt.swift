import Crypto
public import CoreTypes

/// A receipt whose structure was read and whose signature was not checked: it holds claims. Only
/// ``verified(trusting:now:policy:)``, or the store's own word (``VerifyReceiptFlow``), makes facts of them.
public struct UnverifiedAppReceipt: Hashable, Sendable {
  /// The CMS message as it was received.
  public let encoded: [UInt8]
  /// What the payload says. Fit for refusing early and for asking the store, for nothing else.
  public let claims: AppReceipt

  /// The length that `verifyReceipt` accepts in base 64, in bytes.
  public static let maximumBase64Length = 3_145_728

  /// Standard base 64 with padding. Throws ``ReceiptError`` `malformed`.
  public init(base64: String) throws {
    guard base64.utf8.count <= Self.maximumBase64Length, let encoded = Base64.decode(base64) else {
      throw ReceiptError.malformed("the receipt is no base 64, or too long")
    }
    try self.init(encoded: encoded)
  }

  /// DER, or BER as Xcode writes it. Throws ``ReceiptError`` `malformed`.
  public init(encoded: [UInt8]) throws {
    guard encoded.count <= Self.maximumBase64Length / 4 * 3 else {
      throw ReceiptError.malformed("the receipt is too long")
    }
    let message = try CMSMessage.parse(encoded)
    claims = try AppReceipt(payload: message.content())
    self.encoded = encoded
  }

  public var base64: String { Base64.encode(encoded) }

  /// Checks the signature, and that the signing certificate, valid when the receipt was made, leads over one
  /// intermediate certificate to one of `roots`, both carrying the markers of receipt signing.
  ///
  /// Throws ``ReceiptError``: `malformed` (BER included), `signatureInvalid`, `chainInvalid`, `markerMissing`, `creationDateImplausible`,
  /// `digestTooWeak`.
  public func verified(
    trusting roots: [Certificate], now: Timestamp, policy: ReceiptPolicy = ReceiptPolicy()
  ) throws -> VerifiedAppReceipt {
    guard claims.creationDate <= now + policy.clockTolerance,
      claims.creationDate >= policy.earliestCreation
    else {
      throw ReceiptError(.creationDateImplausible, "the receipt's creation date cannot be true")
    }
    try SignedDataValidator.check(encoded)
    let message = try CMSMessage.parse(encoded)
    try message.checkSignature()
    try message.checkSigner(trusting: roots, at: claims.creationDate, policy: policy)
    return VerifiedAppReceipt(signed: claims)
  }
}

extension UnverifiedAppReceipt: CustomStringConvertible {
  /// Without the receipt itself, which works like a key.
  public var description: String {
    "unverified receipt of \(encoded.count) bytes for \(claims.bundleIdentifier)"
  }
}
