import BlobStore
import CoreTypes
import Crypto
import PullboxTesting
import StorageTesting
import SystemCalls
import Testing

@testable import PackageStorage

/// The rules that delivery and publishing rely on. A further shelf passes them before it is used.
@Suite("Every shelf of packages")
struct PackageShelfTests {
  enum Kind: CaseIterable {
    case blobStore
    case memory
    /// An object store, where the environment names one.
    case store

    static var allCases: [Kind] {
      StoreUnderTest.present == nil ? [.blobStore, .memory] : [.blobStore, .memory, .store]
    }
  }

  private let directory: TemporaryDirectory
  private let incoming: BlobStore
  private static let bytes = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
  private let bytes = Self.bytes

  init() throws {
    directory = try TemporaryDirectory()
    incoming = try BlobStore.open(directory: directory.path, reserve: .zero)
  }

  private func withShelf(_ kind: Kind, _ body: (any PackageShelf) async throws -> Void) async throws {
    switch kind {
    case .blobStore: try await body(incoming)
    case .memory: try await body(try MemoryShelf(incoming: incoming))
    case .store:
      try await withStoreShelf(
        try #require(StoreUnderTest.present).fresh(), cacheIn: directory.path("cache"), body)
    }
  }

  private func received(_ bytes: [UInt8], _ name: String = "upload") async throws -> BlobWriter {
    let writer = try await incoming.begin(name, expectedLength: nil, limit: .mebibytes(1))
    try await writer.append(bytes, at: .zero)
    return writer
  }

  private func contents(_ digest: SHA256Digest, on shelf: any PackageShelf) async throws -> [UInt8] {
    try Self.read(try await shelf.openWhole(digest).file)
  }

  private static func read(_ file: borrowing FileDescriptor) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try file.read(upTo: 1 << 20, at: .zero, into: &bytes)
    return bytes
  }

  private func code(_ body: () async throws -> Void) async throws -> BlobStoreError.Code? {
    do {
      try await body()
      return nil
    } catch let error as BlobStoreError {
      return error.code
    }
  }

  @Test(
    "what was put there can be read, is in the list with its length, and is known for what it is",
    arguments: Kind.allCases)
  func put(kind: Kind) async throws {
    try await withShelf(kind) { shelf async throws in
      #expect(try await shelf.list().isEmpty)
      let digest = SHA256Digest.of(bytes)
      let blob = try await shelf.put(try await received(bytes), as: digest)
      #expect(blob.digest == digest)
      #expect(blob.length == ByteCount(70_000))
      #expect(try await contents(digest, on: shelf) == bytes)
      #expect(try await shelf.list() == [digest: ByteCount(70_000)])
      #expect(try await shelf.describe(digest) == blob)
      #expect(try await incoming.listIncoming().isEmpty)
    }
  }

  @Test("a package that is put there twice is there once", arguments: Kind.allCases)
  func twice(kind: Kind) async throws {
    try await withShelf(kind) { shelf async throws in
      let digest = SHA256Digest.of(bytes)
      let first = try await shelf.put(try await received(bytes, "a"), as: digest)
      let second = try await shelf.put(try await received(bytes, "b"), as: digest)
      #expect(first == second)
      #expect(try await shelf.list().count == 1)
      #expect(try await incoming.listIncoming().isEmpty)
      #expect(try await contents(digest, on: shelf) == bytes)
    }
  }

  @Test("what comes takes the place of a package whose file was damaged meanwhile (M12)")
  func replacesDamaged() async throws {
    let digest = SHA256Digest.of(bytes)
    _ = try await incoming.put(try await received(bytes, "a"), as: digest)
    let name = digest.hexadecimal
    let path = directory.path("blobs/\(name.prefix(2))/\(name.dropFirst(2))")
    try FileDescriptor.open(path, .readWrite).truncate(to: ByteCount(10))
    let open = try await incoming.open(digest)
    _ = try await incoming.put(try await received(bytes, "b"), as: digest)
    #expect(try await contents(digest, on: incoming) == bytes)
    let held = try Self.read(open)
    #expect(held.count == 10)
  }

  @Test("bytes of another digest are refused, and nothing is there", arguments: Kind.allCases)
  func otherDigest(kind: Kind) async throws {
    try await withShelf(kind) { shelf async throws in
      let writer = try await received(bytes)
      #expect(try await code { try await shelf.put(writer, as: .of([1])) } == .digestMismatch)
      #expect(try await shelf.list().isEmpty)
      // The call can be repeated with the right one.
      try await shelf.put(writer, as: .of(bytes))
      #expect(try await shelf.list().count == 1)
    }
  }

  @Test("what is not there is not found, and is not removed", arguments: Kind.allCases)
  func missing(kind: Kind) async throws {
    try await withShelf(kind) { shelf async throws in
      #expect(try await code { _ = try await shelf.openWhole(.of([1])) } == .notFound)
      #expect(try await code { _ = try await shelf.describe(.of([1])) } == .notFound)
      #expect(try await !shelf.remove(.of([1])))
    }
  }

  @Test("what was removed is gone for all who come, and stays for who has it open", arguments: Kind.allCases)
  func remove(kind: Kind) async throws {
    try await withShelf(kind) { shelf async throws in
      let digest = SHA256Digest.of(bytes)
      try await shelf.put(try await received(bytes), as: digest)
      let open = try await shelf.openWhole(digest)
      #expect(try await shelf.remove(digest))
      #expect(try await !shelf.remove(digest))
      #expect(try await shelf.list().isEmpty)
      #expect(try await code { _ = try await shelf.openWhole(digest) } == .notFound)
      let held = try Self.read(open.file)
      #expect(held == bytes)
      // And it can come back.
      try await shelf.put(try await received(bytes, "again"), as: digest)
      #expect(try await contents(digest, on: shelf) == bytes)
    }
  }

  @Test("the lock of a package admits one at a time, in order, and lets other packages be")
  func locks() async throws {
    let locks = PackageLocks()
    let (entered, enter) = AsyncStream.makeStream(of: String.self)
    let (released, release) = AsyncStream.makeStream(of: Void.self)
    await withTaskGroup { group in
      group.addTask {
        await locks.withLock(.of([1])) {
          enter.yield("first")
          for await _ in released { break }
          enter.yield("first is done")
        }
      }
      var events = entered.makeAsyncIterator()
      #expect(await events.next() == "first")
      group.addTask { await locks.withLock(.of([1])) { _ = enter.yield("second") } }
      await locks.withLock(.of([2])) { _ = enter.yield("another package") }
      #expect(await events.next() == "another package")
      release.yield()
      #expect(await events.next() == "first is done")
      #expect(await events.next() == "second")
    }
  }
}
