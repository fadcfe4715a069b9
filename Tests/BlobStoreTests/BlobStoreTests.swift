import BlobStore
import CoreTypes
import Crypto
import Files
import PullboxTesting
import SystemCalls
import Testing

@Suite struct BlobStoreTests {
  private let directory: TemporaryDirectory
  private let store: BlobStore
  private let content = Array("the bytes of an issue".utf8)

  init() throws {
    directory = try TemporaryDirectory()
    store = try BlobStore.open(directory: directory.path, reserve: .zero)
  }

  private func put(_ bytes: [UInt8], as identifier: String) async throws -> BlobDescription {
    let incoming = try await store.begin(identifier, expectedLength: nil, limit: .mebibytes(8))
    try await incoming.append(bytes, at: .zero)
    return try await incoming.commit()
  }

  private func read(_ digest: SHA256Digest) async throws -> [UInt8] {
    let file = try await store.open(digest)
    var bytes: [UInt8] = []
    try file.read(upTo: 1 << 20, at: .zero, into: &bytes)
    return bytes
  }

  @Test("a committed blob is found by its digest and nothing is left of its receiving") func commits()
    async throws
  {
    let blob = try await put(content, as: "a")
    #expect(blob.digest == SHA256Digest.of(content))
    #expect(blob.length == ByteCount(content.count))
    #expect(try await read(blob.digest) == content)
    #expect(try await store.length(of: blob.digest) == blob.length)
    #expect(try await store.list() == [blob.digest: blob.length])
    #expect(try FileSystem.list(directory.path("incoming")) == [])
  }

  @Test("its file lies under the first two digits, then the other sixty-two") func layout() async throws {
    let text = try await put(content, as: "a").digest.hexadecimal
    let path = directory.path("blobs/\(text.prefix(2))/\(text.dropFirst(2))")
    #expect(try FileSystem.status(of: path)?.kind == .regular)
  }

  @Test("an empty blob is a blob") func empty() async throws {
    let incoming = try await store.begin("a", expectedLength: .zero, limit: .mebibytes(1))
    let blob = try await incoming.commit()
    #expect(blob.pieces == [])
    #expect(try await store.length(of: blob.digest) == .zero)
  }

  @Test("the same bytes again are the same blob") func sameBytes() async throws {
    let first = try await put(content, as: "a")
    let second = try await put(content, as: "b")
    #expect(first == second)
    #expect(try await store.list() == [first.digest: first.length])
    #expect(try FileSystem.list(directory.path("incoming")) == [])
  }

  @Test("a blob that is not there is not found") func missing() async throws {
    let digest = SHA256Digest.of(content)
    let error = await #expect(throws: BlobStoreError.self) { _ = try await store.open(digest) }
    #expect(error?.code == .notFound)
    #expect(try await store.length(of: digest) == nil)
    #expect(try await store.remove(digest) == false)
  }

  @Test("who has a removed blob open goes on reading it") func remove() async throws {
    let digest = try await put(content, as: "a").digest
    let file = try await store.open(digest)
    #expect(try await store.remove(digest))
    #expect(try await store.list().isEmpty)
    var bytes: [UInt8] = []
    try file.read(upTo: 100, at: .zero, into: &bytes)
    #expect(bytes == content)
  }

  @Test("the blobs are there after reopening; what is not a blob is not listed") func reopens() async throws {
    let digest = try await put(content, as: "a").digest
    try DurableFile.write(content.span, to: directory.path("blobs/stray"))
    let stray = "\(FileSystem.parent(of: directory.path("blobs/\(digest.hexadecimal.prefix(2))/x")))/stray"
    try DurableFile.write(content.span, to: stray)
    let again = try BlobStore.open(directory: directory.path, reserve: .zero)
    #expect(try await again.list() == [digest: ByteCount(content.count)])
  }

  @Test(
    "an incoming file is removed unless somebody receives into it, with all that was written down about it")
  func removeIncoming() async throws {
    let receiving = try await store.begin("receiving", expectedLength: nil, limit: .mebibytes(1))
    try await receiving.append(content, at: .zero)
    do {
      _ = try await store.begin("stale", expectedLength: nil, limit: .mebibytes(1))
    }
    let record = Array("x 0\n".utf8)
    try DurableFile.write(record.span, to: directory.path("incoming/rest.durable"))
    #expect(
      try await store.listIncoming()
        == ["receiving": ByteCount(content.count), "stale": .zero, "rest": .zero])
    #expect(try await store.removeIncoming("receiving") == false)
    #expect(try await store.removeIncoming("stale"))
    #expect(try await store.removeIncoming("rest"))
    #expect(try await store.removeIncoming("never"))
    #expect(
      try FileSystem.list(directory.path("incoming")).map(\.name).sorted()
        == ["receiving", "receiving.durable"])
    _ = try await receiving.commit()
  }

  @Test("a store that measures knows what its blobs hold together") func measures() async throws {
    _ = try await put(content, as: "a")
    #expect(store.storedLength == nil)
    let measuring = try BlobStore.open(directory: directory.path, reserve: .zero, measures: true)
    #expect(measuring.storedLength == ByteCount(content.count))
    for identifier in ["b", "c"] {
      let incoming = try await measuring.begin(identifier, expectedLength: nil, limit: .mebibytes(1))
      try await incoming.append([1, 2, 3], at: .zero)
      _ = try await incoming.commit()
    }
    #expect(measuring.storedLength == ByteCount(content.count + 3))
    try await measuring.remove(SHA256Digest.of(content))
    try await measuring.remove(SHA256Digest.of(content))
    #expect(measuring.storedLength == ByteCount(3))
  }
}
