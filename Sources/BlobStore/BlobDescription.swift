public import Crypto
public import CoreTypes

/// What is known of a blob once all of it has been received.
public struct BlobDescription: Hashable, Sendable {
  /// Of the whole: the name under which it is kept.
  public let digest: SHA256Digest
  public let length: ByteCount
  /// Of each piece of ``PieceDigests/pieceLength`` bytes, the last one shorter; none for an empty blob.
  public let pieces: [SHA256Digest]

  public init(digest: SHA256Digest, length: ByteCount, pieces: [SHA256Digest]) {
    self.digest = digest
    self.length = length
    self.pieces = pieces
  }
}
