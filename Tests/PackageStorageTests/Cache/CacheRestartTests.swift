import CoreTypes
import Crypto
import Files
import PullboxTesting
import SystemCalls
import Testing

@testable import PackageStorage

/// Tells what a cache believes of what it finds at its start.
@Suite("The cache of packages after an end", .timeLimit(.minutes(10)))
struct CacheRestartTests {
  private let directory: TemporaryDirectory
  private let sample = SamplePackage(length: (11 << 20) + 5)
  private var range: Range<Int64> { 0..<Int64(sample.bytes.count) }

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func file(in directory: String) -> String {
    let name = sample.digest.hexadecimal
    return "\(directory)/\(name.prefix(2))/\(name.dropFirst(2))"
  }

  private var live: String { directory.path("live") }

  /// Fills a cache with the first nine pieces and no other, hands it to `body`, and ends it in order.
  private func fill(_ body: (PackageCache) async throws -> Void = { _ in }) async throws {
    let fetcher = ScriptedFetcher(
      [sample],
      answer: { _, call in
        let error = PackageFetchError(.unavailable, "no more")
        return call.range.lowerBound == 0 ? .right : .failure(error, after: 1 << 20)
      })
    try await withCache(fetcher, in: live) { cache in
      let package = try await cache.open(sample.digest, as: sample.description)
      _ = try await package.holdAll(0..<9 << 20)
      try await body(cache)
    }
  }

  /// Copies a cache as it is, holes included: what a crash would leave.
  private func copy(to name: String) throws -> String {
    let path = directory.path(name)
    try FileSystem.createDirectory(path)
    for entry in try FileSystem.list(live) {
      if entry.kind == .directory {
        try FileSystem.createDirectory("\(path)/\(entry.name)")
        for file in try FileSystem.list("\(live)/\(entry.name)") {
          try copy("\(live)/\(entry.name)/\(file.name)", to: "\(path)/\(entry.name)/\(file.name)")
        }
      } else {
        try copy("\(live)/\(entry.name)", to: "\(path)/\(entry.name)")
      }
    }
    return path
  }

  private func copy(_ path: String, to newPath: String) throws {
    let file = try FileDescriptor.open(path, .readOnly)
    let copy = try FileDescriptor.open(newPath, .writeOnly, options: [.create, .exclusive])
    try copy.truncate(to: try file.status().length)
    for range in try file.allocatedRanges() {
      var bytes: [UInt8] = []
      try file.read(upTo: range.count, at: ByteCount(range.lowerBound), into: &bytes)
      try copy.write(bytes.span, at: ByteCount(range.lowerBound))
    }
  }

  /// Reads the whole package through a cache; returns the ranges that were fetched, in mebibytes and in their order in the package.
  private func fetched(in path: String) async throws -> [Range<Int64>] {
    let fetcher = ScriptedFetcher([sample])
    try await withCache(fetcher, in: path, setAside: { _, _ in Issue.record("it is whole") }) { cache in
      let package = try await cache.open(sample.digest, as: sample.description)
      #expect(try await package.send(range).hasSameBytes(as: sample.bytes))
    }
    return fetcher.calls.map(\.mebibytes).sorted { $0.lowerBound < $1.lowerBound }
  }

  @Test("after an end in order what was verified counts, and is not read to be compared")
  func inOrder() async throws {
    try await fill()
    let operations = FaultyFileOperations()
    let fetcher = ScriptedFetcher([sample])
    try await withCache(fetcher, in: live, operations: operations) { cache in
      let package = try await cache.open(sample.digest, as: sample.description)
      #expect(package.isPresent(0..<9 << 20))
      // The file of the pieces' digests is all that was read.
      #expect(operations.steps.filter { $0 == .read }.count == 2)
      #expect(try await package.send(range).hasSameBytes(as: sample.bytes))
    }
    #expect(fetcher.calls.map(\.mebibytes) == [9..<12])
  }

  @Test("after a crash each piece is compared once before it is used, and what is good is not fetched again")
  func crash() async throws {
    var path = ""
    try await fill { _ in path = try copy(to: "crashed") }
    let operations = FaultyFileOperations()
    let fetcher = ScriptedFetcher([sample])
    try await withCache(fetcher, in: path, operations: operations) { cache in
      let package = try await cache.open(sample.digest, as: sample.description)
      #expect(!package.isPresent(0..<1))
      #expect(package.hold(range) == 0)
      let before = operations.steps.filter { $0 == .read }.count
      #expect(try await package.send(0..<9 << 20).hasSameBytes(as: Array(sample.bytes[..<(9 << 20)])))
      #expect(operations.steps.filter { $0 == .read }.count == before + 9)
      #expect(try await package.send(0..<9 << 20).hasSameBytes(as: Array(sample.bytes[..<(9 << 20)])))
      #expect(operations.steps.filter { $0 == .read }.count == before + 9)
      #expect(fetcher.calls.isEmpty)
      #expect(try await package.send(range).hasSameBytes(as: sample.bytes))
      #expect(fetcher.calls.map(\.mebibytes) == [9..<12])
    }
  }

  @Test("after a crash bytes that are not those of the package are fetched again")
  func damaged() async throws {
    var path = ""
    try await fill { _ in path = try copy(to: "crashed") }
    let damaged = try FileDescriptor.open(file(in: path), .readWrite)
    try damaged.write([0xFF].span, at: .mebibytes(3))
    try damaged.punchHole(5 << 20..<6 << 20)
    #expect(try await fetched(in: path) == [3..<4, 5..<6, 9..<12])
  }

  @Test(
    "an index that is cut, of another run of the machine, or from before the file's last change is not believed"
  )
  func index() async throws {
    try await fill()
    let index = try FileSystem.read("\(live)/index", upTo: .mebibytes(1))
    let parsed = try #require(CacheIndex(decoding: index))
    #expect(parsed.packages[sample.digest]?.verified == (0..<12).map { $0 < 9 })
    func isBelieved(_ name: String, boot: String? = nil, _ change: ([UInt8]) -> [UInt8] = { $0 }) async throws
      -> Bool
    {
      let path = try copy(to: name)
      let status = try #require(try FileSystem.status(of: file(in: path)))
      let own = CacheIndex(
        bootIdentifier: boot ?? parsed.bootIdentifier,
        packages: parsed.packages.mapValues {
          .init(length: $0.length, changed: status.changed, uses: $0.uses, verified: $0.verified)
        })
      let bytes = change(own.encoded())
      try FileDescriptor.open("\(path)/index", .writeOnly, options: .truncate).write(bytes.span)
      return try await isThere(in: path)
    }
    #expect(try await isBelieved("as it was written") == true)
    #expect(try await isBelieved("empty", { _ in [] }) == false)
    #expect(try await isBelieved("cut", { Array($0.dropLast()) }) == false)
    #expect(try await isBelieved("half", { Array($0.prefix($0.count / 2)) }) == false)
    #expect(try await isBelieved("late", { Array($0.dropFirst()) }) == false)
    #expect(try await isBelieved("another run", boot: "another") == false)
    // The copy is another file than the one that the index tells of.
    #expect(try await isThere(in: try copy(to: "changed")) == false)
  }

  /// Whether the first nine pieces count as soon as the cache is opened.
  private func isThere(in path: String) async throws -> Bool {
    var isThere = false
    try await withoutEnd(in: path) { cache in
      isThere = try await cache.open(sample.digest, as: sample.description).isPresent(0..<9 << 20)
    }
    return isThere
  }

  @Test("an index counts once: a cache that is opened and not ended in order has none")
  func once() async throws {
    try await fill()
    #expect(try await isThere(in: live) == true)
    #expect(try await isThere(in: live) == false)
  }

  @Test("with other digests of its pieces nothing of a package counts that was compared with those before")
  func described() async throws {
    try await fill()
    var pieces = sample.description.pieces
    pieces[2] = .of([1])
    let other = PackageDescription(length: sample.description.length, pieces: pieces)
    let fetcher = ScriptedFetcher([sample])
    try await withCache(fetcher, in: live) { cache in
      let package = try await cache.open(sample.digest, as: other)
      #expect(!package.isPresent(0..<1))
      #expect(try await package.send(0..<2 << 20).hasSameBytes(as: Array(sample.bytes[..<(2 << 20)])))
      #expect(fetcher.calls.isEmpty)
      let error = await #expect(throws: PackageCacheError.self) {
        try await package.prepare(2 << 20..<3 << 20)
      }
      #expect(error?.code == .damaged)
    }
  }

  @Test("what a cache did not write is not taken for a package, and what it did not finish is removed")
  func strangers() async throws {
    try await fill()
    let folder = FileSystem.parent(of: file(in: live))
    try DurableFile.write([1].span, to: "\(folder)/\(String(repeating: "a", count: 62)).pieces")
    try DurableFile.write([1].span, to: "\(folder)/unknown")
    try DurableFile.write([1].span, to: "\(folder)/x.part")
    try FileSystem.createDirectory("\(live)/lost+found", permissions: 0o000)
    try await withCache(ScriptedFetcher([]), in: live) { cache in
      #expect(cache.figures.packages == 1)
      let names = Set(try FileSystem.list(folder).map(\.name))
      let own = FileSystem.lastPart(of: file(in: live))
      #expect(names == [own, own + ".pieces", "unknown"])
    }
  }

  @Test("a description and an index are read as they were written, and cut anywhere they are none")
  func formats() throws {
    let description = PackageDescription(
      length: sample.description.length, pieces: sample.description.pieces, document: Array("a\nb".utf8))
    let bytes = description.encoded()
    #expect(PackageDescription(decoding: bytes) == description)
    for count in stride(from: 0, to: bytes.count, by: 7) {
      #expect(PackageDescription(decoding: Array(bytes.prefix(count))) == nil)
    }
    let empty = PackageDescription(length: .zero, pieces: [])
    #expect(PackageDescription(decoding: empty.encoded()) == empty)
    let index = CacheIndex(
      bootIdentifier: "boot",
      packages: [
        sample.digest: .init(
          length: sample.description.length, changed: -7, uses: [9, 4_294_967_295],
          verified: (0..<12).map { $0 % 3 == 0 }),
        .of([]): .init(length: .zero, changed: 1, uses: [], verified: []),
      ])
    #expect(CacheIndex(decoding: index.encoded()) == index)
    let text = index.encoded()
    for count in stride(from: 0, to: text.count, by: 7) {
      #expect(CacheIndex(decoding: Array(text.prefix(count))) == nil)
    }
  }
}
