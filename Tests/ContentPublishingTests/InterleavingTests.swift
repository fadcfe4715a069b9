import BlobStore
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliverySchema
import DeliveryTesting
import Files
import HTTPServer
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import ContentPublishing
@testable import DeliveryRecords

@Suite("Several clients on one upload")
struct InterleavingTests {
  private static let length = 40_000

  /// A request that was answered well: its bytes stand from `offset` on.
  private struct Accepted: Sendable {
    var offset: Int
    var bytes: [UInt8]
  }

  @Test(
    "every byte of the file is of the one request that was answered for its place, whatever the order",
    arguments: 1...6)
  func mixed(seed: Int) async throws {
    let directory = try TemporaryDirectory()
    try NewDatabase.put(into: directory.path)
    let uploads = try UploadService.open(
      database: Database.open(path: directory.path("server.db"), migrations: Migrations.all),
      blobs: BlobStore.open(directory: directory.path, reserve: .zero),
      clock: LifetimeClock(wall: ManualWallClock(), timer: SystemMonotonicClock(), log: Log(level: .error)),
      limits: UploadLimits())
    let id = try await uploads.create(NewUpload(length: ByteCount(Self.length)), owner: "o").id
    let accepted = try await withThrowingTaskGroup { group in
      // Two that yield and one that insists, each with bytes of its own.
      for client in 1...3 {
        group.addTask {
          try await send(
            as: UInt8(client), seed: UInt64(seed * 10 + client), to: id, uploads,
            client == 3 ? .preempt : .fail)
        }
      }
      return try await group.reduce(into: [Accepted]()) { $0 += $1 }
    }.sorted { $0.offset < $1.offset }
    var expected: [UInt8] = []
    for part in accepted {
      #expect(part.offset == expected.count, "two requests were answered for one place")
      expected += part.bytes
    }
    #expect(expected.count == Self.length)
    let file = try FileSystem.read(directory.path("incoming/\(id)"), upTo: .mebibytes(1))
    #expect(file == expected)
    #expect(try await uploads.takeOver(id).received.digest == .of(expected))
  }

  /// Sends parts of random length, some with a checksum, to where the upload is thought to stand, until it is complete.
  private func send(
    as client: UInt8, seed: UInt64, to id: String, _ uploads: UploadService,
    _ policy: UploadService.LockConflictPolicy
  ) async throws -> [Accepted] {
    var random = LinearGenerator(state: seed)
    var accepted: [Accepted] = []
    var offset = 0
    while offset < Self.length {
      let count = min(Int.random(in: 1...3000, using: &random), Self.length - offset)
      let bytes = (0..<count).map { _ in client << 6 | UInt8.random(in: 0..<64, using: &random) }
      var append = TusAppend(offset: ByteCount(offset), contentLength: ByteCount(count))
      if Bool.random(using: &random) { append.checksum = .of(bytes, .sha1) }
      do {
        let state = try await uploads.append(RequestBody(bytes), to: id, under: append, onConflict: policy)
          .state
        #expect(state.offset == ByteCount(offset + count))
        accepted.append(Accepted(offset: offset, bytes: bytes))
        offset += count
      } catch let problem as Problem where problem.code == .uploadOffsetMismatch {
        offset = Int(try #require(problem.expectedOffset))
      } catch let problem as Problem where problem.code == .uploadLocked {
        await Task.yield()
      }
    }
    return accepted
  }
}

/// The same numbers for the same seed.
private struct LinearGenerator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ state >> 29
  }
}
