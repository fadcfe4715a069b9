package import ContentPackage
import CoreTypes
package import Files
import Synchronization
package import SystemCalls

/// The demand of readers for content that is on its way, and the way to what of it they can have: one for each content job. Readers say what they wait for
/// and which page they have opened; the transfer asks which pieces come next, and is cut short where it brings others.
package final class ReadingDemand: Sendable {
  /// A run of pieces that is under way.
  private struct Running {
    var number: UInt64
    var run: Range<Int>
    /// The piece that is coming.
    var piece: @Sendable () -> Int
    var cut: @Sendable () -> Void
    /// It was told to end, and has not yet.
    var isCut = false

    /// The pieces that it brings soon.
    var coming: Range<Int> {
      let piece = piece()
      let end = min(piece + PieceOrder.soonLength + 1, run.upperBound)
      return min(piece, end)..<end
    }
  }

  private struct State {
    var extents: StagedExtents?
    var sequence: ReadingSequence?
    var staging = ""
    var operations: (any FileOperations)?
    /// Ascending by number.
    var wanted: [(number: UInt64, pieces: Range<Int>)] = []
    var next: UInt64 = 0
    var ahead: [Int] = []
    /// One for each connection.
    var running: [Running] = []

    var order: PieceOrder { PieceOrder(wanted: wanted.map(\.pieces), ahead: ahead) }
  }

  /// Signalled when bytes have come, and when they are known to be gone.
  package let changes: ChangeSignal
  private let state = Mutex(State())

  package init(changes: ChangeSignal = ChangeSignal()) {
    self.changes = changes
  }

  /// From now on readers are given what `extents` tell of the staging area at that path.
  package func attach(_ extents: StagedExtents, at staging: String, operations: any FileOperations) {
    let isKnown = state.locked { state in
      if state.extents === extents { return true }
      state.extents = extents
      state.sequence = ReadingSequence(extents.manifest)
      state.staging = staging
      state.operations = operations
      // Of another manifest.
      state.wanted = []
      state.ahead = []
      return false
    }
    guard !isKnown else { return }
    extents.observe { [weak self] in self?.noteChange() }
    noteChange()
  }

  /// The bytes that can be read; nil before the staging area was first opened.
  package var extents: StagedExtents? { state.locked { $0.extents } }

  /// Opens a file of what is staged, by its number in the manifest of `extents`. Nil where others were attached since: the number may be
  /// that of another file. Blocks. Throws an error that `isFileMissing` before the file's first byte is there, and once the content is at
  /// its place.
  package func open(_ file: Int, of extents: StagedExtents) throws(SystemError) -> StagedFile? {
    let (current, staging, operations) = state.locked { ($0.extents, $0.staging, $0.operations) }
    guard current === extents, let operations else { return nil }
    return try StagedFile(opening: file, of: extents, in: staging, operations: operations)
  }

  /// Bytes of a file are waited for: their pieces come before all that no reader waits for, and those behind them in the order of reading come
  /// next. `file` is a number in the manifest of `extents`; where others were attached since, nothing is wanted. Returns the number for
  /// ``endWant(_:)``.
  package func want(_ range: Range<Int64>, of file: Int, in extents: StagedExtents) -> UInt64 {
    let number = state.locked { state in
      state.next += 1
      guard state.extents === extents else { return state.next }
      state.wanted.append((state.next, extents.plan.pieces(of: file, holding: range)))
      return state.next
    }
    cutIfNeeded()
    return number
  }

  /// They have come, or are waited for no more.
  package func endWant(_ number: UInt64) {
    state.locked { state in state.wanted.removeAll { $0.number == number } }
    cutIfNeeded()
  }

  /// A page was opened at that byte: what follows it in the order of reading comes before what does not. Does nothing where others than
  /// `extents` were attached since.
  package func noteOpened(_ file: Int, at offset: Int64, in extents: StagedExtents) {
    state.locked { state in
      guard state.extents === extents, let sequence = state.sequence else { return }
      state.ahead = sequence.pieces(
        from: offset, of: file, in: extents.plan, count: PieceOrder.windowLength)
    }
    cutIfNeeded()
  }

  /// The last reader is gone: the server's order counts again.
  package func noteReadersGone() {
    state.locked { $0.ahead = [] }
  }

  /// The order of this moment.
  var order: PieceOrder { state.locked { $0.order } }

  /// A run is under way; `piece` tells which one is coming, `cut` ends it. Returns the number for ``endRun(_:)``.
  func begin(
    _ run: Range<Int>, piece: @escaping @Sendable () -> Int, cut: @escaping @Sendable () -> Void
  ) -> UInt64 {
    let number = state.locked { state in
      state.next += 1
      state.running.append(Running(number: state.next, run: run, piece: piece, cut: cut))
      return state.next
    }
    // A reader may have asked since the run was chosen.
    cutIfNeeded()
    return number
  }

  /// The run is over.
  func endRun(_ number: UInt64) {
    state.locked { state in state.running.removeAll { $0.number == number } }
  }

  private func noteChange() {
    changes.signal()
    cutIfNeeded()
  }

  /// One of several connections is cut at a time: it takes the piece that is wanted. What another one brings soon is waited for.
  private func cutIfNeeded() {
    let (order, running, extents) = state.locked { ($0.order, $0.running, $0.extents) }
    guard let extents, !order.isEmpty, !running.contains(where: \.isCut) else { return }
    let (pieces, lost) = (extents.pieces, extents.lostPieces)
    let candidates = running.filter { candidate in
      let others = running.filter { $0.number != candidate.number }.map(\.coming)
      return order.cuts(candidate.run, at: candidate.piece(), in: pieces, lost: lost, besides: others)
    }
    let runs = running.map { (run: $0.run, piece: $0.piece()) }
    let urgent = order.firstUrgent { index in
      let isComing = runs.contains { $0.run.lowerBound <= index && index < $0.piece }
      return pieces.isMissing(index) && (!isComing || lost.contains(index))
    }
    // What has come is on its way to the disk.
    guard let urgent else { return }
    // Where it is in the run of one, no other can bring it.
    let holder = running.first { $0.run.contains(urgent) }
    guard
      let victim = holder.map({ holder in candidates.first { $0.number == holder.number } })
        ?? candidates.last
    else { return }
    let isFirst = state.locked { state in
      guard !state.running.contains(where: \.isCut),
        let index = state.running.firstIndex(where: { $0.number == victim.number })
      else { return false }
      state.running[index].isCut = true
      return true
    }
    if isFirst { victim.cut() }
  }
}
