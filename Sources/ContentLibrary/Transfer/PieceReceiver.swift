import ContentPackage
import CoreTypes
import Crypto
import HTTPClient
import Synchronization

/// Cuts one content response into pieces. Runs on the HTTP client's thread: it copies bytes into buffers of
/// the budget, hands whole pieces on, and pauses the transfer while there is no buffer.
final class PieceReceiver: TransferReceiver {
  /// The decision about the response's head.
  enum Verdict: Hashable, Sendable {
    /// No head has come yet.
    case undecided
    case accepted
    /// Other content than the package's, or another range than was asked for.
    case mismatched
    /// A page of something between here and the server.
    case foreign
    /// A refusal, or no answer to a ranged request; its body may say why.
    case refused
  }

  private struct State {
    /// Nil before the transfer starts.
    var handle: TransferHandle?
    var verdict = Verdict.undecided
    var isCertain = false
    /// Where in the package the next byte of the body belongs.
    package var position: Int64 = 0
    package var current: ReceivedPiece?
    /// The buffer of the piece that begins next, acquired before its first byte is taken.
    var spare: [UInt8]?
    /// The part of the first piece that an earlier connection received; the answer continues after it.
    var resumed: ReceivedPiece?
    /// ``current`` was begun by an earlier connection, and does not count in the budget yet.
    var lacksPlace = false
    /// Bytes of the body that come before ``current`` goes on.
    var skip: Int64 = 0
    /// Nothing of it is wanted any more.
    var isCancelled = false
    /// Other pieces are wanted more: no more bytes are taken.
    var isCut = false
    /// The last piece that was handed on whole.
    var handed: Int?
    var received = ByteCount.zero
    /// Since when this side has it wait; nil while it does not.
    var heldBackSince: MonotonicInstant?
  }

  /// The bytes of the package that the request named.
  private let asked: Range<Int64>
  private let manifest: Manifest
  /// The pieces that were there when the request was made; the receiver skips them.
  private let known: PieceMap
  private let buffers: BufferPool
  private let queue: PieceQueue
  private let progress: TransferProgress
  private let onCertainty: @Sendable () -> Void
  /// Nil where nothing measures what the connection brings.
  private let connections: TransferConnections?
  /// Whether an answer with the whole package is taken.
  private let takesWhole: Bool
  private let state: Mutex<State>

  /// `asked` starts at the beginning of a piece that `known` lacks, or behind what `resumed` holds of it. `onCertainty` is called
  /// once the answer has shown the package's own tag, before any of its bytes.
  init(
    asked: Range<Int64>, manifest: Manifest, known: PieceMap, resumed: ReceivedPiece? = nil,
    buffers: BufferPool, queue: PieceQueue, progress: TransferProgress,
    connections: TransferConnections? = nil, takesWhole: Bool = true,
    onCertainty: @escaping @Sendable () -> Void = {}
  ) {
    self.onCertainty = onCertainty
    self.connections = connections
    self.takesWhole = takesWhole
    state = Mutex(State(resumed: resumed))
    self.asked = asked
    self.manifest = manifest
    self.known = known
    self.buffers = buffers
    self.queue = queue
    self.progress = progress
  }

  var verdict: Verdict { state.locked { $0.verdict } }
  /// Whether the answer carried the package's own tag.
  var isCertain: Bool { state.locked { $0.isCertain } }

  func start(_ handle: TransferHandle) {
    let isCancelled = state.locked { state in
      state.handle = handle
      return state.isCancelled
    }
    if isCancelled { handle.cancel() }
  }

  /// Ends the transfer from another thread, or as soon as it starts; what has been handed on stays.
  func cancel() {
    let handle = state.locked { state in
      state.isCancelled = true
      return state.handle
    }
    handle?.cancel()
  }

  /// Ends the transfer because other pieces are wanted more. One whose answer has not shown yet that it is the server's goes on until
  /// then, and is ended by its first bytes: what it may tell about the network is not lost.
  func cut() {
    let handle = state.locked { state in
      state.isCut = true
      return state.isCertain ? state.handle : nil
    }
    handle?.cancel()
  }

  /// Whether ``cut()`` ends it, or has ended it: the answer has shown that it is the server's.
  var wasCut: Bool { state.locked { $0.isCut && $0.isCertain } }

  /// The last piece that was handed on whole; nil before the first.
  var handed: Int? { state.locked { $0.handed } }

  /// Bytes of the body so far.
  var bytesReceived: ByteCount { state.locked { $0.received } }

  /// The piece that is coming, or comes next; nil before the answer has begun, and where nothing of it is wanted any more.
  var piece: Int? {
    state.locked { state in
      guard state.verdict == .accepted else { return nil }
      return state.current?.index ?? nextWanted(from: state.position)
    }
  }

  /// ``RangeResponse`` decides; only the digests of the pieces make bytes trusted.
  func receive(head: ResponseHead) -> HeadDecision {
    let response = RangeResponse.classify(
      head, asked: asked, length: manifest.length, digest: manifest.digest)
    defer { if isCertain { onCertainty() } }
    return state.locked { state in
      switch response {
      case .body(_, nil) where !takesWhole:
        // Without the package's tag it may be of something on the way.
        state.isCertain = head.headers["ETag"] != nil
        state.verdict = state.isCertain ? .mismatched : .refused
        return .refuse
      case .body(let start, let end):
        // It would answer another beside it with everything as well.
        if end == nil { connections?.refuse() }
        state.position = start
        state.verdict = .accepted
        state.isCertain = head.headers["ETag"] != nil
        resume(&state)
        return .accept
      case .mismatched:
        state.verdict = .mismatched
        return .refuse
      case .foreign:
        state.verdict = .foreign
        return .refuse
      case .refusal:
        state.verdict = .refused
        return .refuse
      }
    }
  }

  /// Goes on with the piece that was begun, if the body reaches the byte where that stopped without other wanted pieces
  /// before it.
  private func resume(_ state: inout State) {
    guard let resumed = state.resumed.take() else { return }
    let start = manifest.layout.range(of: resumed.index).lowerBound
    let end = start + Int64(resumed.bytes.count)
    guard (start...end).contains(state.position) else { return }
    state.skip = end - state.position
    state.current = resumed
    state.lacksPlace = true
  }

  /// Pauses without taking a byte while a buffer is missing; the same bytes come again then. Stops where
  /// nothing that follows is wanted.
  func receive(_ bytes: Span<UInt8>) -> BodyDecision {
    let decision = take(bytes)
    guard let connections else { return decision }
    switch decision {
    case .consumed:
      if let start = state.locked({ $0.heldBackSince.take() }) { connections.noteHeldBack(since: start) }
      connections.noteBytes()
    case .pause:
      let now = connections.now()
      state.locked { $0.heldBackSince = $0.heldBackSince ?? now }
    case .stop: break
    }
    return decision
  }

  private func take(_ bytes: Span<UInt8>) -> BodyDecision {
    state.locked { state in
      if state.isCancelled || state.isCut && state.isCertain { return .stop }
      if state.lacksPlace {
        let handle = state.handle
        // Its own bytes stay where they are; the budget counts them from now on.
        guard buffers.acquire(otherwise: { handle?.resume() }) != nil else { return .pause }
        state.lacksPlace = false
      }
      // A span is far shorter than a piece, so that it can start at most one; the buffer for it is secured
      // before any byte is consumed, since a paused transfer delivers the same bytes again.
      if state.spare == nil, (state.current?.missingCount ?? 0) < bytes.count {
        let handle = state.handle
        guard queue.takesMore(otherwise: { handle?.resume() }),
          let buffer = buffers.acquire(otherwise: { handle?.resume() })
        else { return .pause }
        state.spare = buffer
      }
      // Last, since bytes that may come count as come.
      if let pace = progress.pace {
        let handle = state.handle
        guard pace.take(bytes.count, otherwise: { handle?.resume() }) else { return .pause }
      }
      var offset = 0
      while offset < bytes.count {
        let rest = bytes.extracting(droppingFirst: offset)
        if state.skip > 0 {
          let skipped = min(Int64(rest.count), state.skip)
          offset += Int(skipped)
          state.position += skipped
          state.skip -= skipped
          continue
        }
        if state.current != nil {
          let count = state.current?.append(rest) ?? 0
          offset += count
          state.position += Int64(count)
          if state.current?.isWhole == true, let piece = state.current.take() {
            state.handed = piece.index
            queue.append(piece)
          }
          continue
        }
        guard let next = nextWanted(from: state.position) else {
          // Nothing that follows is needed. An answer that was cut to size ends here by itself.
          count(offset, in: &state)
          return offset == 0 ? .stop : .consumed
        }
        let start = manifest.layout.range(of: next).lowerBound
        let skipped = min(Int64(rest.count), start - state.position)
        offset += Int(skipped)
        state.position += skipped
        guard state.position == start, offset < bytes.count else { continue }
        guard let spare = state.spare.take() else { preconditionFailure("a span starts one piece") }
        state.current = ReceivedPiece(index: next, layout: manifest.layout, reusing: consume spare)
      }
      count(bytes.count, in: &state)
      return .consumed
    }
  }

  private func count(_ bytes: Int, in state: inout State) {
    state.received += ByteCount(bytes)
    progress.addReceived(bytes)
  }

  /// After the transfer's end: releases the buffers, and hands out the piece that stayed incomplete.
  func removeRest() -> ReceivedPiece? {
    let (current, spare, lacksPlace) = state.locked { state in
      (state.current.take() ?? state.resumed.take(), state.spare.take(), state.lacksPlace)
    }
    if let spare { buffers.release(spare) }
    guard let current else { return nil }
    // Its bytes leave the budget with it.
    if state.locked({ $0.verdict }) == .accepted, !lacksPlace { buffers.release(nil) }
    return current
  }

  /// The first piece that is not there yet and starts at or behind `position`.
  private func nextWanted(from position: Int64) -> Int? {
    let length = PieceLayout.pieceLength.rawValue
    let first = Int((position + length - 1) / length)
    return known.nextMissingRun(from: first, maximumCount: 1)?.lowerBound
  }
}
