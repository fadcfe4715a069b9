package import AgentRecords
package import ContentPackage
package import CoreTypes
package import Files
import Glibc
import Synchronization
package import SystemCalls

/// Owns the staging area of one while it is worked on, on a thread of its own: everything here blocks.
/// Lives from the transfer to the placing, over every setback between, so that nothing is read twice. After an
/// error of the disk, and when the medium is another one, the area is opened again, and what is there is read.
package actor StagingSession {
  /// How a queue of received pieces ended.
  struct WriteResult: Sendable {
    var pieces: PieceMap
    /// Pieces whose bytes were not the manifest's, in the order they came.
    var corrupt: [Int] = []
    var verifiedCount = 0
    /// A piece came for which one before it must be fetched first; it was dropped, with those behind it.
    var isOutOfOrder = false
    /// The error that stopped the writing; the pieces that came after it were dropped.
    var failure: (any Error)?
  }

  private let thread = BlockingThread(name: "pieces")
  package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.asUnownedSerialExecutor() }

  package nonisolated let manifest: Manifest
  /// The bytes of it that can be read beside this session.
  package nonisolated let extents: StagedExtents
  private let paths: ContentJobPaths
  private let operations: any FileOperations
  /// Nil before ``open()``, after an error, and once ``finish()`` has taken it.
  private var area: StagingArea?
  /// The content that is durable and waits to be renamed to its place.
  private var finished: StagedContent?
  /// The reservation that pieces are written into, and the space that each piece takes.
  private var room: (reservation: SpaceReservation, shares: UnpackedShares)?
  /// Whether content of the library was taken over for this package, as far as possible.
  package private(set) var hasTriedSources = false
  /// A sync failed, and what it did not sync could not be removed.
  private var isVoid = false

  private let clock: any MonotonicClock
  /// Blocks for so long.
  private let pause: @Sendable (Duration) -> Void

  /// Opens nothing.
  package init(
    manifest: Manifest, paths: ContentJobPaths, operations: any FileOperations = SystemFileOperations(),
    clock: any MonotonicClock = SystemMonotonicClock(),
    pause: @escaping @Sendable (Duration) -> Void = { usleep(UInt32(clamping: $0.nanoseconds / 1000)) }
  ) {
    self.clock = clock
    self.pause = pause
    self.manifest = manifest
    extents = StagedExtents(manifest)
    self.paths = paths
    self.operations = operations
  }

  /// The priority of the thread that writes, unpacks and places; set by the job's urgency.
  private var priority = ThreadPriority.ofProcess

  /// Has everything that is written, unpacked and placed from now on stand back for others, or do so no more.
  package func setPriority(_ priority: ThreadPriority) {
    guard priority != self.priority else { return }
    self.priority = priority
    priority.applyToThread()
  }

  /// From now on readers are given what this session has.
  package nonisolated func attach(to demand: ReadingDemand) {
    demand.attach(extents, at: paths.staging, operations: operations)
  }

  /// Opens what an earlier process left, or starts with nothing; returns the pieces that are there. Throws ``UnkeptPieceError`` where the disk does
  /// not keep what is written. Opening
  /// again changes nothing while the area is still the one that was opened.
  package func open() throws -> PieceMap {
    try extents.checkLosses()
    finished = nil
    if area != nil {
      if try keepingArea({ () throws in try area?.isCurrent() == true }) { return try dropDamaged() }
      area = nil
    }
    if isVoid {
      try StagingArea.discard(at: paths.staging, operations: operations)
      isVoid = false
    }
    // What was found damaged before is read again by this.
    extents.clear()
    let opened = try StagingArea.open(
      at: paths.staging, manifest: manifest, operations: operations, publishing: extents)
    let pieces = opened.pieces
    area = consume opened
    return pieces
  }

  /// The pieces that are there; those that readers have found damaged are not.
  private func dropDamaged() throws -> PieceMap {
    guard extents.isDamaged else { return area?.pieces ?? PieceMap(manifest) }
    return try keepingArea {
      _ = try area?.finishWrites()
      _ = try area?.dropDamaged()
      return area?.pieces ?? PieceMap(manifest)
    }
  }

  /// Whether the piece could be written now, see `StagingArea.accepts(_:)`; true where no area is open.
  func accepts(_ piece: Int) -> Bool { area?.accepts(piece) != false }

  /// Takes over what another version, placed at `path`, has of this one, with copies of `room` bytes at most;
  /// returns the pieces that are there then. See `StagingArea.adopt` about `byPiece`.
  package func adopt(
    from older: Manifest, at path: String, byPiece: Bool = false, room: ByteCount
  ) throws -> PieceMap {
    let before = try open()
    return try keepingArea {
      _ = try area?.adopt(from: older, at: path, byPiece: byPiece, room: room)
      return area?.pieces ?? before
    }
  }

  /// Writes what comes through `queue` and was found right, until it is closed. Blocks this session's thread meanwhile;
  /// the first failure calls `stop` and drops the rest. Every buffer is released to `buffers`. Throws only
  /// where the area cannot be opened; any later error is the result's.
  func writePieces(
    _ queue: PieceQueue, buffers: BufferPool, progress: TransferProgress, stop: @Sendable () -> Void
  ) throws -> WriteResult {
    var result: WriteResult
    do {
      result = WriteResult(pieces: try open())
    } catch {
      // No reader takes what still comes, and other transfers wait for its buffers.
      stop()
      while let verification = queue.next() { buffers.release(try? verification.get().takeBytes()) }
      throw error
    }
    // Pieces that are being written, or are about to be.
    var held = 0
    func note(_ written: consuming [VerifiedPiece]) {
      held -= written.count
      result.verifiedCount += written.count
      release(consume written, to: buffers)
      guard let pieces = area?.pieces else { return }
      result.pieces = pieces
      progress.setVerified(pieces.bytesVerified)
    }
    func fail(_ error: any Error) {
      for _ in 0..<held { buffers.release(nil) }
      held = 0
      result.failure = error
      stop()
    }
    while true {
      // Nothing is held back while nothing comes: others may wait for the buffers.
      if held > 0, !queue.isReady {
        do { note(try finishWrites()) } catch { fail(error) }
      }
      guard let verification = queue.next() else { break }
      guard result.failure == nil, !result.isOutOfOrder else {
        buffers.release(try? verification.get().takeBytes())
        continue
      }
      let index = verification.index
      guard area?.accepts(index) != false else {
        buffers.release(try? verification.get().takeBytes())
        result.isOutOfOrder = true
        stop()
        continue
      }
      do {
        if extents.isDamaged {
          note(try finishWrites())
          result.pieces = try dropDamaged()
        }
        held += 1
        let verified = try verification.get()
        let writingBegan = clock.now()
        note(try begin(verified))
        if queue.restFactor() != nil {
          note(try finishWrites())
          rest(behind: clock.now() - writingBegan, queue)
        }
      } catch is PieceMismatch {
        held -= 1
        buffers.release(nil)
        result.corrupt.append(index)
      } catch {
        fail(error)
      }
    }
    if held > 0 {
      do { note(try finishWrites()) } catch { fail(error) }
    }
    area?.closeFiles()
    return result
  }

  /// Leaves the disk to others behind a write that took so long: for as long as the queue's factor says meanwhile, and until no more pieces
  /// come.
  private func rest(behind writing: Duration, _ queue: PieceQueue) {
    var rested = Duration.zero
    while !queue.isClosed {
      let rest = min(writing * (queue.restFactor() ?? 0), DiskRest.longest) - rested
      guard rest > .zero else { return }
      let step = min(rest, DiskRest.step)
      pause(step)
      rested += step
    }
  }

  /// The piece is written by and by; those that are by now are returned.
  private func begin(_ verified: VerifiedPiece) throws -> [VerifiedPiece] {
    try keepingArea {
      try room?.reservation.begin(room?.shares.share(of: verified.index) ?? .zero)
      return try area?.begin(verified) ?? []
    }
  }

  /// Returns once all that was begun is written.
  private func finishWrites() throws -> [VerifiedPiece] {
    try keepingArea { try area?.finishWrites() ?? [] }
  }

  /// Takes the written pieces from the reservation, and returns their buffers.
  private func release(_ pieces: consuming [VerifiedPiece], to buffers: BufferPool) {
    while let piece = pieces.popLast() {
      room?.reservation.end(room?.shares.share(of: piece.index) ?? .zero)
      buffers.release((consume piece).takeBytes())
    }
  }

  /// From now on pieces use up what was reserved.
  package func write(into reservation: SpaceReservation, _ shares: UnpackedShares) {
    room = (reservation, shares)
  }

  /// Gives back the reservation. Pieces take from none until the next reservation.
  package func endReservation() {
    room?.reservation.release()
    room = nil
  }

  /// It counts for the life of the session.
  package func noteSourcesTried() { hasTriedSources = true }

  /// Closes every file of the area, so that its file system can be unmounted. What is there is read when the
  /// area is opened again.
  package func letGo() {
    area = nil
    finished = nil
    extents.clear()
  }

  /// Makes everything durable where it is staged, so that ``place(at:)`` has only to give it its name; every piece must be there.
  /// Of a task that was cancelled at most the sync that runs is waited for, and what is staged stays so.
  /// Throws ``StepFailure`` with `storage-failure` where a piece is missing.
  package func finish() throws {
    _ = try open()
    guard let area = area.take(), area.pieces.isComplete else {
      throw StepFailure.retry(.storageFailure)
    }
    do {
      finished = try area.finish()
    } catch let error as UnsyncedContent {
      isVoid = !error.isRemoved
      throw StepFailure(error.cause)
    }
  }

  /// Makes what ``finish()`` made durable, or all that is staged, visible at `path`. Returns the files that are shared with
  /// other content, see `StagedContent.shared`.
  package func place(at path: String) throws -> Set<Int> {
    if finished == nil {
      try finish()
      try Task.checkCancellation()
    }
    guard let content = finished.take() else { throw StepFailure.retry(.storageFailure) }
    let shared = content.shared
    try content.place(at: path)
    return shared
  }

  /// Runs `body`. After an error, closes the area: a disk error, or a cancellation in the middle, can leave it different
  /// in memory from the disk.
  private func keepingArea<Value>(_ body: () throws -> Value) throws -> Value {
    do {
      return try body()
    } catch {
      area = nil
      throw error
    }
  }
}

/// The rests of a transfer that leaves the disk to others.
enum DiskRest {
  /// While the machine has other work: however slow the disk is, others have it for 24 of 25 parts of the time.
  static let yieldingFactor = 24
  /// In the background as long as that is not known, which takes the kernel some seconds: for four of five parts.
  static let backgroundFactor = 4
  static let longest: Duration = .seconds(2)
  /// Between two looks whether it still stands back.
  static let step: Duration = .milliseconds(100)

  /// By how much longer than the write before it a rest is; nil for none, as where readers wait for what comes.
  static func factor(of progress: TransferProgress, _ demand: ReadingDemand?) -> Int? {
    guard demand?.order.isEmpty != false else { return nil }
    return progress.isYielding ? yieldingFactor : progress.priority == .background ? backgroundFactor : nil
  }
}

/// The sessions of the jobs that were worked on last, so that a setback costs no reading. One that makes room for
/// another closes its files; its area is read when its job goes on.
package final class StagingSessions: Sendable {
  /// Each has a thread and a few descriptors.
  package static let limit = 16

  /// In the order of their last use.
  private let sessions = Mutex<[(job: ContentJobIdentifier, session: StagingSession)]>([])

  package init() {}

  /// Nil for a job that has none, or whose session made room. It counts as used now.
  package func session(of job: ContentJobIdentifier) -> StagingSession? {
    sessions.locked { sessions in
      guard let index = sessions.firstIndex(where: { $0.job == job }) else { return nil }
      let entry = sessions.remove(at: index)
      sessions.append(entry)
      return entry.session
    }
  }

  /// Beyond ``limit`` the one that was used longest ago makes room.
  package func keep(_ session: StagingSession, of job: ContentJobIdentifier) {
    sessions.locked { sessions in
      sessions.removeAll { $0.job == job }
      if sessions.count == Self.limit { sessions.removeFirst() }
      sessions.append((job, session))
    }
  }

  /// In the order of their last use.
  package var all: [StagingSession] { sessions.locked { $0.map(\.session) } }

  /// Its files are closed when its last owner lets go of it.
  package func remove(_ job: ContentJobIdentifier) {
    sessions.locked { $0.removeAll { $0.job == job } }
  }
}
