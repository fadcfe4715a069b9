import BlobStore
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliverySchema
import DeliveryTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import StorageTesting
import Synchronization
import Testing

@testable import ContentPublishing
@testable import DeliveryRecords
@testable import PackageStorage

/// A package goes in three steps: condemned, removed, forgotten. Between any two of them the server may die, or an upload
/// of the same bytes may be completed.
@Suite("Packages on their way out")
struct CondemnedPackageTests {
  private let directory: TemporaryDirectory
  private let database: Database
  private let incoming: BlobStore
  private let shelf: MemoryShelf
  private let uploads: UploadService
  private let collector: GarbageCollector
  private let clock = ManualWallClock()
  private let timer = ManualMonotonicClock()
  private let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
  private var digest: SHA256Digest { .of(bytes) }

  /// The work that happens between the removal's beginning and its end.
  private let whileRemoving: Locked<(@Sendable () async -> Void)?>

  init() throws {
    directory = try TemporaryDirectory()
    try NewDatabase.put(into: directory.path)
    database = try Database.open(path: directory.path("server.db"), migrations: Migrations.all)
    incoming = try BlobStore.open(directory: directory.path, reserve: .zero)
    let whileRemoving = Locked<(@Sendable () async -> Void)?>(nil)
    self.whileRemoving = whileRemoving
    shelf = try MemoryShelf(incoming: incoming) { await whileRemoving.current?() }
    let locks = PackageLocks()
    let lifetimes = LifetimeClock(wall: clock, timer: timer, log: Log(level: .error))
    uploads = try UploadService.open(
      database: database, blobs: incoming, shelf: shelf, packageLocks: locks, clock: lifetimes,
      limits: UploadLimits())
    collector = GarbageCollector(
      database: database, shelf: shelf, locks: locks, uploads: uploads, clock: lifetimes,
      rules: GarbageCollector.Rules(grace: .zero))
  }

  private func set(_ action: @escaping @Sendable () async -> Void) {
    whileRemoving.withLock { $0 = action }
  }

  /// On the shelf, and of no use.
  private func putUnneeded() async throws {
    try await putUnneeded(bytes)
  }

  private func putUnneeded(_ bytes: [UInt8]) async throws {
    let writer = try await incoming.begin("before", expectedLength: nil, limit: .mebibytes(1))
    try await writer.append(bytes, at: .zero)
    _ = try await shelf.put(writer, as: .of(bytes))
  }

  private func lease(_ holder: String) -> WorkerLease {
    WorkerLease("collection", holder: holder, database: database, clock: clock)
  }

  /// Lets the collector run once by itself, with a lease of that holder.
  private func collectByItself(_ holder: String) async {
    var collector = collector
    collector.lease = lease(holder)
    let (leased, timer) = (collector, ManualMonotonicClock())
    await withTaskGroup { group in
      group.addTask { await leased.run(every: .seconds(3600), clock: timer, log: Log(level: .error)) }
      await timer.waitForSleepers()
      timer.advance(by: .seconds(3600))
      await timer.waitForSleepers()
      group.cancelAll()
    }
  }

  /// An upload of the same bytes that is complete and was not taken over yet.
  private func completeUpload() async throws -> String {
    let upload = Upload(
      id: "upload", owner: "ada", length: ByteCount(bytes.count), metadata: "", awaitsEnd: false,
      created: clock.now(), touched: clock.now())
    try await database.write(locking: [.upload("upload")]) { try UploadTable.insert(upload, in: $0) }
    let writer = try await incoming.begin("upload", expectedLength: nil, limit: .mebibytes(1))
    try await writer.append(bytes, at: .zero)
    return upload.id
  }

  private func collect() async throws -> [SHA256Digest] {
    try await collector.run(isDryRun: false, by: "ada").blobs.map(\.digest)
  }

  private func condemned() async throws -> [SHA256Digest] {
    try await database.read { try GarbageCollectionTable.condemned(in: $0).map(\.digest) }
  }

  private func collections() async throws -> [AuditEntry] {
    try await database.read {
      try AuditTable.page(
        matching: AuditTable.Filter(action: "content.collect"), limit: 10, in: $0
      ).map(\.entry)
    }
  }

  @Test("it is condemned while its file goes, and forgotten afterwards, with one entry in the audit log")
  func steps() async throws {
    try await putUnneeded()
    let seen = Locked<[SHA256Digest]>([])
    let database = database
    set {
      let rows = try? await database.read { try GarbageCollectionTable.condemned(in: $0).map(\.digest) }
      seen.withLock { $0 = rows ?? [] }
    }
    #expect(try await collect() == [digest])
    #expect(seen.current == [digest])
    #expect(try await condemned().isEmpty)
    #expect(try await shelf.list().isEmpty)
    #expect(try await collections().map(\.detail) == ["1000 bytes"])
    #expect(try await collect().isEmpty)
  }

  @Test(
    "a server that died after it condemned, or after it removed, brings it to its end, and tells it once",
    arguments: [true, false])
  func death(fileIsThere: Bool) async throws {
    try await putUnneeded()
    let (digest, now) = (digest, clock.now())
    try await database.write(locking: [.content(digest)]) {
      try GarbageCollectionTable.condemn(digest, length: ByteCount(1000), at: now, in: $0)
    }
    if !fileIsThere { _ = try await shelf.remove(digest) }
    #expect(try await collect().contains(digest))
    #expect(try await shelf.list().isEmpty)
    #expect(try await condemned().isEmpty)
    #expect(try await collections().map(\.detail) == ["1000 bytes"])
  }

  @Test("a collection that lasts for longer than its lease keeps it to its end")
  func renewsLease() async throws {
    for number in 0..<5 { try await putUnneeded(bytes + [UInt8(number)]) }
    let (clock, other, taken) = (clock, lease("other"), Locked(0))
    set {
      clock.advance(by: .seconds(20))
      if (try? await other.isHeld()) != false { taken.withLock { $0 += 1 } }
    }
    await collectByItself("this")
    #expect(try await shelf.list().isEmpty)
    #expect(taken.current == 0)
    #expect(try await !other.isHeld())
  }

  @Test("a collection that lost its lease to another process removes nothing more")
  func losesLease() async throws {
    for number in 0..<5 { try await putUnneeded(bytes + [UInt8(number)]) }
    let (clock, other) = (clock, lease("other"))
    set {
      clock.advance(by: LeaseMachine.duration)
      _ = try? await other.isHeld()
    }
    await collectByItself("this")
    #expect(try await shelf.list().count == 4)
    #expect(try await other.isHeld())
  }

  @Test("a removal that failed leaves it condemned, and the next collection repeats it")
  func failure() async throws {
    try await putUnneeded()
    shelf.failRemovals(as: .outOfSpace)
    await #expect(throws: BlobStoreError.self) { _ = try await collect() }
    #expect(try await condemned() == [digest])
    #expect(try await collections().isEmpty)
    shelf.failRemovals(as: nil)
    #expect(try await collect().contains(digest))
    #expect(try await collections().count == 1)
  }

  @Test(
    "a removal that a store has not answered, and may still do, keeps uploads of the same bytes away until its lease ends"
  )
  func unanswered() async throws {
    try await putUnneeded()
    shelf.failRemovals(as: .unreachable)
    await #expect(throws: BlobStoreError.self) { _ = try await collect() }
    let (digest, now) = (digest, clock.now())
    for (moment, isRunning) in [(now, true), (now + PackageRemoval.longest, false)] {
      let found = try await database.read { try PackageRemoval.isRunning(of: digest, at: moment, in: $0) }
      #expect(found == isRunning)
    }
  }

  @Test("an upload of the same bytes that is completed meanwhile waits, and its package is there afterwards")
  func uploadMeanwhile() async throws {
    try await putUnneeded()
    let upload = try await completeUpload()
    let (began, begin) = AsyncStream.makeStream(of: Void.self)
    let (mayEnd, end) = AsyncStream.makeStream(of: Void.self)
    set {
      begin.yield()
      for await _ in mayEnd { break }
    }
    let (collector, uploads) = (collector, uploads)
    try await withThrowingTaskGroup { group in
      group.addTask { _ = try await collector.run(isDryRun: false, by: "ada") }
      for await _ in began { break }
      group.addTask { _ = try await uploads.takeOver(upload) }
      // The upload may run as far as it can.
      for _ in 0..<100 { await Task.yield() }
      end.yield()
      try await group.waitForAll()
    }
    #expect(try await shelf.list() == [digest: ByteCount(1000)])
    #expect(try await condemned().isEmpty)
    #expect(try await collect().isEmpty)
    #expect(try await shelf.list().count == 1)
  }

  @Test(
    "an upload waits while another process removes a package of its bytes, and is refused where that takes long"
  )
  func removalElsewhere() async throws {
    try await putUnneeded()
    let (digest, now, removal) = (digest, clock.now(), PackageRemoval(of: digest))
    let hasBegun = try await database.write(locking: [.content(digest)]) {
      try removal.begin(at: now, in: $0)
    }
    #expect(hasBegun)
    #expect(try await !collector.removeIfUnneeded(digest))
    let upload = try await completeUpload()
    let (uploads, timer) = (uploads, timer)
    let refused = Task { try await uploads.takeOver(upload) }
    for _ in 0..<40 {
      await timer.waitForSleepers()
      timer.advance(by: PackageRemoval.pause)
    }
    let refusal = await #expect(throws: Problem.self) { _ = try await refused.value }
    #expect(refusal?.code == .unavailable && refusal?.retryAfterSeconds != nil)
    #expect(try await shelf.list().count == 1)
    let waiting = Task { try await uploads.takeOver(upload) }
    await timer.waitForSleepers()
    try await database.write(locking: [.content(digest)]) { try removal.end(in: $0) }
    timer.advance(by: PackageRemoval.pause)
    _ = try await waiting.value
    #expect(try await !collector.removeIfUnneeded(digest))
  }

  @Test("a removal that another process left behind ends by itself")
  func removalLeftBehind() async throws {
    try await putUnneeded()
    let (digest, now) = (digest, clock.now())
    _ = try await database.write(locking: [.content(digest)]) {
      try PackageRemoval(of: digest).begin(at: now, in: $0)
    }
    clock.advance(by: PackageRemoval.longest)
    #expect(try await collector.removeIfUnneeded(digest))
    #expect(try await shelf.list().isEmpty)
  }

  @Test("an upload that is completed before it is condemned keeps it, whatever the plan said")
  func uploadBefore() async throws {
    try await putUnneeded()
    _ = try await uploads.takeOver(try await completeUpload())
    #expect(try await !collector.removeIfUnneeded(digest))
    #expect(try await collect().isEmpty)
    #expect(try await shelf.list().count == 1)
  }

  @Test(
    "an upload that is completed after the server died in between keeps its package",
    arguments: [true, false])
  func uploadAfterDeath(fileIsThere: Bool) async throws {
    try await putUnneeded()
    let (digest, now) = (digest, clock.now())
    try await database.write(locking: [.content(digest)]) {
      try GarbageCollectionTable.condemn(digest, length: ByteCount(1000), at: now, in: $0)
    }
    if !fileIsThere { _ = try await shelf.remove(digest) }
    _ = try await uploads.takeOver(try await completeUpload())
    #expect(try await collect().isEmpty)
    #expect(try await shelf.list() == [digest: ByteCount(1000)])
  }
}
