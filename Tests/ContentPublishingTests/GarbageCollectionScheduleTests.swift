import BlobStore
import CoreTypes
import Database
import DeliveryModel
import DeliverySchema
import DeliveryTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import Testing

@testable import ContentPublishing
@testable import DeliveryRecords
@testable import PackageStorage

@Suite("Garbage collection by itself")
struct GarbageCollectionScheduleTests {
  private let directory: TemporaryDirectory
  private let database: Database
  private let clock = ManualWallClock()
  private let timer = ManualMonotonicClock()
  private let uploads: UploadService
  private let collector: GarbageCollector

  init() throws {
    directory = try TemporaryDirectory()
    try NewDatabase.put(into: directory.path)
    database = try Database.open(path: directory.path("server.db"), migrations: Migrations.all)
    let blobs = try BlobStore.open(directory: directory.path, reserve: .zero)
    let lifetimes = LifetimeClock(wall: clock, timer: timer, log: Log(level: .error))
    let locks = PackageLocks()
    uploads = try UploadService.open(
      database: database, blobs: blobs, shelf: blobs, packageLocks: locks, clock: lifetimes,
      limits: UploadLimits())
    collector = GarbageCollector(
      database: database, shelf: blobs, locks: locks, uploads: uploads, clock: lifetimes,
      rules: GarbageCollector.Rules())
  }

  /// Runs the collector every hour while `body` moves the clocks.
  private func everyHour(_ body: () async throws -> Void) async throws {
    let (collector, timer) = (collector, timer)
    try await withThrowingTaskGroup { group in
      group.addTask { await collector.run(every: .seconds(3600), clock: timer, log: Log(level: .error)) }
      await timer.waitForSleepers()
      try await body()
      group.cancelAll()
    }
  }

  @Test("it collects an interval after the start, and an interval after each end")
  func periodic() async throws {
    _ = try await uploads.create(NewUpload(length: ByteCount(10)), owner: "ada")
    clock.set(clock.now() + UploadLimits().lifetime)
    timer.advance(by: UploadLimits().lifetime)
    try await everyHour {
      #expect(timer.timeToNextSleeper == .seconds(3600))
      #expect(try await uploads.page(after: nil, limit: 10).items.count == 1)
      timer.advance(by: .seconds(3600))
      while try await !uploads.page(after: nil, limit: 10).items.isEmpty { await Task.yield() }
      await timer.waitForSleepers()
      #expect(timer.timeToNextSleeper == .seconds(3600))
    }
  }

  @Test("an upload outlives a wall clock that is set forward by days, and by no more than that")
  func clockSetForward() async throws {
    let upload = try await uploads.create(NewUpload(length: ByteCount(10)), owner: "ada")
    let later = try await uploads.create(NewUpload(length: ByteCount(10)), owner: "ada")
    clock.advance(by: .seconds(30 * 86_400))
    #expect(try await collector.run(isDryRun: false, by: "ada").uploads.isEmpty)
    #expect(uploads.expiry(of: upload) == upload.touched + .seconds(31 * 86_400))
    let newer = try await uploads.create(NewUpload(length: ByteCount(10)), owner: "ada")
    #expect(uploads.expiry(of: newer) == newer.touched + .seconds(86_400))
    for _ in 0..<24 {
      #expect(try await uploads.page(after: nil, limit: 10).items.count == 3)
      clock.advance(by: .seconds(3600))
      timer.advance(by: .seconds(3600))
    }
    let removed = try await collector.run(isDryRun: false, by: "ada").uploads.map(\.upload)
    #expect(Set(removed) == [upload.id, later.id, newer.id])
  }

  @Test("a collection that failed is repeated within a minute")
  func failing() async throws {
    database.close()
    try await everyHour {
      timer.advance(by: .seconds(3600))
      await timer.waitForSleepers()
      let pause = try #require(timer.timeToNextSleeper)
      #expect(pause >= .seconds(30) && pause <= .seconds(60))
    }
  }

  @Test("an interval of zero never collects")
  func never() async {
    await collector.run(every: .zero, clock: timer, log: Log(level: .error))
    #expect(timer.timeToNextSleeper == nil)
  }
}
