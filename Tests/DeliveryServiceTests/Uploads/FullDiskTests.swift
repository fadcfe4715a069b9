import BlobStore
import Database
import Digests
import Glibc
import HTTPServer
import Measures
import PullboxAPI
import PullboxTesting
import Testing

@testable import DeliveryService

@Suite("A disk that fills up under an upload")
struct FullDiskTests {
  private let directory: TemporaryDirectory
  private let operations = FaultyFileOperations(failing: nil, number: ENOSPC)
  private let clock = ManualWallClock()
  private let bytes = (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func desk() throws -> UploadDesk {
    try UploadDesk.open(
      database: Database.open(path: directory.path("server.db"), migrations: Schema.migrations),
      blobs: BlobStore.open(directory: directory.path, reserve: .zero, operations: operations), clock: clock,
      limits: UploadLimits())
  }

  @Test(
    "is 507, and what came before stays, for this server and the next",
    arguments: [FaultyFileOperations.Step.write, .synchronize, .create])
  func filling(step: FaultyFileOperations.Step) async throws {
    var id = ""
    do {
      let desk = try desk()
      let upload = try await desk.create(NewUpload(length: ByteCount(bytes.count)), owner: "o")
      id = upload.id
      _ = try await desk.append(RequestBody(Array(bytes[..<1000])), to: id, TusAppend(offset: .zero), .yield)
      operations.fail(step)
      let problem = await #expect(throws: Problem.self) {
        try await desk.append(
          RequestBody(Array(bytes[1000...])), to: id, TusAppend(offset: ByteCount(1000)), .yield)
      }
      #expect(problem?.code == .outOfSpace)
      operations.fail(nil)
      let state = try await desk.status(of: id, .yield).state
      #expect((1000...5000).contains(state.offset.rawValue))
    }
    let desk = try desk()
    let offset = try await desk.status(of: id, .yield).state.offset
    #expect((1000...5000).contains(offset.rawValue))
    _ = try await desk.append(
      RequestBody(Array(bytes[Int(offset.rawValue)...])), to: id, TusAppend(offset: offset), .yield)
    #expect(try await desk.takeOver(id).received.digest == .of(bytes))
  }

  @Test("takes no checked byte either") func checked() async throws {
    let desk = try desk()
    let id = try await desk.create(NewUpload(length: ByteCount(bytes.count)), owner: "o").id
    operations.fail(.create)
    await #expect(throws: Problem.self) {
      try await desk.append(
        RequestBody(bytes), to: id, TusAppend(offset: .zero, checksum: .of(bytes, .sha256)), .yield)
    }
    operations.fail(nil)
    #expect(try await desk.status(of: id, .yield).state.offset == .zero)
    _ = try await desk.append(
      RequestBody(bytes), to: id, TusAppend(offset: .zero, checksum: .of(bytes, .sha256)), .yield)
    #expect(try await desk.takeOver(id).received.digest == .of(bytes))
  }
}
