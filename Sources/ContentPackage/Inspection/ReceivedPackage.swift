public import Crypto
public import CoreTypes

/// What was computed of a package's bytes while they came in.
public struct ReceivedPackage: Hashable, Sendable {
  public let length: ByteCount
  public let digest: SHA256Digest
  /// Of each piece; see ``PieceLayout``.
  public let pieces: [SHA256Digest]

  public init(length: ByteCount, digest: SHA256Digest, pieces: [SHA256Digest]) {
    self.length = length
    self.digest = digest
    self.pieces = pieces
  }
}
