import ContentPackage
import CoreTypes
import Files
import Glibc
import PackageTesting
import PullboxTesting
import SystemCalls
import Testing

@testable import AgentRecords
@testable import ContentLibrary

/// A staging area as a transfer uses it, on a disk that a test makes fail.
@Suite struct StagingSessionTests {
  private struct Bench {
    let directory: TemporaryDirectory
    let package: FixturePackage
    let operations = FaultyFileOperations()
    let buffers = BufferPool(limit: 4)
    let progress = TransferProgress(received: .zero, verified: .zero)

    init(_ package: FixturePackage) throws {
      directory = try TemporaryDirectory()
      self.package = package
      for folder in ["library/.staging", "library/product"] {
        try FileSystem.createDirectories(directory.path(folder))
      }
    }

    var target: String { directory.path("library/product/1.0") }

    func session(
      clock: any MonotonicClock = SystemMonotonicClock(),
      pause: @escaping @Sendable (Duration) -> Void = { _ in }
    ) -> StagingSession {
      StagingSession(
        manifest: package.manifest,
        paths: ContentJobPaths(state: directory.path("state"), staging: directory.path("library/.staging/1")),
        operations: operations, clock: clock, pause: pause)
    }

    /// A queue whose writer rests as a transfer's does.
    func restingQueue() -> PieceQueue {
      PieceQueue(of: package.manifest) { [progress] in DiskRest.factor(of: progress, nil) }
    }

    /// Appends the pieces to a queue, as a transfer does.
    func append(_ indices: [Int], to queue: PieceQueue) throws {
      for index in indices {
        let buffer = buffers.acquire(otherwise: {})
        var piece = ReceivedPiece(
          index: index, layout: package.manifest.layout, reusing: try #require(buffer))
        let range = package.manifest.layout.range(of: index)
        _ = piece.append(Array(package.bytes[Int(range.lowerBound)..<Int(range.upperBound)]).span)
        queue.append(piece)
      }
    }

    /// Hands the pieces to the session as a transfer does.
    func write(
      _ indices: [Int], to session: StagingSession, stop: @escaping @Sendable () -> Void = {}
    ) async throws -> StagingSession.WriteResult {
      let queue = PieceQueue(of: package.manifest)
      try append(indices, to: queue)
      queue.close()
      return try await session.writePieces(queue, buffers: buffers, progress: progress, stop: stop)
    }

    func expectPlaced() throws {
      for (path, bytes) in package.files {
        let placed = try FileSystem.read("\(target)/\(path)", upTo: .gibibytes(1))
        #expect(placed.hasSameBytes(as: bytes), "\(path)")
      }
      #expect(try FileSystem.list(directory.path("library/.staging")).isEmpty)
    }
  }

  @Test("over lost connections the session stays, and nothing that was written is read again (R6)")
  func staysOpen() async throws {
    let bench = try Bench(try FixturePackage.file(length: 6 << 20))
    let session = bench.session()
    _ = try await session.open()
    let reads = bench.operations.steps.count { $0 == .read }
    for index in 0..<6 {
      #expect(try await bench.write([index], to: session).pieces.verifiedCount == index + 1)
      #expect(try await session.open().verifiedCount == index + 1)
    }
    // Each opening asks whether the area is still the one that was opened.
    #expect(bench.operations.steps.count { $0 == .read } - reads <= 12)
    _ = try await session.place(at: bench.target)
    try bench.expectPlaced()
  }

  /// A clock on which 5 ms pass between two looks.
  private final class SlowClock: MonotonicClock {
    private let looks = Locked(0)

    func now() -> MonotonicInstant {
      MonotonicInstant(
        nanoseconds: looks.withLock { looks in
          looks += 1
          return UInt64(looks) * 5_000_000
        })
    }

    func sleep(for duration: Duration) async throws {}
  }

  @Test(
    "while others want the disk they have it for 24 times as long as each write took, until no more pieces come",
    .timeLimit(.minutes(1)))
  func rests() async throws {
    let bench = try Bench(try FixturePackage.file(length: 3 << 20))
    let queue = bench.restingQueue()
    let pauses = Locked<[Duration]>([])
    let session = bench.session(clock: SlowClock()) { duration in
      let all = pauses.withLock { pauses in
        pauses.append(duration)
        return pauses
      }
      if all.reduce(.zero, +) >= .milliseconds(3 * 24 * 5) { queue.close() }
    }
    bench.progress.setYielding(true)
    try bench.append([0, 1, 2], to: queue)
    let result = try await session.writePieces(
      queue, buffers: bench.buffers, progress: bench.progress, stop: {})
    #expect(result.pieces.isComplete)
    let (whole, rest) = (Duration.milliseconds(100), Duration.milliseconds(20))
    #expect(pauses.current == [whole, rest, whole, rest, whole, rest])
  }

  @Test("in the background others have it for four times as long as each write took", .timeLimit(.minutes(1)))
  func backgroundRests() async throws {
    let bench = try Bench(try FixturePackage.file(length: 2 << 20))
    let queue = bench.restingQueue()
    let pauses = Locked<[Duration]>([])
    let session = bench.session(clock: SlowClock()) { duration in
      let count = pauses.withLock { pauses in
        pauses.append(duration)
        return pauses.count
      }
      if count == 2 { queue.close() }
    }
    #expect(bench.progress.setPriority(.background))
    try bench.append([0, 1], to: queue)
    let result = try await session.writePieces(
      queue, buffers: bench.buffers, progress: bench.progress, stop: {})
    #expect(result.pieces.isComplete)
    #expect(pauses.current == [.milliseconds(20), .milliseconds(20)])
  }

  @Test(
    "a rest becomes as short as that of the background once no other is known to wait",
    .timeLimit(.minutes(1)))
  func restShortens() async throws {
    let bench = try Bench(try FixturePackage.file(length: 2 << 20))
    let queue = bench.restingQueue()
    let pauses = Locked<[Duration]>([])
    let session = bench.session(clock: SlowClock()) { duration in
      let count = pauses.withLock { pauses in
        pauses.append(duration)
        return pauses.count
      }
      bench.progress.setYielding(false)
      if count == 2 { queue.close() }
    }
    #expect(bench.progress.setPriority(.background))
    bench.progress.setYielding(true)
    try bench.append([0, 1], to: queue)
    let result = try await session.writePieces(
      queue, buffers: bench.buffers, progress: bench.progress, stop: {})
    // The first rest, of 120 ms, ends with its first step, which is longer than the 20 ms of the background.
    #expect(result.pieces.isComplete && pauses.current == [.milliseconds(100), .milliseconds(20)])
  }

  @Test(
    "behind a writer that rests one piece waits, and another one begins when that is taken or nothing rests")
  func oneWaits() throws {
    let bench = try Bench(try FixturePackage.file(length: 3 << 20))
    let queue = bench.restingQueue()
    let wakes = Locked(0)
    func takesMore() -> Bool { queue.takesMore { wakes.withLock { $0 += 1 } } }
    try bench.append([0], to: queue)
    #expect(takesMore(), "nothing rests")
    bench.progress.setYielding(true)
    #expect(!takesMore())
    #expect(queue.next()?.index == 0)
    #expect(wakes.current == 1 && takesMore())
    try bench.append([1], to: queue)
    #expect(!takesMore())
    queue.close()
    #expect(wakes.current == 2 && takesMore())
  }

  @Test("a rest ends when no other wants the disk any more", .timeLimit(.minutes(1))) func restEnds()
    async throws
  {
    let bench = try Bench(try FixturePackage.file(length: 2 << 20))
    let queue = bench.restingQueue()
    let pauses = Locked(0)
    let session = bench.session(clock: SlowClock()) { _ in
      pauses.withLock { $0 += 1 }
      bench.progress.setYielding(false)
      queue.close()
    }
    bench.progress.setYielding(true)
    try bench.append([0, 1], to: queue)
    let result = try await session.writePieces(
      queue, buffers: bench.buffers, progress: bench.progress, stop: {})
    #expect(result.pieces.isComplete && pauses.current == 1)
  }

  @Test("a session that let go of the medium goes on with what is there") func letGo() async throws {
    let bench = try Bench(try FixturePackage.file(length: 3 << 20))
    let session = bench.session()
    #expect(try await bench.write([0, 1], to: session).pieces.verifiedCount == 2)
    await session.letGo()
    #expect(try await bench.write([2], to: session).pieces.isComplete)
    _ = try await session.place(at: bench.target)
    try bench.expectPlaced()
  }

  @Test(
    "where the area cannot be opened the transfer is stopped, and gets back every buffer that it handed over")
  func unopened() async throws {
    let bench = try Bench(try FixturePackage.file(length: 4 << 20))
    let session = bench.session()
    bench.operations.answer { _, _ in EIO }
    let stops = Locked(0)
    await #expect(throws: SystemError.self) {
      _ = try await bench.write([0, 1, 2, 3], to: session, stop: { stops.withLock { $0 += 1 } })
    }
    #expect(stops.current == 1)
    bench.operations.answer(nil)
    for _ in 0..<4 { #expect(bench.buffers.acquire(otherwise: {}) != nil) }
  }

  @Test("after a write that failed, what is there is read, and counts", arguments: [ENOSPC, EIO, EROFS])
  func failedWrite(number: Int32) async throws {
    let bench = try Bench(try FixturePackage.file(length: 4 << 20))
    let session = bench.session()
    _ = try await bench.write([0, 1], to: session)
    bench.operations.answer { call, _ in call == .write ? number : nil }
    let result = try await bench.write([2], to: session)
    #expect((result.failure as? SystemError)?.number == number)
    #expect(result.pieces.verifiedCount == 2)
    bench.operations.answer(nil)
    #expect(try await session.open().verifiedCount == 2)
    #expect(try await bench.write([2, 3], to: session).pieces.isComplete)
    _ = try await session.place(at: bench.target)
    try bench.expectPlaced()
  }

  @Test(
    "a sync that fails voids what it did not sync, whether or not that can be removed (D8)",
    arguments: [true, false])
  func failedSync(canRemove: Bool) async throws {
    let bench = try Bench(try FixturePackage.file(length: 3 << 20))
    let session = bench.session()
    #expect(try await bench.write([0, 1, 2], to: session).pieces.isComplete)
    bench.operations.answer { call, _ in
      switch call {
      case .synchronize: EIO
      case .remove, .removeDirectory: canRemove ? nil : EROFS
      default: nil
      }
    }
    let failure = await #expect(throws: StepFailure.self) { _ = try await session.place(at: bench.target) }
    #expect(failure?.reason == .storageFailure)
    if !canRemove { await #expect(throws: SystemError.self) { _ = try await session.open() } }
    bench.operations.answer(nil)
    #expect(try await session.open().verifiedCount == 0, "a second sync is not believed")
    #expect(try await bench.write([0, 1, 2], to: session).pieces.isComplete)
    _ = try await session.place(at: bench.target)
    try bench.expectPlaced()
  }

  @Test("a staging area that was replaced under the session is read before anything counts (R9, K3)")
  func otherMedium() async throws {
    let bench = try Bench(try FixturePackage.file(length: 3 << 20))
    let session = bench.session()
    #expect(try await bench.write([0, 1, 2], to: session).pieces.isComplete)
    let area = bench.directory.path("library/.staging/1")
    try FileSystem.rename(area, to: area + ".gone")
    try FileSystem.createDirectories(area)
    #expect(try await session.open().verifiedCount == 0)
  }

  @Test("names that the file system refuses fail the download with their own reason (D3)")
  func names() async throws {
    let bench = try Bench(try FixturePackage.file(length: 1 << 20))
    let session = bench.session()
    _ = try await session.open()
    bench.operations.answer { call, name in call == .create && name.hasSuffix(".pdf") ? EINVAL : nil }
    let failure = try #require(try await bench.write([0], to: session).failure)
    let refused = StepFailure(failure)
    #expect(refused.reason == .nameRefused && refused.recovery == .giveUp)
    #expect(refused.cause == "openat injected: Invalid argument")
  }

  @Test("content is placed where a rename cannot refuse to replace (R11)") func plainRename() async throws {
    let bench = try Bench(try FixturePackage.file(length: 1 << 20))
    let session = bench.session()
    #expect(try await bench.write([0], to: session).pieces.isComplete)
    let isFirst = Locked(true)
    bench.operations.answer { call, _ in
      guard call == .rename else { return nil }
      return isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst ? EINVAL : nil
      }
    }
    _ = try await session.place(at: bench.target)
    try bench.expectPlaced()
  }

  @Test("reading, and waiting for the device, end with the task (R8)") func cancelled() async throws {
    let bench = try Bench(try FixturePackage.file(length: 4 << 20))
    #expect(try await bench.write([0, 1, 2, 3], to: bench.session()).pieces.isComplete)
    for isOpen in [false, true] {
      let session = bench.session()
      if isOpen { _ = try await session.open() }
      await withTaskGroup(of: Void.self) { group in
        group.cancelAll()
        group.addTask {
          await #expect(throws: CancellationError.self) { _ = try await session.place(at: bench.target) }
        }
      }
    }
    _ = try await bench.session().place(at: bench.target)
    try bench.expectPlaced()
  }

  @Test(
    "placing that is cancelled while a slow disk syncs begins no other sync, and leaves the rest to the next start"
  )
  func cancelledSync() async throws {
    for package in [try FixturePackage.folder(), try FixturePackage.file(length: 2 << 20)] {
      let bench = try Bench(package)
      let session = bench.session()
      for index in 0..<package.manifest.pieces.count { _ = try await bench.write([index], to: session) }
      let disk = SlowSyncs(bench.operations)
      let target = bench.target
      let placing = Task { _ = try await session.place(at: target) }
      await disk.firstSync()
      placing.cancel()
      disk.end()
      await #expect(throws: CancellationError.self) { try await placing.value }
      #expect(disk.syncs == 1)
      #expect(try FileSystem.status(of: target) == nil)
      let next = bench.session()
      #expect(try await next.open().isComplete)
      _ = try await next.place(at: target)
      try bench.expectPlaced()
    }
  }
}
