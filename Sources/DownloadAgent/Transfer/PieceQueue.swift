import ContentPackage
import Dispatch
import Synchronization

/// Hands whole received pieces from the network's thread to the one that checks and writes them. Holds no more than the
/// buffer budget allows, so it needs no bound of its own.
final class PieceQueue: Sendable {
  private struct State {
    var pieces: [ReceivedPiece] = []
    var isClosed = false
  }

  private let state = Mutex(State())
  /// Signalled once for every piece, and once for the end.
  private let arrivals = DispatchSemaphore(value: 0)

  func append(_ piece: consuming ReceivedPiece) {
    let piece = piece
    state.withLock { $0.pieces.append(piece) }
    arrivals.signal()
  }

  /// No more pieces will come. May be called more than once.
  func close() {
    let isFirst = state.withLock { state in
      defer { state.isClosed = true }
      return !state.isClosed
    }
    if isFirst { arrivals.signal() }
  }

  /// Blocks until there is a piece; nil once the queue is closed and empty.
  func next() -> ReceivedPiece? {
    arrivals.wait()
    return state.withLock { state in
      guard !state.pieces.isEmpty else { return nil }
      return state.pieces.removeFirst()
    }
  }
}
