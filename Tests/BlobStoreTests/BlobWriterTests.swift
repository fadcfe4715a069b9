import BlobStore
import CoreTypes
import Crypto
import Files
import PullboxTesting
import SystemCalls
import Testing

@Suite struct BlobWriterTests {
  private let directory: TemporaryDirectory
  private let store: BlobStore
  private let limit = ByteCount.mebibytes(4)
  private let content = Array(SampleBytes.all[..<2_500_000])

  init() throws {
    directory = try TemporaryDirectory()
    store = try BlobStore.open(directory: directory.path, reserve: .zero)
  }

  private func code(_ body: () async throws -> Void) async -> BlobStoreError.Code? {
    await #expect(throws: BlobStoreError.self) { try await body() }?.code
  }

  @Test("bytes that do not continue the file are refused, and the error says where it ends")
  func wrongOffset()
    async throws
  {
    let incoming = try await store.begin("a", expectedLength: nil, limit: limit)
    #expect(try await incoming.append(Array(content[..<100]), at: .zero) == ByteCount(100))
    for offset in [0, 99, 101] {
      let error = await #expect(throws: BlobStoreError.self) {
        try await incoming.append([1], at: ByteCount(offset))
      }
      #expect(error?.code == .wrongOffset)
      #expect(error?.offset == ByteCount(100))
    }
    #expect(await incoming.offset == ByteCount(100))
  }

  @Test("the limit itself is allowed, one byte more is not, and adds nothing") func limitIsKept() async throws
  {
    let incoming = try await store.begin("a", expectedLength: nil, limit: ByteCount(100))
    try await incoming.append(Array(content[..<100]), at: .zero)
    #expect(await code { try await incoming.append([1], at: ByteCount(100)) } == .tooLarge)
    #expect(try await incoming.commit().digest == SHA256Digest.of(content[..<100]))
  }

  @Test("an announced length beyond the limit is refused before a byte is received") func announcedTooLarge()
    async throws
  {
    let code = await code {
      _ = try await store.begin("a", expectedLength: ByteCount(101), limit: ByteCount(100))
    }
    #expect(code == .tooLarge)
    #expect(try FileSystem.list(directory.path("incoming")) == [])
  }

  @Test("what would eat into the reserve is refused as out of space before a byte is received") func reserve()
    async throws
  {
    let full = try BlobStore.open(directory: directory.path, reserve: .gibibytes(1 << 30))
    #expect(try await full.freeSpace() == .zero)
    #expect(
      await code { _ = try await full.begin("a", expectedLength: ByteCount(1), limit: limit) } == .outOfSpace)
    #expect(await code { _ = try await full.begin("a", expectedLength: nil, limit: limit) } == .outOfSpace)
    #expect(try FileSystem.list(directory.path("incoming")) == [])
  }

  @Test(
    "an identifier that is no plain name is refused",
    arguments: ["", ".", "..", "a/b", "a.durable", "é", "a b", String(repeating: "a", count: 129)])
  func identifiers(identifier: String) async {
    #expect(
      await code { _ = try await store.begin(identifier, expectedLength: nil, limit: limit) }
        == .invalidIdentifier)
    #expect(
      await code { _ = try await store.resume(identifier, limit: limit) }
        == .invalidIdentifier)
  }

  @Test("an identifier is begun once") func exists() async throws {
    let first = try await store.begin("a", expectedLength: nil, limit: limit)
    #expect(await code { _ = try await store.begin("a", expectedLength: nil, limit: limit) } == .exists)
    #expect(await first.offset == .zero)
  }

  @Test("two cannot receive into one file at a time") func inUse() async throws {
    let first = try await store.begin("a", expectedLength: nil, limit: limit)
    #expect(await code { _ = try await store.resume("a", limit: limit) } == .inUse)
    #expect(await first.offset == .zero)
  }

  @Test("nothing begun is nothing to resume") func resumeMissing() async {
    #expect(await code { _ = try await store.resume("a", limit: limit) } == .notFound)
  }

  @Test(
    "a file resumed in the middle of a piece ends with the same digests",
    arguments: [0, 1, 1 << 20, 1_500_000])
  func resumes(cut: Int) async throws {
    do {
      let incoming = try await store.begin("a", expectedLength: nil, limit: limit)
      try await incoming.append(Array(content[..<cut]), at: .zero)
    }
    // Another process finds this: a store that knows nothing of the first object.
    let again = try BlobStore.open(directory: directory.path, reserve: .zero)
    let incoming = try await again.resume("a", limit: limit)
    #expect(await incoming.offset == ByteCount(cut))
    try await incoming.append(Array(content[cut...]), at: ByteCount(cut))
    let blob = try await incoming.commit()
    var whole = PieceDigests()
    whole.update(content.span)
    #expect(blob == whole.finalize())
    #expect(blob.pieces.count == 3)
  }

  @Test("how much of a file counts is known without reading it, and of a file that is not there, nothing")
  func receivedLength() async throws {
    #expect(try await store.receivedLength(of: "a") == nil)
    let incoming = try await store.begin("a", expectedLength: nil, limit: limit)
    try await incoming.append(Array(content[..<100]), at: .zero)
    #expect(try await store.receivedLength(of: "a") == ByteCount(100))
    try await incoming.expect(.of(content, .sha1))
    try await incoming.append(Array(content[100..<200]), at: ByteCount(100))
    #expect(try await store.receivedLength(of: "a") == ByteCount(100))
  }

  @Test("after a restart of the machine only what was synced counts") func resumesAfterRestart() async throws
  {
    do {
      let incoming = try await store.begin("a", expectedLength: nil, limit: limit)
      try await incoming.append(Array(content[..<1000]), at: .zero)
      try await incoming.synchronize()
      try await incoming.append(Array(content[1000..<2000]), at: ByteCount(1000))
    }
    let record = Array("another-run 1000\n".utf8)
    try DurableFile.write(record.span, to: directory.path("incoming/a.durable"))
    let incoming = try await store.resume("a", limit: limit)
    #expect(await incoming.offset == ByteCount(1000))
    #expect(try FileSystem.status(of: directory.path("incoming/a"))?.length == ByteCount(1000))
  }

  @Test("without a record of what was synced nothing counts") func resumesWithoutRecord() async throws {
    do {
      let incoming = try await store.begin("a", expectedLength: nil, limit: limit)
      try await incoming.append(Array(content[..<1000]), at: .zero)
    }
    try FileSystem.removeFile(directory.path("incoming/a.durable"))
    #expect(try await store.resume("a", limit: limit).offset == .zero)
  }

  @Test("a commit that expects another digest is refused and the file stays") func mismatch() async throws {
    let incoming = try await store.begin("a", expectedLength: nil, limit: limit)
    try await incoming.append([1, 2, 3], at: .zero)
    let expected = SHA256Digest.of([9])
    #expect(await code { _ = try await incoming.commit(expecting: expected) } == .digestMismatch)
    #expect(try await store.list().isEmpty)
    #expect(try await incoming.commit(expecting: SHA256Digest.of([1, 2, 3])).length == ByteCount(3))
  }

  @Test("a second commit answers as the first did; nothing more is accepted") func commitTwice() async throws
  {
    let incoming = try await store.begin("a", expectedLength: nil, limit: limit)
    try await incoming.append([1, 2, 3], at: .zero)
    let blob = try await incoming.commit()
    #expect(try await incoming.commit() == blob)
    #expect(await code { try await incoming.append([4], at: ByteCount(3)) } == .finished)
    #expect(await code { try await incoming.discard() } == .finished)
  }

  @Test("a discarded file is gone") func discard() async throws {
    let incoming = try await store.begin("a", expectedLength: nil, limit: limit)
    try await incoming.append([1], at: .zero)
    try await incoming.discard()
    #expect(try FileSystem.list(directory.path("incoming")) == [])
    #expect(await code { _ = try await incoming.commit() } == .finished)
  }
}
