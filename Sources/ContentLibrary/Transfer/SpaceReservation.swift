package import AgentRecords
package import ContentPackage
import CoreTypes
import Files
import Synchronization
import SystemCalls

/// Room that one job was promised, until it has written all of it or ends. What is not written when this value
/// is released, or goes, is free for others: once, since the job may have been promised room anew by then. Every
/// call blocks for a moment.
package final class SpaceReservation: Sendable {
  /// In steps of so much allocated room is given back, just before it is written.
  private static let step = ByteCount.mebibytes(8)

  private struct State: ~Copyable {
    /// Promised bytes that are not written yet, those of ``inProgress`` among them.
    package var remaining: ByteCount
    /// The part of `remaining` that is being written.
    var inProgress = ByteCount.zero
    /// The file that holds the allocated room; nil where nothing is allocated.
    var ballast: FileDescriptor?
    var ballastLength = ByteCount.zero
    var ballastPath = ""
    var isReleased = false
  }

  private let state: Mutex<State>
  /// Called with the bytes still to be written and not allocated; with nil at the end.
  private let note: @Sendable (ByteCount?) -> Void
  private let operations: any FileOperations

  /// - Parameters:
  ///   - total: bytes that were promised.
  ///   - note: called under this value's lock; it must not call back.
  init(
    of total: ByteCount, operations: any FileOperations = SystemFileOperations(),
    note: @escaping @Sendable (ByteCount?) -> Void
  ) {
    self.operations = operations
    state = Mutex(State(remaining: total, ballast: nil))
    self.note = note
  }

  deinit { release() }

  /// Takes the room from the file system, as a file at `path`. Where the file system cannot do that nothing happens; throws
  /// where the room is not there.
  func allocate(at path: String) throws(SystemError) {
    try state.locked { state throws(SystemError) in
      guard !state.isReleased, state.ballast == nil, state.remaining > .zero else { return }
      let file = try operations.open(
        path, .writeOnly, options: [.create, .exclusive], permissions: 0o600)
      state.ballastPath = path
      do throws(SystemError) {
        guard try operations.allocateIfSupported(state.remaining, for: file) else {
          try operations.remove(path)
          return
        }
      } catch {
        _ = try? operations.remove(path)
        throw error
      }
      state.ballastLength = state.remaining
      state.ballast = consume file
      note(.zero)
    }
  }

  /// So many of the promised bytes are about to be written. They stay promised until ``end(_:)``, when the file system counts
  /// them itself.
  func begin(_ bytes: ByteCount) throws(SystemError) {
    try state.locked { state throws(SystemError) in
      state.inProgress += bytes
      let rest = max(state.remaining - state.inProgress, .zero)
      guard state.ballast != nil, state.ballastLength > rest else { return }
      let length = max(rest - Self.step, .zero)
      note(state.remaining - length)
      try state.ballast?.truncate(to: length)
      state.ballastLength = length
    }
  }

  /// Bytes that ``begin(_:)`` was called with are written.
  func end(_ bytes: ByteCount) {
    state.locked { state in
      guard !state.isReleased else { return }
      state.inProgress = max(state.inProgress - bytes, .zero)
      state.remaining = max(state.remaining - bytes, .zero)
      note(state.remaining - min(state.ballastLength, state.remaining))
    }
  }

  /// Gives back what was not written.
  package func release() {
    state.locked { state in
      guard !state.isReleased else { return }
      state.isReleased = true
      if state.ballast != nil {
        state.ballast = nil
        // The next admission of the job, or the next start of the agent, removes what stays.
        _ = try? operations.remove(state.ballastPath)
      }
      state.remaining = .zero
      state.ballastLength = .zero
      note(nil)
    }
  }
}

/// The bytes that a package takes once it is unpacked, piece by piece.
package struct UnpackedShares: Sendable {
  /// Packed bytes that wait for their turn take no more than that beside the files.
  static let maximumSpool = ByteCount.mebibytes(16)

  private let manifest: Manifest
  private let plan: UnpackPlan

  package init(_ manifest: Manifest) {
    self.manifest = manifest
    plan = UnpackPlan(manifest)
  }

  /// Returns the bytes that the piece's bytes become; for a part of a deflated file, the same part of the
  /// unpacked file. Rounded up.
  func share(of piece: Int) -> ByteCount {
    plan.writes(for: piece).reduce(.zero) { $0 + share(of: $1) }
  }

  private func share(of write: UnpackPlan.Write) -> ByteCount {
    let file = manifest.files[write.file]
    let slice = ByteCount(write.slice.count)
    guard file.method == .deflated else { return slice }
    // At most 2^20 times 2^33, and a piece's bytes of a file are never without a file's.
    let product = slice.rawValue.multipliedReportingOverflow(by: file.length.rawValue).partialValue
    return ByteCount(product / max(file.storedLength.rawValue, 1) + 1)
  }

  /// A file takes whole blocks, and so do those that a staging area has of its own.
  private static let block: Int64 = 4096
  private static let ownFiles = 8

  /// Returns the space for the pieces that `pieces` lacks. Deflated bytes that wait for their turn count
  /// beside it, up to ``maximumSpool``; so they do beside what is kept, the pieces that are there.
  package func need(without pieces: PieceMap) -> SpaceNeed {
    let all = { (_: ManifestFile) in true }
    var need = sum(ofPieces: { pieces.isMissing($0) }, ofFiles: all)
    need.kept = kept(of: pieces, ofFiles: all)
    return need
  }

  /// Returns the space of the pieces that are there, as far as they are of these files.
  private func kept(of pieces: PieceMap, ofFiles isCounted: (ManifestFile) -> Bool) -> ByteCount {
    let blocks = Self.block * Int64(manifest.files.count + Self.ownFiles)
    return sum(ofPieces: { !pieces.isMissing($0) }, ofFiles: isCounted).total + ByteCount(blocks)
  }

  private func sum(
    ofPieces isCounted: (Int) -> Bool, ofFiles isCountedFile: (ManifestFile) -> Bool
  ) -> SpaceNeed {
    var sum = SpaceNeed(unpacked: .zero)
    for piece in 0..<manifest.layout.count where isCounted(piece) {
      for write in plan.writes(for: piece) where isCountedFile(manifest.files[write.file]) {
        sum.unpacked += share(of: write)
        if manifest.files[write.file].method == .deflated { sum.spool += ByteCount(write.slice.count) }
      }
    }
    sum.spool = min(sum.spool, Self.maximumSpool)
    return sum
  }

  /// Returns the most space that copies of other content and the bytes fetched beside them will take. For a folder whose
  /// files can be linked, that is the space for the files that none of `sources` has, where that is less; otherwise for
  /// every piece that `pieces` lacks.
  package func need(beside sources: [Manifest], linking: Bool, without pieces: PieceMap) -> SpaceNeed {
    let rest = need(without: pieces)
    guard linking, manifest.kind == .folder else { return rest }
    let known = Set(sources.flatMap(\.files).map(\.digest))
    let missing = manifest.files.filter { !known.contains($0.digest) }
    let spool = missing.filter { $0.method == .deflated }.reduce(ByteCount.zero) { $0 + $1.storedLength }
    // Files that are linked stay whole, also where a piece of them is not noted yet.
    let linked = manifest.files.filter { known.contains($0.digest) }.reduce(ByteCount.zero) { $0 + $1.length }
    let unlinked = SpaceNeed(
      unpacked: missing.reduce(.zero) { $0 + $1.length }, spool: min(spool, Self.maximumSpool),
      kept: kept(of: pieces, ofFiles: { !known.contains($0.digest) }) + linked)
    return unlinked.total < rest.total ? unlinked : rest
  }
}
