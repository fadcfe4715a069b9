import Crypto
import Dispatch
import CoreTypes
import Synchronization

/// Computes the digests of a package, of the whole and of each piece, on a thread of its own while the caller reads and
/// writes. At most ``maximumWaiting`` pieces wait.
final class PieceHasher: Sendable {
  static let maximumWaiting = 4

  private struct State {
    var whole = SHA256Hasher()
    var pieces: [SHA256Digest] = []
    /// Buffers of pieces that are done, to be filled again: fresh ones cost the kernel more than the hashing.
    var spares: [[UInt8]] = []
  }

  private let queue = DispatchQueue(label: "pullbox.piece-hasher")
  private let places = DispatchSemaphore(value: PieceHasher.maximumWaiting)
  private let state = Mutex(State())

  /// Takes the next piece: 1 MiB, only the last may be shorter. Blocks while too many wait.
  func add(_ piece: [UInt8]) {
    places.wait()
    queue.async { [self] in
      state.withLock { state in
        state.whole.update(piece.span)
        var hasher = SHA256Hasher()
        hasher.update(piece.span)
        state.pieces.append(hasher.finalize())
        state.spares.append(piece)
      }
      places.signal()
    }
  }

  /// An empty buffer with room for a piece.
  func makeBuffer() -> [UInt8] {
    var buffer = state.withLock { $0.spares.popLast() } ?? []
    buffer.removeAll(keepingCapacity: true)
    buffer.reserveCapacity(Int(PieceLayout.pieceLength.rawValue))
    return buffer
  }

  /// Waits for the pieces that were added.
  func finish() -> (digest: SHA256Digest, pieces: [SHA256Digest]) {
    queue.sync { state.withLock { ($0.whole.finalize(), $0.pieces) } }
  }
}
