import BlobStore
import CoreTypes
import Crypto
import Dispatch
import Files
import Glibc
import PullboxTesting
import Synchronization
import SystemCalls
import Testing

/// Chunks as an upload brings them: large enough to be hashed on other threads while they are written.
@Suite("Hashing beside writing") struct BlobWriterHashingTests {
  private let directory: TemporaryDirectory
  private let operations = FaultyFileOperations(failing: nil, number: ENOSPC)
  private let hashers = BlockingPool(name: "test", threads: 1)
  private let limit = ByteCount.mebibytes(4)
  private let content = Array(SampleBytes.all[..<2_500_000])

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func begin(_ identifier: String = "a") async throws -> BlobWriter {
    try await BlobStore.open(
      directory: directory.path, reserve: .zero, operations: operations, hashers: hashers
    ).begin(identifier, expectedLength: nil, limit: limit)
  }

  private func fileLength() throws -> ByteCount? {
    try FileSystem.status(of: directory.path("incoming/a"))?.length
  }

  @Test(
    "the digests are those of the bytes, however long the chunks are", arguments: [32_767, 32_768, 262_144])
  func digests(chunk: Int) async throws {
    let incoming = try await begin()
    var offset = ByteCount.zero
    for start in stride(from: 0, to: content.count, by: chunk) {
      offset = try await incoming.append(
        Array(content[start..<min(start + chunk, content.count)]), at: offset)
    }
    var expected = PieceDigests()
    expected.update(content.span)
    #expect(try await incoming.commit() == expected.finalize())
    #expect(try FileSystem.status(of: directory.path("incoming/a")) == nil)
  }

  @Test("a write that fails waits for no hasher that is behind, and the same bytes can come again")
  func writeFails() async throws {
    let incoming = try await begin()
    try await incoming.append(Array(content[..<100_000]), at: .zero)
    operations.fail(.write)
    let gate = DispatchSemaphore(value: 0)
    let held = hashers.start { () throws(Never) in gate.wait() }
    let error = await #expect(throws: BlobStoreError.self) {
      try await incoming.append(Array(content[100_000...]), at: ByteCount(100_000))
    }
    #expect(error?.code == .outOfSpace)
    #expect(await incoming.offset == ByteCount(100_000))
    #expect(try fileLength() == ByteCount(100_000))
    gate.signal()
    await BlockingThread(name: "test").run { held.get() }
    operations.fail(nil)
    try await incoming.append(Array(content[100_000...]), at: ByteCount(100_000))
    #expect(try await incoming.commit().digest == .of(content))
  }

  @Test("no chunk is asked for before the one before it is hashed: what waits in memory is one chunk")
  func waitsForHashers() async throws {
    let incoming = try await begin()
    let gate = DispatchSemaphore(value: 0)
    let held = hashers.start { () throws(Never) in gate.wait() }
    let isTaken = Flag()
    async let offset = {
      let offset = try await incoming.append(content, at: .zero)
      isTaken.raise()
      return offset
    }()
    while try fileLength() != ByteCount(content.count) { await Task.yield() }
    #expect(!isTaken.isRaised)
    gate.signal()
    #expect(try await offset == ByteCount(content.count))
    await BlockingThread(name: "test").run { held.get() }
    #expect(try await incoming.commit().digest == .of(content))
  }

  @Test("a write that fails adds nothing to a checksum either", arguments: ChecksumAlgorithm.allCases)
  func writeFailsUnderChecksum(algorithm: ChecksumAlgorithm) async throws {
    let incoming = try await begin()
    try await incoming.append(Array(content[..<50]), at: .zero)
    try await incoming.expect(.of(content[50...], algorithm))
    try await incoming.append(Array(content[50..<200_000]), at: ByteCount(50))
    operations.fail(.write)
    await #expect(throws: BlobStoreError.self) {
      try await incoming.append(Array(content[200_000...]), at: ByteCount(200_000))
    }
    operations.fail(nil)
    try await incoming.append(Array(content[200_000...]), at: ByteCount(200_000))
    #expect(try await incoming.verifyChecksum())
    #expect(try await incoming.commit().digest == .of(content))
  }

  @Test("bytes with a wrong checksum are taken off the digests as well") func wrongChecksum() async throws {
    let incoming = try await begin()
    try await incoming.append(Array(content[..<1_100_000]), at: .zero)
    try await incoming.expect(.of([1], .sha256))
    try await incoming.append(Array(content[1_200_000...]), at: ByteCount(1_100_000))
    #expect(try await incoming.verifyChecksum() == false)
    try await incoming.append(Array(content[1_100_000...]), at: ByteCount(1_100_000))
    #expect(try await incoming.commit().digest == .of(content))
  }

  @Test("files that share one hasher keep their bytes apart") func shared() async throws {
    let store = try BlobStore.open(directory: directory.path, reserve: .zero, hashers: hashers)
    try await withThrowingTaskGroup { group in
      for number in 0..<4 {
        let bytes = Array(content[(number * 1000)...])
        group.addTask {
          let incoming = try await store.begin("\(number)", expectedLength: nil, limit: limit)
          for start in stride(from: 0, to: bytes.count, by: 300_000) {
            try await incoming.append(
              Array(bytes[start..<min(start + 300_000, bytes.count)]), at: ByteCount(start))
          }
          #expect(try await incoming.commit().digest == .of(bytes))
        }
      }
      try await group.waitForAll()
    }
  }
}

private final class Flag: Sendable {
  private let state = Mutex(false)
  var isRaised: Bool { state.withLock { $0 } }
  func raise() { state.withLock { $0 = true } }
}
