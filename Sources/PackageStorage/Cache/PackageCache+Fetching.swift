import ContentPackage
import CoreTypes
import Crypto
import Files
import Synchronization
import SystemCalls

/// The work beside those who ask: fetching, comparing and writing.
extension PackageCache {
  enum Job: Sendable {
    case fetch(FetchOrder)
    /// Pieces from before a crash.
    case check(CachedPackage, Range<Int>)
    /// The patience of those who wait behind all fetches.
    case wait
  }

  struct FetchOrder: Sendable {
    let identifier: BlockPlan.FetchIdentifier
    let package: CachedPackage
    let pieces: Range<Int>
    let pause: Duration
    let receiver: PieceReceiver
  }

  /// Fetches what readers ask for until the task is cancelled; then who waits fails, and what is there is written down, so that it
  /// counts at the next start. To be called once. Throws `storage`, `outOfSpace` where it could not be written down.
  package func run() async throws(PackageCacheError) {
    await withDiscardingTaskGroup { group in
      for await job in jobs.stream {
        switch job {
        case .fetch(let order): group.addTask { await self.fetch(order) }
        case .check(let package, let pieces): group.addTask { await self.check(pieces, of: package) }
        case .wait: group.addTask { await self.wait() }
        }
      }
      group.cancelAll()
      handle(.ended)
    }
    let packages = withState { state in
      state.entries.reduce(into: [SHA256Digest: CacheDirectory.Found]()) { packages, entry in
        guard let map = state.plan.maps[entry.key] else { return }
        packages[entry.key] = CacheDirectory.Found(
          map: map, uses: entry.value.package?.uses ?? entry.value.uses, room: entry.value.room)
      }
    }
    try await pool.run { [directory] () throws(PackageCacheError) in try directory.close(packages) }
  }

  private func wait() async {
    do { try await clock.sleep(for: BlockPlan.patience) } catch {
      // The cache ends, and with it every wait.
      return
    }
    handle(.waited)
  }

  // MARK: Fetches

  private func fetch(_ order: FetchOrder) async {
    let room = ByteCount(order.package.layout.pieces.range(of: order.pieces).count)
    var failure = await reserve(room, for: order.identifier)
    if failure == nil {
      advanceUse()
      failure = await withTaskGroup(of: PackageCacheError?.self) { group in
        group.addTask { await self.receive(order) }
        let failure = await self.store(order)
        // Nothing more is wanted of it.
        group.cancelAll()
        let received = await group.next() ?? nil
        return failure ?? received
      }
    }
    handle(failure.map { .failed(order.identifier, $0) } ?? .fetched(order.identifier)) { state in
      state.receivers[order.identifier] = nil
      state.reserved[order.identifier] = nil
    }
  }

  /// Has the bytes brought. Returns why not all came.
  private func receive(_ order: FetchOrder) async -> PackageCacheError? {
    defer { order.receiver.finish() }
    if order.pause > .zero {
      do { try await clock.sleep(for: order.pause) } catch {
        return PackageCacheError(.unavailable, "the fetch was cancelled")
      }
    }
    do throws(PackageFetchError) {
      let range = order.package.layout.pieces.range(of: order.pieces)
      try await fetcher.fetch(order.package.digest, range: range, into: order.receiver)
    } catch {
      return order.receiver.hasOverrun ? .overrun : PackageCacheError(error)
    }
    return order.receiver.hasOverrun ? .overrun : nil
  }

  private enum Outcome: Sendable {
    case verified
    case mismatched
    case failed(PackageCacheError)
  }

  /// Compares and writes what comes. Returns why not all could be written.
  private func store(_ order: FetchOrder) async -> PackageCacheError? {
    for await piece in order.receiver.pieces {
      var outcome = await write(piece, of: order.package)
      var pauses = Self.pauses[...]
      // Another fetch, or another program, may be quicker to take the room that was made.
      while case .failed(let error) = outcome, error.code == .outOfSpace,
        await makeRoom(ByteCount(piece.length), &pauses)
      {
        outcome = await write(piece, of: order.package)
      }
      switch outcome {
      case .failed(let error):
        order.receiver.stop()
        return error
      case .mismatched:
        handle(.mismatched(order.identifier, piece: piece.index)) { $0.figures.mismatchedPieces += 1 }
      case .verified:
        handle(.verified(order.identifier, piece: piece.index)) { state in
          state.measure(order.package)
          state.take(ByteCount(piece.length), of: order.identifier)
          // A fetch that was given up has written what no reader counts on.
          guard state.receivers[order.identifier] != nil else { return }
          state.figures.fetchedBytes += ByteCount(piece.length)
          order.package.words.setVerified(piece.index)
          order.package.words.noteUse(use, of: order.package.layout.block(of: piece.index))
        }
      }
    }
    return nil
  }

  private func write(_ piece: ReceivedPiece, of package: CachedPackage) async -> Outcome {
    await pool.run { [directory] in
      guard Self.digest(piece.bytes) == package.pieces[piece.index] else { return .mismatched }
      do throws(SystemError) {
        let offset = ByteCount(package.layout.pieces.range(of: piece.index).lowerBound)
        try directory.operations.write(piece.bytes.span, to: package.file.file, at: offset)
        return .verified
      } catch {
        return .failed(PackageCacheError(error))
      }
    }
  }

  private static func digest(_ bytes: [UInt8]) -> SHA256Digest {
    var hasher = SHA256Hasher()
    hasher.update(bytes.span)
    return hasher.finalize()
  }

  // MARK: After a crash

  private func check(_ pieces: Range<Int>, of package: CachedPackage) async {
    for piece in pieces {
      let isGood = await pool.run { [directory] in Self.isGood(piece, of: package, directory) }
      handle(.checked(package.digest, piece: piece, isGood: isGood)) { state in
        state.measure(package)
        guard isGood, state.plan.maps[package.digest]?[piece] == .checking else { return }
        package.words.setVerified(piece)
        package.words.noteUse(use, of: package.layout.block(of: piece))
      }
    }
  }

  /// Whether the piece is there. One that is not gives its room back; so does one that cannot be read.
  private static func isGood(_ piece: Int, of package: CachedPackage, _ directory: CacheDirectory) -> Bool {
    let range = package.layout.pieces.range(of: piece)
    var bytes: [UInt8] = []
    do throws(SystemError) {
      try directory.operations.read(
        upTo: range.count, of: package.file.file, at: ByteCount(range.lowerBound), into: &bytes)
    } catch {
      bytes = []
    }
    if digest(bytes) == package.pieces[piece] { return true }
    // It will be written over.
    try? directory.operations.punchHole(range, in: package.file.file)
    return false
  }
}

extension PackageCacheError {
  fileprivate static let overrun = PackageCacheError(.damaged, "more bytes came than were asked for")
}
