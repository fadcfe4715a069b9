import BlobStore
import CoreTypes
import Crypto
import ObjectStore
import PullboxTesting
import StorageTesting
import SystemCalls
import Testing

@testable import PackageStorage

/// The rules of a shelf in an object store beyond the contract of all shelves.
@Suite("Packages in an object store", .enabled(if: StoreUnderTest.present != nil), .timeLimit(.minutes(5)))
struct StoreShelfTests {
  private let directory: TemporaryDirectory
  private let incoming: BlobStore
  private let tested: StoreUnderTest
  private let store: ObjectStore
  private let limit = Duration.seconds(60)

  init() throws {
    directory = try TemporaryDirectory()
    incoming = try BlobStore.open(directory: directory.path, reserve: .zero)
    tested = try #require(StoreUnderTest.present).fresh()
    store = try ObjectStore(tested)
  }

  private func withShelf(_ body: (StoreShelf) async throws -> Void) async throws {
    try await withStoreShelf(tested, cacheIn: directory.path("cache"), body)
  }

  private func put(_ bytes: [UInt8], on shelf: StoreShelf, _ name: String = "upload") async throws {
    let writer = try await incoming.begin(name, expectedLength: nil, limit: .mebibytes(64))
    try await writer.append(bytes, at: .zero)
    try await shelf.put(writer, as: .of(bytes))
  }

  private func code(_ body: () async throws -> Void) async throws -> BlobStoreError.Code? {
    do {
      try await body()
      return nil
    } catch let error as BlobStoreError {
      return error.code
    }
  }

  private func installationError(_ body: () async throws -> Void) async throws -> StoreInstallationError? {
    do {
      try await body()
      return nil
    } catch let error as StoreInstallationError {
      return error
    }
  }

  @Test("a package is the object packages/ab/cdef…, and others are no packages")
  func names() async throws {
    try await withShelf { shelf async throws in
      let bytes = SamplePackage(length: 3000).bytes
      try await put(bytes, on: shelf)
      let name = SHA256Digest.of(bytes).hexadecimal
      let key = ObjectKey("packages/\(name.prefix(2))/\(name.dropFirst(2))")
      #expect(try await store.bytes(of: key, upTo: .mebibytes(1), within: limit) == bytes)
      for other in [
        "packages/readme", "packages/\(name)", "packages/x\(name.prefix(1))/\(name.dropFirst(2))",
      ] {
        try await store.put(ObjectKey(other), from: .bytes([1]), digest: .of([1]), within: limit)
      }
      #expect(try await shelf.list() == [.of(bytes): ByteCount(3000)])
    }
  }

  @Test("other bytes of the right length are never taken for a package that no version describes yet")
  func otherBytes() async throws {
    try await withShelf { shelf async throws in
      let bytes = SamplePackage(length: 3000).bytes
      var others = bytes
      others[2000] ^= 1
      try await put(bytes, on: shelf)
      let name = SHA256Digest.of(bytes).hexadecimal
      let key = ObjectKey("packages/\(name.prefix(2))/\(name.dropFirst(2))")
      try await store.put(key, from: .bytes(others), digest: .of(others), within: limit)
      #expect(try await code { _ = try await shelf.openWhole(.of(bytes)) } == .unreadable)
      // The right ones again, which no description of the others stands in the way of.
      try await store.put(key, from: .bytes(bytes), digest: .of(bytes), within: limit)
      let file = try await shelf.openWhole(.of(bytes))
      var read: [UInt8] = []
      try file.file.read(upTo: 4000, at: .zero, into: &read)
      #expect(read == bytes)
    }
  }

  @Test("a bucket of another installation is refused, and one with packages that names none")
  func otherInstallation() async throws {
    try await withShelf { shelf async throws in
      let other = StoreInstallation(identifier: "other", store: store)
      #expect(try await installationError { try await other.claim() } == .other("tested"))
      // The owner may come again.
      try await StoreInstallation(identifier: "tested", store: store).claim()
      let bytes = SamplePackage(length: 3000).bytes
      try await put(bytes, on: shelf)
      try await store.delete(ObjectKey("pullbox.json"), within: limit)
      #expect(try await installationError { try await other.claim() } == .unmarked("other"))
      #expect(
        try await installationError {
          try await StoreInstallation(identifier: "tested", store: store).claim()
        }
          == .unmarked("tested"))
    }
  }

  @Test("nothing is listed for collection or removed unless the bucket names this installation")
  func unmarked() async throws {
    try await withShelf { shelf async throws in
      let bytes = SamplePackage(length: 3000).bytes
      try await put(bytes, on: shelf)
      for document in [nil, "{\"installation\":\"other\"}", "{}"] {
        try await store.delete(ObjectKey("pullbox.json"), within: limit)
        if let document {
          let bytes = Array(document.utf8)
          try await store.put(
            ObjectKey("pullbox.json"), from: .bytes(bytes), digest: .of(bytes), within: limit)
        }
        #expect(try await code { _ = try await shelf.list() } == .inputOutput)
        #expect(try await code { _ = try await shelf.remove(.of(bytes)) } == .inputOutput)
      }
      #expect(try await shelf.reader(of: .of(bytes)).length == ByteCount(3000))
    }
  }

  @Test("a package of several blocks is read whole, and described, from the store alone")
  func whole() async throws {
    let sample = SamplePackage(length: (9 << 20) + 5)
    try await withShelf { shelf async throws in
      try await put(sample.bytes, on: shelf)
      let description = try await shelf.describe(sample.digest)
      #expect(description.pieces == sample.description.pieces)
      let file = try await shelf.openWhole(sample.digest)
      var bytes: [UInt8] = []
      try file.file.read(upTo: sample.bytes.count + 1, at: .zero, into: &bytes)
      #expect(bytes.hasSameBytes(as: sample.bytes))
      #expect(shelf.cache.figures.fetchedBytes == ByteCount(sample.bytes.count))
    }
  }

  @Test("an object that was replaced by other bytes is damaged, and whole again once the right ones are put")
  func damaged() async throws {
    let sample = SamplePackage(length: 3000)
    try await withShelf { shelf async throws in
      try await put(sample.bytes, on: shelf)
      let before = try await shelf.reader(of: sample.digest).identity
      let other = [UInt8](repeating: 9, count: 3000)
      try await store.put(.package(sample.digest), from: .bytes(other), digest: .of(other), within: limit)
      // The description is known, as it is of a package that a version has.
      let package = try await shelf.cache.open(sample.digest, as: sample.description)
      let found = await cacheCode { () throws(PackageCacheError) in try await package.prepare(0..<1) }
      #expect(found == .damaged)
      #expect(try await shelf.reader(of: sample.digest).identity != before)
      try await put(sample.bytes, on: shelf, "again")
      try await package.prepare(0..<1)
    }
  }

  private func cacheCode(_ body: () async throws(PackageCacheError) -> Void) async -> PackageCacheError.Code?
  {
    do throws(PackageCacheError) {
      try await body()
      return nil
    } catch {
      return error.code
    }
  }

  @Test("the bytes of all packages are counted, each once")
  func measured() async throws {
    let (first, second) = (SamplePackage(length: 3000), SamplePackage(length: 500, number: 1))
    try await withShelf { shelf async throws in
      try await put(first.bytes, on: shelf)
      #expect(shelf.storedLength == nil)
      try await shelf.measure()
      #expect(shelf.storedLength == ByteCount(3000))
      try await put(first.bytes, on: shelf, "again")
      try await put(second.bytes, on: shelf, "second")
      #expect(shelf.storedLength == ByteCount(3500))
      try await shelf.remove(first.digest)
      #expect(shelf.storedLength == ByteCount(500))
    }
  }

  @Test("a store that answers puts, gives back and deletes")
  func trial() async throws {
    try await StoreTrial(store).run()
    #expect(try await store.list(within: limit).objects.isEmpty)
  }
}
