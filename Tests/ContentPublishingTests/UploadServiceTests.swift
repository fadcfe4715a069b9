import BlobStore
import CoreTypes
import Database
import DeliveryModel
import DeliverySchema
import HTTPServer
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import Testing

@testable import ContentPublishing
@testable import DeliveryRecords

@Suite("Uploads, whatever their protocol")
struct UploadServiceTests {
  @Test("so many requests receive bytes at once; another is told when to come again, and its upload stays")
  func running() async throws {
    let directory = try TemporaryDirectory()
    var limits = UploadLimits()
    limits.running = 0
    func open() throws -> UploadService {
      try UploadService.open(
        database: Database.open(path: directory.path("server.db"), migrations: Migrations.all),
        blobs: BlobStore.open(directory: directory.path, reserve: .zero),
        clock: LifetimeClock(wall: ManualWallClock(), timer: SystemMonotonicClock(), log: Log(level: .error)),
        limits: limits)
    }
    func add(_ id: String, _ uploads: UploadService) async throws -> ByteCount {
      try await uploads.append(
        RequestBody([1, 2, 3]), to: id, under: TusAppend(offset: .zero), onConflict: .preempt
      ).state.offset
    }
    var id = ""
    do {
      let closed = try open()
      id = try await closed.create(NewUpload(length: ByteCount(3)), owner: "o").id
      let name = id
      let refusal = await #expect(throws: Problem.self) { _ = try await add(name, closed) }
      #expect(refusal?.code == .unavailable)
      #expect(refusal?.retryAfterSeconds == 5)
    }
    limits.running = 1
    let other = try open()
    for _ in 0..<2 {
      let next = try await other.create(NewUpload(length: ByteCount(3)), owner: "o").id
      #expect(try await add(next, other) == ByteCount(3))
    }
    #expect(try await add(id, other) == ByteCount(3))
  }

  @Test(
    "bytes that come too slowly are 408, a connection that breaks or chunks that do are 400, too many are 413",
    arguments: [
      (RequestBodyError.Code.timedOut, 408), (.connectionClosed, 400), (.malformedChunk, 400),
      (.tooLarge, 413),
      (.cancelled, 423),
    ])
  func brokenBodies(code: RequestBodyError.Code, status: Int) {
    #expect((UploadService.problem(RequestBodyError(code)) as? Problem)?.status == status)
  }
}
