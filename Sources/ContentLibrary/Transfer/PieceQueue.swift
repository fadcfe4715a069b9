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
    /// Called once each, as soon as none waits for the writer.
    var waiting: [@Sendable () -> Void] = []
  }

  private let manifest: Manifest
  /// By how much longer than a write the rest behind it is now; nil where the writer does not rest.
  let restFactor: @Sendable () -> Int?
  private let state = Mutex(State())
  /// Signalled once for every piece, and once for the end.
  private let arrivals = DispatchSemaphore(value: 0)

  /// - Parameter restFactor: by how much longer than a write the rest behind it is now, see ``DiskRest``.
  init(of manifest: Manifest, restFactor: @escaping @Sendable () -> Int? = { nil }) {
    self.manifest = manifest
    self.restFactor = restFactor
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
    let (isFirst, waiting) = state.locked { state in
      defer { (state.isClosed, state.waiting) = (true, []) }
      return (!state.isClosed, state.waiting)
    }
    if isFirst { arrivals.signal() }
    for wake in waiting { wake() }
  }

  /// Whether another piece may begin: a writer that rests has one waiting at most, so that its transfer leaves the buffers to those that
  /// are wanted sooner. Otherwise `wake` is called once, when it is worth another try. Never blocks.
  func takesMore(otherwise wake: @escaping @Sendable () -> Void) -> Bool {
    guard restFactor() != nil else { return true }
    return state.locked { state in
      guard !state.pieces.isEmpty, !state.isClosed else { return true }
      state.waiting.append(wake)
      return false
    }
  }

  /// Whether ``next()`` would answer without waiting for the network.
  var isReady: Bool { state.locked { !$0.pieces.isEmpty || $0.isClosed } }

  /// Whether no more pieces will come.
  var isClosed: Bool { state.locked { $0.isClosed } }

  /// Blocks until there is a piece; nil once the queue is closed and empty. Pieces come out in the order in which they went in.
  func next() -> PieceVerification? {
    arrivals.wait()
    let (piece, waiting) = state.locked { state -> (PieceVerification?, [@Sendable () -> Void]) in
      guard !state.pieces.isEmpty else { return (nil, []) }
      let piece = state.pieces.removeFirst()
      guard state.pieces.isEmpty else { return (piece, []) }
      defer { state.waiting = [] }
      return (piece, state.waiting)
    }
    for wake in waiting { wake() }
    return piece
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
