import ContentPackage
import CoreTypes
import Dispatch
import Synchronization
import SystemCalls

/// Hands whole received pieces from the network's thread to the one that writes them. Each is verified on the way, on a thread
/// of its own, while others come and are written. Holds no more than the buffer budget allows, so it needs no bound of its
/// own.
final class PieceQueue: Sendable {
  private struct State {
    package var pieces: [PieceVerification] = []
    package var isClosed = false
  }

  private let manifest: Manifest
  private let state = Mutex(State())
  /// Signalled once for every piece, and once for the end.
  private let arrivals = DispatchSemaphore(value: 0)

  init(of manifest: Manifest) {
    self.manifest = manifest
  }

  /// Starts its comparison. Never blocks.
  func append(_ piece: consuming ReceivedPiece) {
    let verification = PieceVerification(piece)
    _ = BlockingPool.computing.start { [manifest] in verification.run(with: manifest) }
    state.locked { $0.pieces.append(verification) }
    arrivals.signal()
  }

  /// No more pieces will come. May be called more than once.
  func close() {
    let isFirst = state.locked { state in
      defer { state.isClosed = true }
      return !state.isClosed
    }
    if isFirst { arrivals.signal() }
  }

  /// Whether ``next()`` would answer without waiting for the network.
  var isReady: Bool { state.locked { !$0.pieces.isEmpty || $0.isClosed } }

  /// Whether no more pieces will come.
  var isClosed: Bool { state.locked { $0.isClosed } }

  /// Blocks until there is a piece; nil once the queue is closed and empty. Pieces come out in the order in which they went in.
  func next() -> PieceVerification? {
    arrivals.wait()
    return state.locked { state in
      guard !state.pieces.isEmpty else { return nil }
      return state.pieces.removeFirst()
    }
  }
}

/// A received piece whose digest is being compared. Lets go of the bytes where it hands them out, so that their buffer has one
/// owner and is used again.
final class PieceVerification: Sendable {
  /// The piece, counted from 0.
  let index: Int
  /// Nil as soon as the comparison has begun.
  private let received: Mutex<ReceivedPiece?>
  /// Nil before the comparison has ended, and after ``get()``.
  private let result = Mutex<Result<VerifiedPiece, PieceMismatch>?>(nil)
  private let done = DispatchSemaphore(value: 0)

  init(_ piece: consuming ReceivedPiece) {
    index = piece.index
    received = Mutex(piece)
  }

  /// To be called once.
  func run(with manifest: Manifest) {
    compare(with: manifest)
    // Only now: what is handed out has no owner here any more.
    done.signal()
  }

  private func compare(with manifest: Manifest) {
    guard let piece = received.locked({ $0.take() }) else {
      preconditionFailure("a piece is verified once")
    }
    let verified = Result { () throws(PieceMismatch) in try VerifiedPiece(piece, of: manifest) }
    result.locked { $0 = verified }
  }

  /// Blocks until the digest was compared. To be called once.
  func get() throws(PieceMismatch) -> VerifiedPiece {
    done.wait()
    guard let result = result.locked({ $0.take() }) else {
      preconditionFailure("a piece is handed out once")
    }
    return try result.get()
  }
}
