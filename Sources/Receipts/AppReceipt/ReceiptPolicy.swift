public import CoreTypes

/// The conditions that a receipt's signature must meet besides leading to a trusted root.
public struct ReceiptPolicy: Sendable {
  /// Whether signatures and chains made with SHA-1 count: receipts that were signed before 2025 need it.
  public var acceptsSHA1: Bool
  /// How far ahead of the verifier's clock a creation date may lie.
  public var clockTolerance: Duration
  /// Receipts do not claim to be older than this.
  public var earliestCreation: Timestamp
  /// The marker extensions of the signing certificate and of its issuer, as dotted object identifiers. Without them
  /// any certificate under the same root could sign receipts.
  public var leafMarker: String
  /// The marker of the certificate that issued the signing certificate; see ``leafMarker``.
  public var intermediateMarker: String

  /// Creates a policy; by default, that of the stores' production receipts without SHA-1.
  public init(
    acceptsSHA1: Bool = false, clockTolerance: Duration = .seconds(300),
    earliestCreation: Timestamp = Timestamp(millisecondsSinceEpoch: 1_262_304_000_000),
    leafMarker: String = ReceiptExtensionOID.leaf,
    intermediateMarker: String = ReceiptExtensionOID.intermediate
  ) {
    self.acceptsSHA1 = acceptsSHA1
    self.clockTolerance = clockTolerance
    self.earliestCreation = earliestCreation
    self.leafMarker = leafMarker
    self.intermediateMarker = intermediateMarker
  }

  /// libcrypto's security level for the chain: 2 asks 112 bits, which SHA-1 does not have.
  var authenticationLevel: Int { acceptsSHA1 ? 0 : 2 }
}

/// The extensions by which a store's certificates say that they are for receipts.
public enum ReceiptExtensionOID {
  /// The signing certificate's.
  public static let leaf = "1.2.840.113635.100.6.11.1"
  /// The intermediate certificate's.
  public static let intermediate = "1.2.840.113635.100.6.2.1"
}
