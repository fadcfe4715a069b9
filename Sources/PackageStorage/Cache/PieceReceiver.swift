import ContentPackage
import CoreTypes
import Synchronization

/// Cuts what a fetch brings into pieces, for the one who compares and writes them. It never waits for that one: what is not written yet
/// waits in memory, a block at most.
final class PieceReceiver: PackageReceiver {
  private struct State {
    /// The piece whose bytes come next; nil once all have come, or no more are wanted.
    var piece: ReceivedPiece?
    var hasOverrun = false
  }

  /// The pieces, each as soon as it is whole. Ends with ``finish()`` and with ``stop()``.
  let pieces: AsyncStream<ReceivedPiece>

  private let run: Range<Int>
  private let layout: PieceLayout
  private let output: AsyncStream<ReceivedPiece>.Continuation
  private let state: Mutex<State>

  /// For a run of pieces, which is not empty.
  init(_ run: Range<Int>, of layout: PieceLayout) {
    self.run = run
    self.layout = layout
    (pieces, output) = AsyncStream.makeStream(of: ReceivedPiece.self)
    state = Mutex(State(piece: ReceivedPiece(index: run.lowerBound, layout: layout)))
  }

  /// Whether more bytes came than were asked for.
  var hasOverrun: Bool { state.locked { $0.hasOverrun } }

  func receive(_ bytes: Span<UInt8>) -> Bool {
    var position = 0
    while position < bytes.count {
      let rest = bytes.extracting(position..<bytes.count)
      let taken = state.locked { state -> Int? in
        guard var piece = state.piece.take() else {
          state.hasOverrun = true
          return nil
        }
        let count = piece.append(rest)
        if piece.isWhole {
          let next = piece.index + 1
          state.piece = next < run.upperBound ? ReceivedPiece(index: next, layout: layout) : nil
          output.yield(piece)
        } else {
          state.piece = piece
        }
        return count
      }
      guard let taken else { return false }
      position += taken
    }
    return true
  }

  /// Nothing comes any more.
  func finish() { output.finish() }

  /// Nothing is wanted any more.
  func stop() {
    state.locked { $0.piece = nil }
    output.finish()
  }
}
