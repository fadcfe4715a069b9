import BlobStore
import CoreTypes
import Crypto
import Files
import PullboxTesting
import SystemCalls
import Testing

@Suite struct BlobWriterCheckingTests {
  private let directory: TemporaryDirectory
  private let store: BlobStore
  private let limit = ByteCount.mebibytes(4)
  private let content = Array(SampleBytes.all[..<1_500_000])

  init() throws {
    directory = try TemporaryDirectory()
    store = try BlobStore.open(directory: directory.path, reserve: .zero)
  }

  private func begin() async throws -> BlobWriter {
    try await store.begin("a", expectedLength: nil, limit: limit)
  }

  /// Opens the blob as a process does that comes after one that was killed: the descriptor's lock is gone with its last holder.
  private func resumeElsewhere() async throws -> BlobWriter {
    try await BlobStore.open(directory: directory.path, reserve: .zero).resume("a", limit: limit)
  }

  @Test(
    "bytes with the right checksum count, and the digests go on", arguments: ChecksumAlgorithm.allCases)
  func right(algorithm: ChecksumAlgorithm) async throws {
    let incoming = try await begin()
    try await incoming.append(Array(content[..<100]), at: .zero)
    try await incoming.expect(.of(content[100..<1_200_000], algorithm))
    try await incoming.append(Array(content[100..<7000]), at: ByteCount(100))
    try await incoming.append(Array(content[7000..<1_200_000]), at: ByteCount(7000))
    #expect(try await incoming.verifyChecksum())
    try await incoming.append(Array(content[1_200_000...]), at: ByteCount(1_200_000))
    #expect(try await incoming.commit().digest == .of(content))
  }

  @Test("what is behind a length is taken off, on the disk too, and the digests go on from there")
  func truncation() async throws {
    let incoming = try await begin()
    try await incoming.append(content, at: .zero)
    try await incoming.synchronize()
    try await incoming.truncate(to: ByteCount(content.count))
    try await incoming.truncate(to: ByteCount(1_100_000))
    #expect(await incoming.offset == ByteCount(1_100_000))
    #expect(try FileSystem.status(of: directory.path("incoming/a"))?.length == ByteCount(1_100_000))
    try await incoming.append([9], at: ByteCount(1_100_000))
    #expect(try await incoming.commit().digest == .of(Array(content[..<1_100_000]) + [9]))
  }

  @Test("a range of what was received has its digest")
  func rangeDigest() async throws {
    let incoming = try await begin()
    try await incoming.append(content, at: .zero)
    let digest = try await incoming.digest(of: ByteCount(5)..<ByteCount(1_300_000))
    #expect(digest == .of(Array(content[5..<1_300_000])))
    #expect(try await incoming.digest(of: .zero ..< .zero) == .of([]))
  }

  @Test("bytes with a wrong checksum are taken off again, on the disk too, and others may follow")
  func wrong() async throws {
    let incoming = try await begin()
    try await incoming.append(Array(content[..<100]), at: .zero)
    try await incoming.expect(.of([1, 2, 3], .sha256))
    try await incoming.append(Array(content[100...]), at: ByteCount(100))
    #expect(try await incoming.verifyChecksum() == false)
    #expect(await incoming.offset == ByteCount(100))
    #expect(try FileSystem.status(of: directory.path("incoming/a"))?.length == ByteCount(100))
    try await incoming.append(Array(content[100...]), at: ByteCount(100))
    #expect(try await incoming.commit().digest == .of(content))
  }

  @Test("bytes that were given up before the verdict are taken off again") func rollBack() async throws {
    let incoming = try await begin()
    try await incoming.expect(.of(content, .sha1))
    try await incoming.append(Array(content[..<100]), at: .zero)
    try await incoming.rollBack()
    #expect(await incoming.offset == .zero)
    try await incoming.rollBack()
    try await incoming.append(content, at: .zero)
    #expect(try await incoming.commit().digest == .of(content))
  }

  @Test("a kill between the writing and the verdict leaves none of the bytes") func killed() async throws {
    do {
      let incoming = try await begin()
      try await incoming.append(Array(content[..<100]), at: .zero)
      try await incoming.expect(.of(content[100...], .sha256))
      try await incoming.append(Array(content[100...]), at: ByteCount(100))
    }
    do {
      let incoming = try await resumeElsewhere()
      #expect(await incoming.offset == ByteCount(100))
      #expect(try FileSystem.status(of: directory.path("incoming/a"))?.length == ByteCount(100))
      // And what follows without a checksum counts again, whenever the next kill comes.
      try await incoming.append(Array(content[100..<500]), at: ByteCount(100))
    }
    #expect(await (try resumeElsewhere()).offset == ByteCount(500))
  }

  @Test(
    "when the verdict cannot be written down, the bytes do not count",
    arguments: [FaultyFileOperations.Step.synchronize, .rename, .synchronizeDirectory, .create])
  func verdictFails(step: FaultyFileOperations.Step) async throws {
    let operations = FaultyFileOperations(failing: nil)
    do {
      let store = try BlobStore.open(directory: directory.path, reserve: .zero, operations: operations)
      let incoming = try await store.begin("a", expectedLength: nil, limit: limit)
      try await incoming.append(Array(content[..<100]), at: .zero)
      try await incoming.expect(.of(content[100...], .sha256))
      try await incoming.append(Array(content[100...]), at: ByteCount(100))
      operations.fail(step)
      await #expect(throws: BlobStoreError.self) { _ = try await incoming.verifyChecksum() }
      #expect(await incoming.offset == ByteCount(100))
    }
    #expect(await (try resumeElsewhere()).offset == ByteCount(100))
  }
}
