import BlobStore
import CoreTypes
import Crypto
import ObjectStore
import PullboxTesting
import StorageTesting
import SystemCalls
import Testing

@testable import PackageStorage

/// Parts of uploads in a store in memory, and in the one that the environment names.
@Suite("Parts of uploads in an object store", .timeLimit(.minutes(5)))
struct PartShelfTests {
  /// The stores to try.
  enum Store: CaseIterable {
    case memory, environment

    static var present: [Store] { StoreUnderTest.present == nil ? [.memory] : allCases }
  }

  private let directory: TemporaryDirectory
  private let incoming: BlobStore
  private let bytes = SamplePackage(length: 5000).bytes
  private let limit = Duration.seconds(60)

  init() throws {
    directory = try TemporaryDirectory()
    incoming = try BlobStore.open(directory: directory.path, reserve: .zero)
  }

  /// Runs `body` with a shelf, a client of the same store, and a file that has the bytes.
  private func withShelf(
    in kind: Store, _ body: (StoreShelf, ObjectStore, BlobWriter) async throws -> Void
  ) async throws {
    let memory = kind == .memory ? try FakeObjectStore() : nil
    let tested = try memory?.tested ?? #require(StoreUnderTest.present?.fresh())
    let writer = try await incoming.begin("upload", expectedLength: nil, limit: .mebibytes(1))
    try await writer.append(bytes, at: .zero)
    try await withStoreShelf(tested, cacheIn: directory.path("cache")) { shelf in
      try await body(shelf, try ObjectStore(tested), writer)
    }
    await memory?.stop()
  }

  private func put(
    _ range: Range<Int>, of writer: BlobWriter, as name: UploadPartName, on shelf: StoreShelf
  ) async throws {
    try await shelf.putPart(
      name, ByteCount(range.lowerBound)..<ByteCount(range.upperBound), of: writer,
      digest: .of(Array(bytes[range])))
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
    "a part is the range of its upload, below a name of its own, until it is removed",
    arguments: Store.present)
  func parts(store kind: Store) async throws {
    try await withShelf(in: kind) { shelf, store, writer in
      let (first, second) = (
        UploadPartName(upload: "upload", part: "0-a"), UploadPartName(upload: "upload", part: "3000-b")
      )
      try await put(0..<3000, of: writer, as: first, on: shelf)
      try await put(3000..<5000, of: writer, as: second, on: shelf)
      #expect(try await shelf.part(first, length: ByteCount(3000)) == Array(bytes[..<3000]))
      #expect(try await shelf.part(second, length: ByteCount(2000)) == Array(bytes[3000...]))
      let key = ObjectKey("incoming/upload/3000-b")
      #expect(try await store.bytes(of: key, upTo: .mebibytes(1), within: limit) == Array(bytes[3000...]))
      #expect(Set(try await shelf.listParts()) == [first, second])
      #expect(try await shelf.list().isEmpty, "a part is no package")
      for _ in 0..<2 { try await shelf.removePart(first) }
      #expect(try await shelf.listParts() == [second])
      #expect(try await code { _ = try await shelf.part(first, length: ByteCount(3000)) } == .notFound)
    }
  }

  @Test("other bytes than the digest says are refused, and nothing is there then", arguments: Store.present)
  func otherBytes(store kind: Store) async throws {
    try await withShelf(in: kind) { shelf, _, writer in
      let name = UploadPartName(upload: "upload", part: "0-a")
      let refusal = try await code {
        try await shelf.putPart(name, .zero..<ByteCount(100), of: writer, digest: .of([1]))
      }
      #expect(refusal == .digestMismatch)
      #expect(try await code { _ = try await shelf.part(name, length: ByteCount(100)) } == .notFound)
    }
  }

  @Test("a part that is shorter than it is to be is no part", arguments: Store.present)
  func shortPart(store kind: Store) async throws {
    try await withShelf(in: kind) { shelf, _, writer in
      let name = UploadPartName(upload: "upload", part: "0-a")
      try await put(0..<100, of: writer, as: name, on: shelf)
      #expect(try await code { _ = try await shelf.part(name, length: ByteCount(101)) } != nil)
    }
  }

  @Test("a name that cannot be an object's is refused; other objects are no parts", arguments: Store.present)
  func names(store kind: Store) async throws {
    try await withShelf(in: kind) { shelf, store, writer in
      for upload in ["", "a\u{1}", String(repeating: "a", count: 1025)] {
        let refusal = try await code {
          try await put(0..<100, of: writer, as: UploadPartName(upload: upload, part: "0-a"), on: shelf)
        }
        #expect(refusal == .invalidIdentifier)
      }
      for other in ["incoming/readme", "incoming/a/b/c", "incoming.txt"] {
        try await store.put(ObjectKey(other), from: .bytes([1]), digest: .of([1]), within: limit)
      }
      #expect(try await shelf.listParts().isEmpty)
    }
  }

  @Test("no part is removed from a bucket that is another installation's", arguments: Store.present)
  func otherInstallation(store kind: Store) async throws {
    try await withShelf(in: kind) { shelf, store, writer in
      let name = UploadPartName(upload: "upload", part: "0-a")
      try await put(0..<100, of: writer, as: name, on: shelf)
      let other = Array(#"{"installation":"other"}"#.utf8)
      try await store.put(ObjectKey("pullbox.json"), from: .bytes(other), digest: .of(other), within: limit)
      #expect(try await code { try await shelf.removePart(name) } != nil)
      #expect(try await shelf.listParts() == [name])
    }
  }
}
