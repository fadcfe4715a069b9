import Crypto

/// The bytes of one piece, known to be those the manifest lists: the only kind that is ever written.
public struct VerifiedPiece: Sendable {
  public let index: Int
  public let bytes: [UInt8]

  /// Throws ``PieceMismatch`` when `piece` is not whole or its SHA-256 is not the manifest's.
  public init(_ piece: consuming ReceivedPiece, of manifest: Manifest) throws(PieceMismatch) {
    guard manifest.pieces.indices.contains(piece.index) else {
      throw PieceMismatch(index: piece.index, reason: .unknown)
    }
    guard piece.bytes.count == manifest.layout.length(of: piece.index) else {
      throw PieceMismatch(index: piece.index, reason: .notWhole)
    }
    var hasher = SHA256Hasher()
    hasher.update(piece.bytes.span)
    guard hasher.finalize() == manifest.pieces[piece.index] else {
      throw PieceMismatch(index: piece.index, reason: .otherBytes)
    }
    index = piece.index
    bytes = piece.bytes
  }
}
