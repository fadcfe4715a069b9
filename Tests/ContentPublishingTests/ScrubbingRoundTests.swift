import BlobStore
import Commerce
import ContentDelivery
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliverySchema
import DeliveryTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import StorageTesting
import Testing

@testable import ContentPublishing
@testable import DeliveryRecords

@Suite("Rounds over the stored packages")
struct ScrubbingRoundTests {
  @Test("a package that is being read when an operator asks for a round is read again by it")
  func askedMeanwhile() async throws {
    let directory = try TemporaryDirectory()
    try NewDatabase.put(into: directory.path)
    let clock = ManualWallClock()
    let database = try Database.open(path: directory.path("server.db"), migrations: Migrations.all)
    let incoming = try BlobStore.open(directory: directory.path, reserve: .zero)
    let shelf = try MemoryShelf(incoming: incoming)
    let bytes: [UInt8] = [1, 2, 3]
    let digest = SHA256Digest.of(bytes)
    let writer = try await incoming.begin("upload", expectedLength: nil, limit: .mebibytes(1))
    try await writer.append(bytes, at: .zero)
    _ = try await shelf.put(writer, as: digest)
    let (product, now) = (try #require(ProductIdentifier("com.example.issue1")), clock.now())
    let version = try #require(ContentVersion("1.0"))
    try await database.write(locking: [.everything]) { connection in
      try ProductTable.put(Product(id: product, type: .nonConsumable), at: now, in: connection)
      try VersionTable.insert(
        VersionRecord(
          product: product, version: version, state: .draft, length: ByteCount(bytes.count), digest: digest,
          manifestDigest: digest, pieces: 1, files: 1, created: now), manifest: [], cover: nil, title: nil,
        in: connection)
    }
    let timer = SystemMonotonicClock()
    let scrubber = PackageScrubber(
      database: database, shelf: shelf,
      stops: RevocationList(meters: MeterRegistry(timer: timer), generation: Generation()), clock: clock,
      timer: timer, rules: .init(), log: Log(level: .error))
    shelf.setAfterReading {
      clock.advance(by: .seconds(1))
      shelf.set([9, 9, 9], as: digest)
      do {
        #expect(try await scrubber.ask().waiting == 1)
      } catch {
        Issue.record(error)
      }
    }
    try await scrubber.runRound()
    #expect(try await scrubber.report().faults.isEmpty)
    try await scrubber.runRound()
    #expect(try await scrubber.report().faults.map(\.digest) == [digest])
  }
}
