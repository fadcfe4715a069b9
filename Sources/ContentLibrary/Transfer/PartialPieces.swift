import ContentPackage
import CoreTypes
import Crypto
import Synchronization

/// The received parts of pieces whose connections were lost, so that the next request continues after them. They are in
/// memory only: a process that ends loses less than a piece for each package.
final class PartialPieces: Sendable {
  /// Pieces kept at once, of 1 MiB each at most; the one that was kept longest makes room.
  static let maximumCount = 4

  private struct Entry {
    package let digest: SHA256Digest
    let piece: ReceivedPiece
  }

  private let entries = Mutex<[Entry]>([])

  /// Keeps `piece` of the package with this digest, in place of what was kept of it before. An empty one is not kept.
  func keep(_ piece: ReceivedPiece, of digest: SHA256Digest) {
    entries.locked { entries in
      entries.removeAll { $0.digest == digest && $0.piece.index == piece.index }
      guard !piece.bytes.isEmpty, !piece.isWhole else { return }
      if entries.count == Self.maximumCount { entries.removeFirst() }
      entries.append(Entry(digest: digest, piece: piece))
    }
  }

  /// Hands out what is kept of a piece of the package that fits, the latest, and forgets it.
  func remove(of digest: SHA256Digest, where fits: (Int) -> Bool) -> ReceivedPiece? {
    entries.locked { entries in
      guard let index = entries.lastIndex(where: { $0.digest == digest && fits($0.piece.index) }) else {
        return nil
      }
      return entries.remove(at: index).piece
    }
  }

  /// Forgets what is kept of pieces of the package that fit.
  func drop(of digest: SHA256Digest, where fits: (Int) -> Bool) {
    entries.locked { $0.removeAll { $0.digest == digest && fits($0.piece.index) } }
  }
}
