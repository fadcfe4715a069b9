import ContentPackage
import CoreTypes
import Crypto
import Files
import PullboxTesting
import SystemCalls

@testable import PackageStorage

/// A package in memory. Each of its pieces has bytes of its own, of which none is zero.
struct SamplePackage: Sendable {
  let bytes: [UInt8]
  let digest: SHA256Digest
  let description: PackageDescription

  /// `length` in bytes. Packages of other numbers have other bytes.
  init(length: Int, number: Int = 0) {
    let layout = PieceLayout(packageLength: ByteCount(length))
    var bytes: [UInt8] = []
    bytes.reserveCapacity(length)
    var pieces: [SHA256Digest] = []
    for piece in 0..<layout.count {
      let value = UInt8(truncatingIfNeeded: 1 + (piece * 5 + number * 37) % 255)
      let content = [UInt8](repeating: value, count: layout.length(of: piece))
      pieces.append(.of(content))
      bytes += content
    }
    self.bytes = bytes
    digest = .of(bytes)
    description = PackageDescription(length: ByteCount(length), pieces: pieces)
  }

  init(mebibytes: Int, number: Int = 0) {
    self.init(length: mebibytes << 20, number: number)
  }
}

/// Brings packages from memory, as a test says.
final class ScriptedFetcher: PackageFetcher {
  struct Call: Hashable, Sendable {
    let digest: SHA256Digest
    let range: Range<Int64>

    /// In mebibytes.
    var mebibytes: Range<Int64> { range.lowerBound >> 20..<(range.upperBound + (1 << 20) - 1) >> 20 }
  }

  enum Answer: Sendable {
    /// The package's own bytes.
    case right
    /// The bytes that are given, in place of those.
    case bytes([UInt8])
    /// The first bytes of the package's own, so many, and then the error.
    case failure(PackageFetchError, after: Int = 0)
  }

  /// Asked before each chunk of a mebibyte, with the call's number, counted from 0, and the chunk's.
  typealias Pause = @Sendable (_ call: Int, _ chunk: Int) async throws -> Void

  private let packages: [SHA256Digest: SamplePackage]
  private let begun = Locked<[Call]>([])
  private let answer: @Sendable (Int, Call) -> Answer
  private let pause: Pause
  private let chunk: Int

  init(
    _ packages: [SamplePackage], chunk: Int = 1 << 20, pause: @escaping Pause = { _, _ in },
    answer: @escaping @Sendable (_ number: Int, _ call: Call) -> Answer = { _, _ in .right }
  ) {
    self.packages = packages.reduce(into: [:]) { $0[$1.digest] = $1 }
    self.chunk = chunk
    self.pause = pause
    self.answer = answer
  }

  /// The calls so far, in their order.
  var calls: [Call] { begun.current }

  func fetch(
    _ digest: SHA256Digest, range: Range<Int64>, into receiver: any PackageReceiver
  ) async throws(PackageFetchError) {
    let call = Call(digest: digest, range: range)
    let number = begun.withLock { begun in
      begun.append(call)
      return begun.count - 1
    }
    guard let package = packages[digest] else {
      throw PackageFetchError(.notFound, "a test has no such package")
    }
    var bytes = Array(package.bytes[Int(range.lowerBound)..<Int(range.upperBound)])
    var error: PackageFetchError?
    switch answer(number, call) {
    case .right: break
    case .bytes(let others): bytes = others
    case .failure(let failure, let count):
      bytes = Array(bytes.prefix(count))
      error = failure
    }
    for (index, start) in stride(from: 0, to: bytes.count, by: chunk).enumerated() {
      do {
        try await pause(number, index)
        try Task.checkCancellation()
      } catch {
        throw PackageFetchError(.unavailable, "canceled")
      }
      let end = min(start + chunk, bytes.count)
      guard receiver.receive(bytes.span.extracting(start..<end)) else {
        throw PackageFetchError(.unavailable, "nothing more is wanted")
      }
    }
    if let error { throw error }
  }
}

/// Lets tasks wait until a test opens it.
final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiting: [CheckedContinuation<Void, Never>] = []
    var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Locked(State())

  /// Returns once the gate is open. Does not look at cancellation.
  func wait() async {
    await withCheckedContinuation { continuation in
      let (isOpen, watchers) = state.withLock { state in
        if state.isOpen { return (true, [CheckedContinuation<Void, Never>]()) }
        state.waiting.append(continuation)
        let due = state.watchers.filter { $0.count <= state.waiting.count }.map(\.continuation)
        state.watchers.removeAll { $0.count <= state.waiting.count }
        return (false, due)
      }
      if isOpen { continuation.resume() }
      for watcher in watchers { watcher.resume() }
    }
  }

  /// Returns once so many wait.
  func waitForWaiting(_ count: Int = 1) async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.waiting.count >= count { return true }
        state.watchers.append((count, continuation))
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for waiter in waiting { waiter.resume() }
  }
}

/// Runs `body` with a cache, and ends that in order, unless `body` throws.
func withCache(
  _ fetcher: some PackageFetcher, in directory: String, size: ByteCount = .gibibytes(1),
  clock: any MonotonicClock = SystemMonotonicClock(),
  operations: any FileOperations = SystemFileOperations(),
  setAside: @escaping PackageCache.SetAside = { _, _ in },
  _ body: (PackageCache) async throws -> Void
) async throws {
  let cache = try await open(directory) { () throws(PackageCacheError) in
    try PackageCache.open(
      directory, size: size, fetcher: fetcher, clock: clock, operations: operations, setAside: setAside)
  }
  try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask { try await cache.run() }
    try await body(cache)
    group.cancelAll()
    try await group.waitForAll()
  }
}

/// Runs `body` with a cache that fetches nothing and does not end in order.
func withoutEnd(in directory: String, _ body: (PackageCache) async throws -> Void) async throws {
  try await body(
    try await open(directory) { () throws(PackageCacheError) in
      try PackageCache.open(
        directory, size: .gibibytes(1), fetcher: ScriptedFetcher([]), setAside: { _, _ in })
    })
}

/// Opens a cache once the one before has let go of its directory, which it does with the last task that knew it.
private func open(
  _ directory: String, _ body: () throws(PackageCacheError) -> PackageCache
) async throws -> PackageCache {
  while true {
    do throws(PackageCacheError) {
      return try body()
    } catch {
      guard error.message == "another process uses the cache in \(directory)" else { throw error }
      await Task.yield()
    }
  }
}

extension CachedPackage {
  /// The bytes of the file, whether they are there or not.
  func read(_ range: Range<Int64>) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try makeDescriptor().read(upTo: range.count, at: ByteCount(range.lowerBound), into: &bytes)
    return bytes
  }

  /// All of the range, as a response would send it.
  func send(_ range: Range<Int64>) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    var start = range.lowerBound
    while start < range.upperBound {
      let end = hold(start..<min(range.upperBound, start + (1 << 20)))
      guard end > start else {
        try await prepare(start..<range.upperBound)
        continue
      }
      bytes += try read(start..<end)
      release(start..<end)
      start = end
    }
    return bytes
  }
}
