import BlobStore
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliverySchema
import Files
import Glibc
import HTTPServer
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import ContentPublishing
@testable import DeliveryRecords

@Suite("A disk that fills up under an upload")
struct FullDiskTests {
  private let directory: TemporaryDirectory
  private let operations = FaultyFileOperations(failing: nil, number: ENOSPC)
  private let clock = ManualWallClock()
  private let bytes = (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func uploads(_ faults: FaultyFileOperations? = nil) throws -> UploadService {
    try UploadService.open(
      database: Database.open(path: directory.path("server.db"), migrations: Migrations.all),
      blobs: BlobStore.open(directory: directory.path, reserve: .zero, operations: faults ?? operations),
      clock: LifetimeClock(wall: clock, timer: SystemMonotonicClock(), log: Log(level: .error)),
      limits: UploadLimits())
  }

  @Test(
    "is 507, and what came before stays, for this server and the next",
    arguments: [FaultyFileOperations.Step.write, .synchronize, .create])
  func filling(step: FaultyFileOperations.Step) async throws {
    var id = ""
    do {
      let uploads = try uploads()
      let upload = try await uploads.create(NewUpload(length: ByteCount(bytes.count)), owner: "o")
      id = upload.id
      _ = try await uploads.append(
        RequestBody(Array(bytes[..<1000])), to: id, under: TusAppend(offset: .zero), onConflict: .fail)
      operations.fail(step)
      let problem = await #expect(throws: Problem.self) {
        try await uploads.append(
          RequestBody(Array(bytes[1000...])), to: id, under: TusAppend(offset: ByteCount(1000)),
          onConflict: .fail)
      }
      #expect(problem?.code == .outOfSpace)
      operations.fail(nil)
      let state = try await uploads.status(of: id, onConflict: .fail).state
      #expect((1000...5000).contains(state.offset.rawValue))
    }
    let uploads = try uploads()
    let offset = try await uploads.status(of: id, onConflict: .fail).state.offset
    #expect((1000...5000).contains(offset.rawValue))
    _ = try await uploads.append(
      RequestBody(Array(bytes[Int(offset.rawValue)...])), to: id, under: TusAppend(offset: offset),
      onConflict: .fail)
    #expect(try await uploads.takeOver(id).received.digest == .of(bytes))
  }

  @Test(
    "one that may not be written refuses what is appended, keeps what came before, and takes the rest afterwards",
    arguments: [FaultyFileOperations.Step.write, .synchronize])
  func readOnly(step: FaultyFileOperations.Step) async throws {
    let operations = FaultyFileOperations(failing: nil, number: EROFS)
    let uploads = try uploads(operations)
    let id = try await uploads.create(NewUpload(length: ByteCount(bytes.count)), owner: "o").id
    _ = try await uploads.append(
      RequestBody(Array(bytes[..<1000])), to: id, under: TusAppend(offset: .zero), onConflict: .fail)
    operations.fail(step)
    let error = await #expect(throws: BlobStoreError.self) {
      try await uploads.append(
        RequestBody(Array(bytes[1000...])), to: id, under: TusAppend(offset: ByteCount(1000)),
        onConflict: .fail)
    }
    // The router answers it 503 with a time to try again.
    #expect(error?.temporaryFailure == .storage)
    operations.fail(nil)
    let offset = try await uploads.status(of: id, onConflict: .fail).state.offset
    #expect((1000...5000).contains(offset.rawValue))
    _ = try await uploads.append(
      RequestBody(Array(bytes[Int(offset.rawValue)...])), to: id, under: TusAppend(offset: offset),
      onConflict: .fail)
    #expect(try await uploads.takeOver(id).received.digest == .of(bytes))
  }

  @Test("takes no checked byte either") func checked() async throws {
    let uploads = try uploads()
    let id = try await uploads.create(NewUpload(length: ByteCount(bytes.count)), owner: "o").id
    operations.fail(.create)
    await #expect(throws: Problem.self) {
      try await uploads.append(
        RequestBody(bytes), to: id, under: TusAppend(offset: .zero, checksum: .of(bytes, .sha256)),
        onConflict: .fail)
    }
    operations.fail(nil)
    #expect(try await uploads.status(of: id, onConflict: .fail).state.offset == .zero)
    _ = try await uploads.append(
      RequestBody(bytes), to: id, under: TusAppend(offset: .zero, checksum: .of(bytes, .sha256)),
      onConflict: .fail)
    #expect(try await uploads.takeOver(id).received.digest == .of(bytes))
  }
}
