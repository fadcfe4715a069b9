import ContentPackage
import CoreTypes
import Synchronization

/// The connections of one transfer: how many it should have, by ``ConnectionPlan``, and how to end the only one where another is to
/// go beside it. Told of bytes by the network's thread.
final class TransferConnections: Sendable {
  private struct State {
    var plan: ConnectionPlan
    /// The requests that are under way.
    var running = 0
    /// Ends the only request of the transfer, which is gone on with over several.
    var cut: (@Sendable () -> Void)?
  }

  private let state: Mutex<State>
  private let clock: any MonotonicClock
  private let progress: TransferProgress
  private let allowance: ConnectionAllowance
  /// The count of received bytes by which everything has come.
  private let end: ByteCount

  /// - Parameter missing: the bytes that are to come.
  init(
    _ plan: ConnectionPlan, allowance: ConnectionAllowance, progress: TransferProgress, missing: ByteCount,
    clock: any MonotonicClock
  ) {
    self.allowance = allowance
    mayWiden = plan.maximum > 1
    state = Mutex(State(plan: plan))
    self.progress = progress
    progress.setConnections(plan.count)
    end = progress.bytesReceived + missing
    self.clock = clock
  }

  /// Whether there may ever be more than one.
  let mayWiden: Bool

  /// The connections that the transfer should go over now.
  var count: Int {
    let isYielding = progress.isYielding
    return state.locked { state in
      if state.plan.setYielding(isYielding) { progress.setConnections(state.plan.count) }
      return state.plan.count
    }
  }

  /// A request that goes alone is under way; `cut` ends it.
  func beginRequest(cut: @escaping @Sendable () -> Void) {
    state.locked { ($0.running, $0.cut) = (1, cut) }
  }

  /// It is over.
  func endRequest() { state.locked { ($0.running, $0.cut) = (0, nil) } }

  /// So many requests are under way.
  func setRunning(_ count: Int) { state.locked { $0.running = count } }

  /// Bytes have come.
  func noteBytes() {
    let received = progress.bytesReceived
    let left = max(.zero, end - received)
    let now = clock.now()
    guard allowance.isOpen(at: now) else { return }
    let isYielding = progress.isYielding
    let cut = state.locked { state in
      // Where there are fewer now, requests that end are followed by none.
      let yields = state.plan.setYielding(isYielding)
      let isChanged = state.plan.note(
        received, left: left, running: state.running, at: now)
      if yields || isChanged { progress.setConnections(state.plan.count) }
      return isChanged && state.plan.count > 1 ? state.cut : nil
    }
    cut?()
  }

  /// A connection goes on that has waited for this side since then.
  func noteHeldBack(since start: MonotonicInstant) {
    let now = clock.now()
    state.locked { $0.plan.noteHeldBack(for: now - start) }
  }

  /// The present instant.
  func now() -> MonotonicInstant { clock.now() }

  /// The server gave no more than one.
  func refuse() {
    state.locked { state in
      if state.plan.refuse() { progress.setConnections(state.plan.count) }
    }
  }
}

/// The connections that all transfers from one server have beside their first ones. One server is not taken for itself by a device that
/// downloads several packages, and one that said that it has too many is left with one for each for a while.
final class ConnectionAllowance: Sendable {
  /// The most of them, of all transfers together.
  static let limit = 3
  /// None is opened for so long after a refusal.
  static let pauseAfterRefusal: Duration = .seconds(600)

  private struct State {
    var used = 0
    var closedUntil: MonotonicInstant?
  }

  private let state = Mutex(State())

  /// Whether one more may be opened; ``giveBack()`` is called once it is over.
  func take(at now: MonotonicInstant) -> Bool {
    state.locked { state in
      guard state.used < Self.limit, state.closedUntil.map({ $0 <= now }) ?? true else { return false }
      state.used += 1
      return true
    }
  }

  /// Whether the server has not said of late that it has too much to do.
  func isOpen(at now: MonotonicInstant) -> Bool {
    state.locked { $0.closedUntil.map { $0 <= now } ?? true }
  }

  /// Those that are open now.
  var used: Int { state.locked { $0.used } }

  func giveBack() { state.locked { $0.used -= 1 } }

  func close(at now: MonotonicInstant) { state.locked { $0.closedUntil = now + Self.pauseAfterRefusal } }
}

/// Gives each of several connections the next pieces to fetch, none of them twice.
final class PieceAllotment: Sendable {
  private struct State {
    /// The pieces that are there, on their way, or in the queue.
    var taken: PieceMap
    var position: Int
    var isOver = false
    var receivers: [ObjectIdentifier: PieceReceiver] = [:]
  }

  private let state: Mutex<State>
  private let extents: StagedExtents
  /// How far ahead of the first missing piece they go: what is packed waits in a small place for the pieces before it.
  private let reach: Int
  /// Pieces of one request.
  private let length: Int
  private let isPacked: Bool

  /// - Parameter speed: bytes a second of one connection.
  init(_ known: PieceMap, from position: Int, of session: StagingSession, speed: Double) {
    state = Mutex(State(taken: known, position: position))
    extents = session.extents
    let isPacked = session.manifest.files.contains { $0.method == .deflated }
    self.isPacked = isPacked
    reach = isPacked ? 10 : 64
    let wanted = speed * 4 / Double(PieceLayout.pieceLength.rawValue)
    length = isPacked ? 2 : Int(min(max(wanted, 2), 16))
  }

  /// The next run of missing pieces for one connection; nil while nothing is left within reach, and once it is over.
  func next(_ order: PieceOrder) -> Range<Int>? {
    let written = extents.pieces
    return state.locked { state in
      guard !state.isOver, let run = order.nextRun(in: state.taken, from: state.position) else { return nil }
      let chosen = run.prefix(length)
      let first = written.nextMissingRun(from: 0, maximumCount: 1)?.lowerBound ?? 0
      guard chosen.upperBound <= first + reach || chosen.lowerBound == first || !order.isEmpty && !isPacked
      else { return nil }
      if order.isEmpty { state.position = chosen.upperBound }
      for piece in chosen { state.taken.markVerified(piece) }
      return chosen
    }
  }

  /// The request for `run` is over, and brought its pieces before `end`.
  func giveBack(_ run: Range<Int>, from end: Int) {
    state.locked { state in
      guard end < run.upperBound else { return }
      for piece in end..<run.upperBound { state.taken.markMissing(piece) }
      state.position = min(state.position, end)
    }
  }

  func begin(_ receiver: PieceReceiver) {
    let isOver = state.locked { state in
      state.receivers[ObjectIdentifier(receiver)] = receiver
      return state.isOver
    }
    if isOver { receiver.cancel() }
  }

  func end(_ receiver: PieceReceiver) {
    state.locked { $0.receivers[ObjectIdentifier(receiver)] = nil }
  }

  /// Nothing more is begun; what is under way goes on.
  func close() { state.locked { $0.isOver = true } }

  /// Nothing more is begun, and all that is under way ends.
  func stop() {
    let receivers = state.locked { state in
      state.isOver = true
      return state.receivers.values
    }
    for receiver in receivers { receiver.cancel() }
  }
}
