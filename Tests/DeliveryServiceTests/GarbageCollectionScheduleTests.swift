import BlobStore
import CoreTypes
import Database
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import Testing

@testable import DeliveryService

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
    database = try Database.open(path: directory.path("server.db"), migrations: Migrations.all)
    let blobs = try BlobStore.open(directory: directory.path, reserve: .zero)
    uploads = try UploadService.open(database: database, blobs: blobs, clock: clock, limits: UploadLimits())
    collector = GarbageCollector(
      database: database, blobs: blobs, uploads: uploads, clock: clock, rules: GarbageCollector.Rules())
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
    try await everyHour {
      #expect(timer.timeToNextSleeper == .seconds(3600))
      #expect(try await uploads.page(after: nil, limit: 10).items.count == 1)
      timer.advance(by: .seconds(3600))
      while try await !uploads.page(after: nil, limit: 10).items.isEmpty { await Task.yield() }
      await timer.waitForSleepers()
      #expect(timer.timeToNextSleeper == .seconds(3600))
    }
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
