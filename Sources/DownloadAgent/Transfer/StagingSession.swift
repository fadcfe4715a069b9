import ContentPackage
import CoreTypes
import SystemCalls

/// Owns the staging area and the journal of one content job while it is worked on, on a thread of its own:
/// everything here blocks. Lives from the transfer to the placing, so that what is open and known stays so.
actor StagingSession {
  /// How a queue of received pieces ended.
  struct WriteResult: Sendable {
    var pieces: PieceMap
    /// Pieces whose bytes were not the manifest's, in the order they came.
    var corrupt: [Int] = []
    var verifiedCount = 0
    /// What stopped the writing; the pieces that came after it were dropped.
    var failure: (any Error)?
  }

  private let thread = BlockingThread(name: "pieces")
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.asUnownedSerialExecutor() }

  let manifest: Manifest
  private let paths: ContentJobPaths
  private var area: StagingArea?
  private var journal: PieceJournal?
  /// What the pieces are written into, and what each takes.
  private var room: (reservation: SpaceReservation, shares: UnpackedShares)?

  init(manifest: Manifest, paths: ContentJobPaths) {
    self.manifest = manifest
    self.paths = paths
  }

  /// Opens what an earlier process left, or starts with nothing; returns the pieces that are there. Opening
  /// again changes nothing.
  func open() throws -> PieceMap {
    if let pieces = area?.pieces { return pieces }
    try FileSystem.createDirectories(paths.state, permissions: 0o700)
    try FileSystem.createDirectories(FileSystem.parent(of: paths.staging), permissions: 0o700)
    let boot = try FileSystem.bootIdentifier()
    let earlier = try PieceJournal.read(paths.journal, manifest: manifest, boot: boot)
    let opened = try StagingArea.open(
      at: paths.staging, manifest: manifest, pieces: earlier?.pieces,
      resumption: earlier?.resumption ?? .sameBoot)
    let pieces = opened.pieces
    journal = try PieceJournal(creating: paths.journal, manifest: manifest, pieces: pieces, boot: boot)
    area = consume opened
    return pieces
  }

  /// Copies what another version, placed at `path`, has of this one; returns the pieces that are there then.
  func adopt(from older: Manifest, at path: String) throws -> PieceMap {
    let before = try open()
    guard try area?.adopt(from: older, at: path) ?? .zero > .zero, let pieces = area?.pieces else {
      return before
    }
    // Only now is it all on disk, as far as a process can tell.
    journal = try PieceJournal(
      creating: paths.journal, manifest: manifest, pieces: pieces, boot: try FileSystem.bootIdentifier())
    return pieces
  }

  /// Checks and writes what comes through `queue` until it is closed. Blocks this session's thread meanwhile;
  /// the first failure calls `stop` and drops the rest. Every buffer is released to `buffers`.
  func writePieces(
    _ queue: PieceQueue, buffers: BufferPool, progress: TransferProgress, stop: @Sendable () -> Void
  ) throws -> WriteResult {
    var result = WriteResult(pieces: try open())
    while let piece = queue.next() {
      guard result.failure == nil else {
        buffers.release(piece.bytes)
        continue
      }
      let index = piece.index
      do {
        buffers.release(try keep(piece))
        result.verifiedCount += 1
        if let pieces = area?.pieces { progress.setVerified(pieces.bytesVerified) }
      } catch is PieceMismatch {
        buffers.release(nil)
        result.corrupt.append(index)
      } catch {
        buffers.release(nil)
        result.failure = error
        stop()
      }
    }
    if let pieces = area?.pieces { result.pieces = pieces }
    return result
  }

  /// Verifies, writes and records a piece, in this order; returns its buffer.
  private func keep(_ piece: consuming ReceivedPiece) throws -> [UInt8] {
    let verified = try VerifiedPiece(piece, of: manifest)
    if let room { try room.reservation.spend(room.shares.share(of: verified.index)) }
    try area?.write(verified)
    try journal?.record(verified.index)
    return verified.bytes
  }

  /// From now on pieces use up what was reserved.
  func write(into reservation: SpaceReservation, _ shares: UnpackedShares) {
    room = (reservation, shares)
  }

  /// Makes everything durable and visible at `path`; every piece must be there.
  func place(at path: String) throws -> PlacedContent {
    _ = try open()
    guard let area = area.take(), area.pieces.isComplete else {
      throw StepFailure.retry(.storageFailure)
    }
    journal = nil
    return try area.finish().place(at: path)
  }
}
