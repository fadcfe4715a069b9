import CoreTypes
import Crypto
import Files
import PullboxTesting
import SystemCalls
import Testing

@testable import PackageStorage

/// Tells what readers get of a package that lies elsewhere.
@Suite("The cache of packages", .timeLimit(.minutes(10)))
struct PackageCacheTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func code(_ body: () async throws -> Void) async throws -> PackageCacheError.Code? {
    do {
      try await body()
      return nil
    } catch let error as PackageCacheError {
      return error.code
    }
  }

  @Test(
    "a package comes whole, a block at a time, each byte once, in chunks of whatever length",
    arguments: [1 << 20, 100_003])
  func whole(chunk: Int) async throws {
    let sample = SamplePackage(length: 19_000_001)
    let fetcher = ScriptedFetcher([sample], chunk: chunk)
    try await withCache(fetcher, in: directory.path) { cache in
      let package = try await cache.open(sample.digest, as: sample.description)
      let range = 0..<Int64(sample.bytes.count)
      #expect(!package.isPresent(0..<1))
      #expect(package.hold(range) == 0)
      #expect(try await package.send(range).hasSameBytes(as: sample.bytes))
      #expect(package.isPresent(range))
      let ranges = fetcher.calls.map(\.mebibytes).sorted { $0.lowerBound < $1.lowerBound }
      #expect(ranges == [0..<8, 8..<16, 16..<19])
      #expect(cache.figures.fetchedBytes == ByteCount(sample.bytes.count))
    }
  }

  @Test("a range is sent with its first piece, while the rest of its block is still to come")
  func early() async throws {
    let sample = SamplePackage(mebibytes: 8)
    let gate = Gate()
    let fetcher = ScriptedFetcher([sample], pause: { _, chunk in if chunk == 2 { await gate.wait() } })
    try await withCache(fetcher, in: directory.path) { cache in
      let package = try await cache.open(sample.digest, as: sample.description)
      let range = Int64(1 << 20) + 5..<Int64(8 << 20)
      try await package.prepare(range)
      #expect(package.hold(range) == 2 << 20)
      #expect(try package.read(range.lowerBound..<2 << 20).allSatisfy { $0 == sample.bytes[1 << 20] })
      package.release(range.lowerBound..<2 << 20)
      #expect(!package.isPresent(range))
      gate.open()
      _ = try await package.holdAll(range)
      #expect(package.isPresent(range))
      // Nothing before it was asked for.
      #expect(!package.isPresent(0..<1))
      #expect(fetcher.calls.map(\.mebibytes) == [1..<8])
    }
  }

  @Test("a hundred readers of a cold package get it right, and it is read once")
  func hundred() async throws {
    let sample = SamplePackage(mebibytes: 24)
    let fetcher = ScriptedFetcher([sample])
    try await withCache(fetcher, in: directory.path) { cache in
      let package = try await cache.open(sample.digest, as: sample.description)
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<100 {
          group.addTask {
            let start = number % 3 == 0 ? 0 : (number * 997_003) % (20 << 20)
            let range = start..<min(start + (3 << 20), sample.bytes.count)
            let bytes = try await package.send(Int64(range.lowerBound)..<Int64(range.upperBound))
            return SHA256Digest.of(bytes) == .of(sample.bytes[range])
          }
        }
        for try await isRight in group { #expect(isRight) }
      }
      func fetched() -> Int { fetcher.calls.reduce(0) { $0 + $1.range.count } }
      // The end of the last block may come behind all readers.
      while Int(cache.figures.fetchedBytes.rawValue) < fetched() { await Task.yield() }
      #expect(fetched() <= sample.bytes.count)
      #expect(fetched() == Int(cache.figures.fetchedBytes.rawValue))
    }
  }

  @Test("the same package is open once, and none that its description does not fit")
  func opening() async throws {
    let sample = SamplePackage(mebibytes: 2)
    try await withCache(ScriptedFetcher([sample]), in: directory.path) { cache in
      let package = try await cache.open(sample.digest, as: sample.description)
      #expect(try await cache.open(sample.digest, as: sample.description) === package)
      let few = PackageDescription(length: .mebibytes(3), pieces: sample.description.pieces)
      #expect(try await code { _ = try await cache.open(.of([1]), as: few) } == .damaged)
      let long = PackageDescription(
        length: .mebibytes(2049), pieces: Array(repeating: sample.digest, count: 2049))
      #expect(try await code { _ = try await cache.open(.of([1]), as: long) } == .damaged)
      let empty = try await cache.open(.of([]), as: PackageDescription(length: .zero, pieces: []))
      #expect(empty.hold(0..<0) == 0 && empty.isPresent(0..<0))
      try await empty.prepare(0..<0)
    }
  }

  @Test("what lies beside a package is known without it, as long as something of it is there")
  func description() async throws {
    let sample = SamplePackage(mebibytes: 1)
    let description = PackageDescription(
      length: sample.description.length, pieces: sample.description.pieces, document: Array("manifest".utf8))
    let fetcher = ScriptedFetcher([sample])
    try await withCache(fetcher, in: directory.path) { cache in
      #expect(try await cache.description(of: sample.digest) == nil)
      try await cache.open(sample.digest, as: description).prepare(0..<1)
    }
    try await withCache(fetcher, in: directory.path) { cache in
      #expect(try await cache.description(of: sample.digest) == description)
      try await cache.remove(sample.digest)
      #expect(try await cache.description(of: sample.digest) == nil)
    }
  }

  // MARK: Failures

  @Test("a piece with other bytes is fetched again, and never sent")
  func mismatch() async throws {
    let sample = SamplePackage(mebibytes: 4)
    var damaged = sample.bytes
    damaged[(1 << 20) + 17] ^= 1
    let others = damaged
    let fetcher = ScriptedFetcher([sample], answer: { number, _ in number == 0 ? .bytes(others) : .right })
    try await withCache(fetcher, in: directory.path, setAside: { _, _ in Issue.record("it is whole") }) {
      cache in
      let package = try await cache.open(sample.digest, as: sample.description)
      #expect(try await package.send(0..<4 << 20).hasSameBytes(as: sample.bytes))
      #expect(fetcher.calls.map(\.mebibytes) == [0..<4, 1..<2])
      #expect(cache.figures.mismatchedPieces == 1)
    }
  }

  @Test(
    "a package whose piece has other bytes twice is set aside; what is there of it is sent, and it can be restored"
  )
  func damaged() async throws {
    let sample = SamplePackage(mebibytes: 4)
    let isDamaged = Locked(true)
    let answer: @Sendable (Int, ScriptedFetcher.Call) -> ScriptedFetcher.Answer = { _, call in
      guard isDamaged.current else { return .right }
      var bytes = Array(sample.bytes[Int(call.range.lowerBound)..<Int(call.range.upperBound)])
      let place = Int64(2 << 20) - call.range.lowerBound
      if bytes.indices.contains(Int(place)) { bytes[Int(place)] ^= 0x80 }
      return .bytes(bytes)
    }
    let fetcher = ScriptedFetcher([sample], answer: answer)
    let aside = Locked<[SHA256Digest]>([])
    try await withCache(
      fetcher, in: directory.path,
      setAside: { digest, error in
        #expect(error.code == .damaged)
        aside.withLock { $0.append(digest) }
      }
    ) { cache in
      let package = try await cache.open(sample.digest, as: sample.description)
      #expect(try await code { _ = try await package.send(0..<4 << 20) } == .damaged)
      #expect(aside.current == [sample.digest])
      #expect(try await package.send(0..<2 << 20).hasSameBytes(as: Array(sample.bytes[..<(2 << 20)])))
      #expect(try await code { try await package.prepare(2 << 20..<3 << 20) } == .damaged)
      #expect(try await code { _ = try await cache.open(sample.digest, as: sample.description) } == .damaged)
      isDamaged.withLock { $0 = false }
      cache.restore(sample.digest)
      #expect(try await package.send(0..<4 << 20).hasSameBytes(as: sample.bytes))
    }
  }

  @Test("a package that is not found twice is set aside as missing")
  func missing() async throws {
    let sample = SamplePackage(mebibytes: 1)
    let aside = Locked<[PackageCacheError.Code]>([])
    let clock = ManualMonotonicClock()
    try await withCache(
      ScriptedFetcher([]), in: directory.path, clock: clock,
      setAside: { _, error in aside.withLock { $0.append(error.code) } }
    ) { cache in
      let package = try await cache.open(sample.digest, as: sample.description)
      async let found = code { try await package.prepare(0..<1) }
      await clock.waitForSleepers()
      clock.advance(by: .milliseconds(500))
      #expect(try await found == .notFound)
      #expect(aside.current == [.notFound])
    }
  }

  @Test(
    "who waits behind all fetches is told after 10 to 20 seconds that they bring nothing, and may ask again")
  func patience() async throws {
    let samples = (0..<17).map { SamplePackage(mebibytes: 1, number: $0) }
    let (gate, clock) = (Gate(), ManualMonotonicClock())
    let fetcher = ScriptedFetcher(samples, pause: { number, _ in if number < 16 { await gate.wait() } })
    try await withCache(fetcher, in: directory.path, clock: clock) { cache in
      var waits: [PackageWait] = []
      for sample in samples.dropLast() {
        let package = try await cache.open(sample.digest, as: sample.description)
        waits.append(package.bring(0..<1 << 20) { _ in })
      }
      await gate.waitForWaiting(16)
      let package = try await cache.open(samples[16].digest, as: samples[16].description)
      async let found = code { try await package.prepare(0..<1) }
      for _ in 0..<2 {
        await clock.waitForSleepers()
        #expect(clock.timeToNextSleeper == .seconds(10))
        clock.advance(by: .seconds(10))
      }
      #expect(try await found == .unavailable)
      gate.open()
      #expect(try await package.send(0..<1 << 20).hasSameBytes(as: samples[16].bytes))
      for wait in waits { wait.cancel() }
    }
  }

  @Test("more or fewer bytes than were asked for are other bytes", arguments: [-1, 1])
  func lengths(difference: Int) async throws {
    let sample = SamplePackage(mebibytes: 1)
    let others = difference < 0 ? Array(sample.bytes.dropLast()) : sample.bytes + [7]
    let clock = ManualMonotonicClock()
    let fetcher = ScriptedFetcher([sample], answer: { _, _ in .bytes(others) })
    try await withCache(fetcher, in: directory.path, clock: clock) { cache in
      let package = try await cache.open(sample.digest, as: sample.description)
      guard difference < 0 else {
        // The piece itself is whole, and right.
        #expect(try await package.send(0..<1 << 20).hasSameBytes(as: sample.bytes))
        return
      }
      async let found = code { try await package.prepare(0..<1) }
      await clock.waitForSleepers()
      clock.advance(by: .milliseconds(500))
      #expect(try await found == .damaged)
      #expect(fetcher.calls.count == 2)
    }
  }

  @Test(
    "a place that does not answer is asked again after a pause; then readers fail, and what is there goes on")
  func unavailable() async throws {
    let sample = SamplePackage(mebibytes: 4)
    let clock = ManualMonotonicClock()
    let isAway = Locked(true)
    let gate = Gate()
    let error = PackageFetchError(.unavailable, "busy", retryAfter: .seconds(3))
    let fetcher = ScriptedFetcher(
      [sample],
      pause: { number, _ in if number == 0 { await gate.wait() } },
      answer: { number, _ in
        isAway.current ? .failure(error, after: number == 0 ? 2 << 20 : 0) : .right
      })
    try await withCache(fetcher, in: directory.path, clock: clock) { cache in
      let package = try await cache.open(sample.digest, as: sample.description)
      let (ends, end) = AsyncStream.makeStream(of: PackageCacheError?.self)
      let begun = package.bring(0..<1 << 20) { _ in }
      defer { begun.cancel() }
      await gate.waitForWaiting()
      // Waits for what the first fetch does not bring, before that ends.
      let waiting = package.bring(2 << 20..<4 << 20) { end.yield($0) }
      defer { waiting.cancel() }
      gate.open()
      await clock.waitForSleepers()
      #expect(clock.timeToNextSleeper == .seconds(3))
      clock.advance(by: .seconds(3))
      var iterator = ends.makeAsyncIterator()
      let failure = try #require(await iterator.next() ?? nil)
      #expect(failure.code == .unavailable)
      #expect(failure.retryAfter == .seconds(3))
      #expect(fetcher.calls.map(\.mebibytes) == [0..<4, 2..<4])
      #expect(try await package.send(0..<2 << 20).hasSameBytes(as: Array(sample.bytes[..<(2 << 20)])))
      isAway.withLock { $0 = false }
      #expect(try await package.send(0..<4 << 20).hasSameBytes(as: sample.bytes))
    }
  }

  @Test("a reader that has gone is not told, and one whose task is cancelled is told at once")
  func left() async throws {
    let sample = SamplePackage(mebibytes: 1)
    let gate = Gate()
    let fetcher = ScriptedFetcher([sample], pause: { _, _ in await gate.wait() })
    try await withCache(fetcher, in: directory.path) { cache in
      let package = try await cache.open(sample.digest, as: sample.description)
      let wait = package.bring(0..<1) { _ in Issue.record("it was given up") }
      await gate.waitForWaiting()
      wait.cancel()
      await withTaskGroup(of: PackageCacheError.Code?.self) { group in
        group.addTask { try? await code { try await package.prepare(0..<1) } }
        while cache.figures.waits == 0 { await Task.yield() }
        group.cancelAll()
        #expect(await group.next() == .unavailable)
      }
      #expect(cache.figures.waits == 0)
      gate.open()
      _ = try await package.holdAll(0..<1 << 20)
    }
  }

  @Test("at the end who waits fails, and so does who comes later")
  func end() async throws {
    let sample = SamplePackage(mebibytes: 1)
    let fetcher = ScriptedFetcher(
      [sample], pause: { _, _ in for await _ in AsyncStream<Void>.makeStream().stream {} })
    let cache = try PackageCache.open(
      directory.path, size: .gibibytes(1), fetcher: fetcher, setAside: { _, _ in })
    let package = try await cache.open(sample.digest, as: sample.description)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await cache.run() }
      async let found = code { try await package.prepare(0..<1) }
      while fetcher.calls.isEmpty { await Task.yield() }
      group.cancelAll()
      try await group.waitForAll()
      #expect(try await found == .unavailable)
    }
    #expect(try await code { try await package.prepare(0..<1) } == .unavailable)
  }

  @Test(
    "a package that is removed is gone for all who come, and stays for who has it open, as far as it is there"
  )
  func remove() async throws {
    let sample = SamplePackage(mebibytes: 9)
    let gate = Gate()
    let fetcher = ScriptedFetcher(
      [sample], pause: { _, chunk in if chunk == 3 { await gate.wait() } })
    try await withCache(fetcher, in: directory.path) { cache in
      let package = try await cache.open(sample.digest, as: sample.description)
      _ = try await package.holdAll(0..<3 << 20)
      async let found = code { try await package.prepare(3 << 20..<4 << 20) }
      while cache.figures.waits == 0 { await Task.yield() }
      try await cache.remove(sample.digest)
      #expect(try await found == .notFound)
      gate.open()
      #expect(try await package.send(0..<3 << 20).hasSameBytes(as: Array(sample.bytes[..<(3 << 20)])))
      #expect(try await code { try await package.prepare(3 << 20..<4 << 20) } == .notFound)
      let name = sample.digest.hexadecimal
      #expect(try FileSystem.list("\(directory.path)/\(name.prefix(2))").isEmpty)
      // And it can come back.
      let again = try await cache.open(sample.digest, as: sample.description)
      #expect(again !== package)
      #expect(try await again.send(0..<9 << 20).hasSameBytes(as: sample.bytes))
    }
  }

  @Test("a directory has one process, and a file system that gives back parts of files")
  func directories() async throws {
    let fetcher = ScriptedFetcher([])
    let path = directory.path("a/b")
    func open(_ operations: any FileOperations = SystemFileOperations()) throws(PackageCacheError)
      -> PackageCache
    {
      try PackageCache.open(
        path, size: .gibibytes(1), fetcher: fetcher, operations: operations, setAside: { _, _ in })
    }
    do {
      let cache = try open()
      let error = #expect(throws: PackageCacheError.self) { try open() }
      #expect(error?.description == "storage: another process uses the cache in \(path)")
      #expect(cache.figures.packages == 0)
    }
    let operations = FaultyFileOperations(failing: .punchHole, number: 95)
    let error = #expect(throws: PackageCacheError.self) { try open(operations) }
    #expect(
      error?.message.hasPrefix("the file system of \(path) cannot give back a part of a file's room") == true)
    #expect(throws: Never.self) { try open() }
  }
}
