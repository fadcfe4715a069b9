import CoreTypes
import Crypto
import Files
import Glibc
import PullboxTesting
import SystemCalls
import Testing

@testable import PackageStorage

/// The room that a cache takes, and what goes for what comes.
@Suite("The room of the cache of packages", .timeLimit(.minutes(10)))
struct CacheRoomTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func block(_ number: Int64) -> Range<Int64> { number << 23..<(number + 1) << 23 }

  /// The numbers of the blocks that are there.
  private func blocks(of package: CachedPackage) -> [Int64] {
    (0..<Int64(package.layout.count)).filter {
      package.isPresent(block($0).clamped(to: 0..<package.length.rawValue))
    }
  }

  private func code(_ body: () async throws -> Void) async throws -> PackageCacheError.Code? {
    do {
      try await body()
      return nil
    } catch let error as PackageCacheError {
      return error.code
    }
  }

  /// The same, of what finds no room however often it looks.
  private func code(
    _ clock: ManualMonotonicClock, _ body: @Sendable () async throws -> Void
  ) async throws -> PackageCacheError.Code? {
    async let found = code(body)
    for pause in [10, 40, 160, 640] {
      await clock.waitForSleepers()
      #expect(clock.timeToNextSleeper == .milliseconds(Int64(pause)))
      clock.advance(by: .milliseconds(pause))
    }
    return try await found
  }

  /// Room for so many blocks and what lies beside them.
  private func size(blocks: Int64) -> ByteCount { .mebibytes(8 * blocks) + .kibibytes(64) }

  @Test("what was used least goes first, over all packages, and the files take no more than they may")
  func leastUsed() async throws {
    let samples = (0..<2).map { SamplePackage(mebibytes: 24, number: $0) }
    let fetcher = ScriptedFetcher(samples)
    try await withCache(fetcher, in: directory.path, size: size(blocks: 3)) { cache in
      var packages: [CachedPackage] = []
      for sample in samples {
        packages.append(try await cache.open(sample.digest, as: sample.description))
      }
      func use(_ package: Int, _ number: Int64) async throws {
        let range = block(number)
        let bytes = samples[package].bytes[Int(range.lowerBound)..<Int(range.upperBound)]
        #expect(try await packages[package].send(range).hasSameBytes(as: Array(bytes)))
        #expect(cache.figures.allocated <= size(blocks: 3))
        let room = try SystemFileOperations().allocatedSize(of: directory.path)
        #expect(room <= size(blocks: 3) + .kibibytes(64))
      }
      try await use(0, 0)
      try await use(0, 1)
      try await use(1, 0)
      #expect(blocks(of: packages[0]) == [0, 1] && blocks(of: packages[1]) == [0])
      // Used again.
      try await use(0, 0)
      try await use(1, 1)
      #expect(blocks(of: packages[0]) == [0])
      #expect(blocks(of: packages[1]) == [0, 1])
      // What was used since the same fetch is alike; this is since the last one.
      try await use(0, 0)
      try await use(0, 2)
      #expect(blocks(of: packages[0]) == [0, 2])
      #expect(blocks(of: packages[1]) == [1])
      #expect(cache.figures.evictedBlocks == 2)
      // What has gone comes again.
      try await use(0, 1)
    }
  }

  @Test("what a reader holds stays, and where all is held, others are told that there is no room")
  func held() async throws {
    let sample = SamplePackage(mebibytes: 24)
    let clock = ManualMonotonicClock()
    let fetcher = ScriptedFetcher([sample])
    try await withCache(fetcher, in: directory.path, size: size(blocks: 2), clock: clock) { cache in
      let package = try await cache.open(sample.digest, as: sample.description)
      do {
        let first = try await package.holdAll(block(0))
        let second = try await package.holdAll(block(1))
        let found = try await code(clock) { try await package.prepare(16 << 20..<24 << 20) }
        #expect(found == .outOfSpace)
        #expect(try await package.send(0..<16 << 20).hasSameBytes(as: Array(sample.bytes[..<(16 << 20)])))
        _ = consume first
        _ = consume second
      }
      #expect(try await package.send(block(2)).hasSameBytes(as: Array(sample.bytes[(16 << 20)...])))
      #expect(blocks(of: package) == [1, 2])
    }
  }

  @Test("a block that is held more than once stays until the last reader has let go of it")
  func heldTwice() async throws {
    let sample = SamplePackage(mebibytes: 24)
    let clock = ManualMonotonicClock()
    let fetcher = ScriptedFetcher([sample])
    try await withCache(fetcher, in: directory.path, size: size(blocks: 1), clock: clock) { cache in
      let package = try await cache.open(sample.digest, as: sample.description)
      _ = try await package.holdAll(block(0))
      #expect(package.hold(5..<9 << 20) == 8 << 20)
      #expect(package.hold(1 << 20..<2 << 20) == 2 << 20)
      package.release(5..<8 << 20)
      async let prepared: Void = package.prepare(8 << 20..<16 << 20)
      await clock.waitForSleepers()
      // The block goes as soon as no reader holds it.
      package.release(1 << 20..<2 << 20)
      clock.advance(by: .milliseconds(10))
      try await prepared
      #expect(package.hold(block(0)) == 0)
    }
  }

  @Test("packages that are not open give up their blocks, and their files with the last one")
  func closed() async throws {
    let samples = (0..<3).map { SamplePackage(mebibytes: $0 == 0 ? 10 : 8, number: $0) }
    try await withCache(ScriptedFetcher(samples), in: directory.path, size: size(blocks: 2)) { cache in
      for sample in samples {
        let package = try await cache.open(sample.digest, as: sample.description)
        #expect(try await package.send(0..<package.length.rawValue).hasSameBytes(as: sample.bytes))
      }
      // Ten mebibytes in two blocks had to go for the third package.
      #expect(cache.figures.packages == 2)
      let name = samples[0].digest.hexadecimal
      #expect(try FileSystem.list("\(directory.path)/\(name.prefix(2))").isEmpty)
    }
  }

  @Test("after a restart what was used least goes first all the same, and a smaller size is kept to")
  func restart() async throws {
    let sample = SamplePackage(mebibytes: 32)
    let fetcher = ScriptedFetcher([sample])
    try await withCache(fetcher, in: directory.path) { cache in
      let package = try await cache.open(sample.digest, as: sample.description)
      for number in [2, 0, 1] { _ = try await package.send(block(Int64(number))) }
    }
    try await withCache(fetcher, in: directory.path, size: size(blocks: 2)) { cache in
      let package = try await cache.open(sample.digest, as: sample.description)
      #expect(blocks(of: package) == [0, 1, 2])
      _ = try await package.send(block(3))
      #expect(blocks(of: package) == [1, 3])
      #expect(cache.figures.allocated <= size(blocks: 2))
    }
  }

  @Test(
    "on a disk that is full what was used least goes for what comes; where nothing can go, what is there is sent",
    .enabled(if: SmallDisk.isAvailable))
  func fullDisk() async throws {
    let sample = SamplePackage(mebibytes: 64)
    let disk = try SmallDisk(.mebibytes(44))
    try await withCache(ScriptedFetcher([sample]), in: disk.path("cache")) { cache in
      let package = try await cache.open(sample.digest, as: sample.description)
      #expect(try await package.send(0..<64 << 20).hasSameBytes(as: sample.bytes))
      #expect(cache.figures.allocated <= .mebibytes(44))
      do {
        let held = try await package.holdAll(0..<40 << 20)
        let found = try await code { _ = try await package.send(40 << 20..<48 << 20) }
        #expect(found == .outOfSpace)
        #expect(try await package.send(0..<40 << 20).hasSameBytes(as: Array(sample.bytes[..<(40 << 20)])))
        _ = consume held
      }
      #expect(try await package.send(0..<64 << 20).hasSameBytes(as: sample.bytes))
    }
  }

  @Test("on a disk that is full a cache is opened all the same, and what lies there is sent")
  func openingOnFullDisk() async throws {
    let sample = SamplePackage(mebibytes: 2)
    let fetcher = ScriptedFetcher([sample])
    try await withCache(fetcher, in: directory.path) { cache in
      let package = try await cache.open(sample.digest, as: sample.description)
      _ = try await package.holdAll(0..<1 << 20)
    }
    let operations = FaultyFileOperations()
    operations.failWrites(of: ByteCount(1), number: ENOSPC)
    try await withCache(fetcher, in: directory.path, operations: operations) { cache in
      let package = try await cache.open(sample.digest, as: sample.description)
      #expect(try await package.send(0..<1 << 20).hasSameBytes(as: Array(sample.bytes[..<(1 << 20)])))
      operations.failWrites(of: nil)
    }
  }

  @Test("a disk that takes no byte is told of, and is tried again with the next reader")
  func failingDisk() async throws {
    let sample = SamplePackage(mebibytes: 2)
    let operations = FaultyFileOperations()
    let fetcher = ScriptedFetcher([sample])
    try await withCache(fetcher, in: directory.path, operations: operations) { cache in
      let package = try await cache.open(sample.digest, as: sample.description)
      operations.failWrites(of: .mebibytes(1))
      #expect(try await code { try await package.prepare(0..<1) } == .storage)
      #expect(!package.isPresent(0..<1))
      operations.failWrites(of: nil)
      #expect(try await package.send(0..<2 << 20).hasSameBytes(as: sample.bytes))
    }
  }

  @Test("readers in numbers, of more than there is room for, get right bytes or none")
  func crowd() async throws {
    let samples = (0..<3).map { SamplePackage(mebibytes: 20, number: $0) }
    let fetcher = ScriptedFetcher(samples)
    let wrong = Locked(0)
    let refused = Locked(0)
    try await withCache(fetcher, in: directory.path, size: size(blocks: 6)) { cache in
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<4 {
          group.addTask {
            var random = SplitMix(seed: UInt64(number))
            for _ in 0..<60 {
              let sample = samples[Int(random.next() % 3)]
              let start = Int64(random.next() % (20 << 20))
              let range = start..<min(20 << 20, start + 1 + Int64(random.next() % (2 << 20)))
              do {
                let package = try await cache.open(sample.digest, as: sample.description)
                let bytes = try await package.send(range)
                let right = sample.bytes[Int(range.lowerBound)..<Int(range.upperBound)]
                if SHA256Digest.of(bytes) != .of(right) {
                  wrong.withLock { $0 += 1 }
                }
              } catch {
                refused.withLock { $0 += 1 }
              }
            }
          }
        }
      }
      #expect(cache.figures.evictedBlocks > 4)
      #expect(cache.figures.allocated <= size(blocks: 6))
    }
    #expect(wrong.current == 0)
    // All room may be on its way for others.
    #expect(refused.current < 120)
  }
}
