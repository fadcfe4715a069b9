import ContentPackage
import CoreTypes
import Crypto
import Dispatch
import HTTPClient
import Synchronization

/// Cuts one content response into pieces. Runs on the HTTP client's thread: it copies bytes into buffers of
/// the budget, hands whole pieces on, and pauses the transfer while there is no buffer.
final class PieceReceiver: TransferReceiver {
  /// The decision about the response's head.
  enum Verdict: Hashable, Sendable {
    case undecided
    case accepted
    case mismatched
    case refused
  }

  private struct State {
    var handle: TransferHandle?
    var verdict = Verdict.undecided
    /// Where in the package the next byte of the body belongs.
    var position: Int64 = 0
    var current: ReceivedPiece?
    var spare: [UInt8]?
  }

  private let asked: Range<Int64>
  private let manifest: Manifest
  /// What was there when the request was made: its pieces are skipped.
  private let known: PieceMap
  private let buffers: BufferPool
  private let queue: PieceQueue
  private let progress: TransferProgress
  private let state = Mutex(State())

  /// `asked` starts at the beginning of a piece that `known` lacks.
  init(
    asked: Range<Int64>, manifest: Manifest, known: PieceMap, buffers: BufferPool, queue: PieceQueue,
    progress: TransferProgress
  ) {
    self.asked = asked
    self.manifest = manifest
    self.known = known
    self.buffers = buffers
    self.queue = queue
    self.progress = progress
  }

  var verdict: Verdict { state.withLock { $0.verdict } }

  func start(_ handle: TransferHandle) {
    state.withLock { $0.handle = handle }
  }

  /// Ends the transfer from another thread; what has been handed on stays.
  func cancel() {
    state.withLock { $0.handle }?.cancel()
  }

  func receive(head: ResponseHead) -> HeadDecision {
    let response = RangeResponse.classify(
      head, asked: asked, length: manifest.length, digest: manifest.digest)
    return state.withLock { state in
      switch response {
      case .body(let start, _):
        state.position = start
        state.verdict = .accepted
        return .accept
      case .mismatched:
        state.verdict = .mismatched
        return .refuse
      case .refusal:
        state.verdict = .refused
        return .refuse
      }
    }
  }

  func receive(_ bytes: Span<UInt8>) -> BodyDecision {
    state.withLock { state in
      // A span is far shorter than a piece, so that it can start at most one; the buffer for it is secured
      // before any byte is consumed, since a paused transfer delivers the same bytes again.
      if state.spare == nil, (state.current?.missingCount ?? 0) < bytes.count {
        let handle = state.handle
        guard let buffer = buffers.acquire(otherwise: { handle?.resume() }) else { return .pause }
        state.spare = buffer
      }
      var offset = 0
      while offset < bytes.count {
        let rest = bytes.extracting(droppingFirst: offset)
        if state.current != nil {
          let count = state.current?.append(rest) ?? 0
          offset += count
          state.position += Int64(count)
          if state.current?.isWhole == true, let piece = state.current.take() { queue.append(piece) }
          continue
        }
        guard let next = nextWanted(from: state.position) else {
          // Nothing that follows is needed. An answer that was cut to size ends here by itself.
          progress.addReceived(offset)
          return offset == 0 ? .stop : .consumed
        }
        let start = manifest.layout.range(of: next).lowerBound
        let skipped = min(Int64(rest.count), start - state.position)
        offset += Int(skipped)
        state.position += skipped
        guard state.position == start, offset < bytes.count else { continue }
        guard let spare = state.spare.take() else { preconditionFailure("a span starts one piece") }
        state.current = ReceivedPiece(index: next, layout: manifest.layout, reusing: spare)
      }
      progress.addReceived(bytes.count)
      return .consumed
    }
  }

  /// After the transfer's end: releases the buffers of the pieces that stayed incomplete.
  func abandonRest() {
    let (current, spare) = state.withLock { ($0.current.take(), $0.spare.take()) }
    if let current { buffers.release(current.bytes) }
    if let spare { buffers.release(spare) }
  }

  /// The first piece that is not there yet and starts at or behind `position`.
  private func nextWanted(from position: Int64) -> Int? {
    let length = PieceLayout.pieceLength.rawValue
    let first = Int((position + length - 1) / length)
    return known.nextMissingRun(from: first, maximumCount: 1)?.lowerBound
  }
}

/// Hands whole received pieces from the network's thread to the one that checks and writes them. Holds no
/// more than the buffer budget allows, so it needs no bound of its own.
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
