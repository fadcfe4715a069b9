import Crypto
import CoreTypes

/// The piece that a stream of bytes is in the middle of.
struct PieceHasherState: Sendable {
  private var hasher = SHA256Hasher()
  /// Of the piece so far; less than a whole piece.
  private var length = 0

  var isBegun: Bool { length > 0 }
  /// Of the piece so far; it can go on.
  var digest: SHA256Digest { hasher.finalize() }

  /// Answers the digests of the pieces that end within `bytes`.
  mutating func update(_ bytes: Span<UInt8>) -> [SHA256Digest] {
    let pieceLength = Int(PieceDigests.pieceLength.rawValue)
    var finished: [SHA256Digest] = []
    var position = 0
    while position < bytes.count {
      let count = min(bytes.count - position, pieceLength - length)
      hasher.update(bytes.extracting(position..<position + count))
      position += count
      length += count
      if length == pieceLength {
        finished.append(hasher.finalize())
        self = PieceHasherState()
      }
    }
    return finished
  }
}
