package import CoreTypes
package import Crypto
package import Files
import Synchronization
package import SystemCalls

/// Keeps blocks of packages on this node's disk, of packages that lie elsewhere: what readers come to is fetched, each piece compared with
/// its digest before it counts, and what was used least is given up for it.
///
/// ``run()`` does the fetching. The directory belongs to one process at a time. After an end in order what was verified counts at the next
/// start; after any other each piece is read and compared once before it is used.
///
/// ```swift
/// let cache = try PackageCache.open("/var/cache/pullbox", size: .gibibytes(20), fetcher: store) { digest, error in … }
/// async let running: Void = cache.run()
/// let package = try await cache.open(digest, as: PackageDescription(length: length, pieces: pieces))
/// ```
package final class PackageCache: Sendable {
  /// Told, on any thread, of a package that was not found, or had other bytes, twice.
  package typealias SetAside = @Sendable (SHA256Digest, PackageCacheError) -> Void

  typealias Completion = @Sendable (PackageCacheError?) -> Void

  /// Something to do once the lock is given back.
  typealias Work = @Sendable () -> Void

  let directory: CacheDirectory
  let size: ByteCount
  let fetcher: any PackageFetcher
  let clock: any MonotonicClock
  let pool: BlockingPool
  let setAside: SetAside
  let state: Mutex<State>
  /// Packages that were closed, and that the state does not know of yet.
  private let closed = Mutex<[ClosedPackage]>([])
  let jobs: (stream: AsyncStream<Job>, continuation: AsyncStream<Job>.Continuation)
  /// One at a time opens a package, or removes its files.
  let locks = PackageLocks()
  private let lock: LockFile
  private let readerCount = Atomic<UInt64>(0)
  /// Counts up with each fetch: what counts as the time of a use.
  private let useCount: Atomic<UInt32>

  private init(
    directory: CacheDirectory, lock: consuming LockFile, size: ByteCount, fetcher: any PackageFetcher,
    found: [SHA256Digest: CacheDirectory.Found], clock: any MonotonicClock, pool: BlockingPool,
    setAside: @escaping SetAside
  ) {
    self.directory = directory
    self.lock = lock
    self.size = size
    self.fetcher = fetcher
    self.clock = clock
    self.pool = pool
    self.setAside = setAside
    jobs = AsyncStream.makeStream(of: Job.self)
    useCount = Atomic((found.values.flatMap(\.uses).max() ?? 0) &+ 1)
    var state = State()
    for (digest, found) in found {
      // Nothing is asked for yet, so nothing follows.
      _ = state.plan.handle(.known(digest, found.map))
      state.enter(Entry(uses: found.uses, room: found.room), for: digest)
    }
    self.state = Mutex(state)
  }

  /// Takes stock of the directory, which is made where it is missing. `size` bounds the room that its files take; `pool` are the threads
  /// that read, write and compare, four of the cache's own unless given. Blocks. Throws `storage` where another process uses the directory,
  /// or its file system has no files with holes.
  package static func open(
    _ directory: String, size: ByteCount, fetcher: any PackageFetcher,
    clock: any MonotonicClock = SystemMonotonicClock(), pool: BlockingPool? = nil,
    operations: any FileOperations = SystemFileOperations(), setAside: @escaping SetAside
  ) throws(PackageCacheError) -> PackageCache {
    let directory = CacheDirectory(path: directory, operations: operations)
    let lock = try directory.lock()
    return PackageCache(
      directory: directory, lock: lock, size: size, fetcher: fetcher, found: try directory.takeStock(),
      clock: clock, pool: pool ?? BlockingPool(name: "pullbox-cache", threads: 4), setAside: setAside)
  }

  /// The number that counts as the time of a use now.
  var use: UInt32 { useCount.load(ordering: .relaxed) }

  /// Begins the next unit of that time.
  func advanceUse() { useCount.add(1, ordering: .relaxed) }

  /// The figures of this moment.
  package var figures: PackageCacheFigures {
    withState { state in
      var figures = state.figures
      figures.allocated = state.allocated
      figures.packages = state.entries.count
      figures.fetches = state.plan.runningFetches
      figures.waits = state.plan.waitingReaders
      return figures
    }
  }

  // MARK: Packages

  /// The package, of which maybe nothing is there yet. Throws `damaged` where the description cannot be that of a package, the error for
  /// which it was set aside, `outOfSpace` or `storage`.
  package func open(
    _ digest: SHA256Digest, as description: PackageDescription
  ) async throws(PackageCacheError) -> CachedPackage {
    guard description.isConsistent else {
      throw PackageCacheError(
        .damaged, "a package of \(description.length) does not have \(description.pieces.count) pieces")
    }
    let result = await locks.withLock(digest) { () -> Result<CachedPackage, PackageCacheError> in
      let opened = state.locked { state -> Result<CachedPackage, PackageCacheError>? in
        if let error = state.plan.fault(of: digest) { return .failure(error) }
        return state.entries[digest]?.package.map { .success($0) }
      }
      if let opened { return opened }
      do throws(PackageCacheError) {
        let files = try await pool.run { [directory] () throws(PackageCacheError) in
          try directory.open(digest, as: description)
        }
        return .success(enter(digest, description, files))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  private func enter(
    _ digest: SHA256Digest, _ description: PackageDescription, _ files: CacheDirectory.Opened
  ) -> CachedPackage {
    withState { state in
      let layout = BlockLayout(packageLength: description.length)
      var map = files.isNew ? BlockMap(layout) : state.plan.maps[digest] ?? BlockMap(layout)
      // What was compared was compared with other digests.
      if files.isDescribedAnew { map.doubt() }
      // No reader waits for a package that is not open.
      if state.plan.maps[digest] != map { _ = state.plan.handle(.known(digest, map)) }
      var uses = state.entries[digest]?.uses ?? []
      if uses.count != layout.count { uses = Array(repeating: 0, count: layout.count) }
      state.packageCount += 1
      let package = CachedPackage(
        digest, description, map: map, uses: uses, file: files.file, number: state.packageCount, cache: self)
      state.enter(
        Entry(package: package, number: package.number, uses: uses, room: files.room), for: digest)
      return package
    }
  }

  /// The description that a package of which something is there was opened with last; nil where there is none. Throws `storage`.
  package func description(of digest: SHA256Digest) async throws(PackageCacheError) -> PackageDescription? {
    guard state.locked({ $0.entries[digest] != nil }) else { return nil }
    return try await pool.run { [directory] () throws(PackageCacheError) in
      try directory.description(of: digest)
    }
  }

  /// Gives a package up, for one that was removed from where it lies: who waits for it fails, and what a reader has open stays, as far as
  /// it is there. Throws `storage`.
  package func remove(_ digest: SHA256Digest) async throws(PackageCacheError) {
    let error = await locks.withLock(digest) { () -> PackageCacheError? in
      handle(.forgotten(digest)) { state in state.forget(digest) }
      do throws(SystemError) {
        try await pool.run { [directory] () throws(SystemError) in try directory.remove(digest) }
        return nil
      } catch {
        return PackageCacheError(error)
      }
    }
    if let error { throw error }
  }

  /// Has a package fetched again that was set aside, since it lies there whole now.
  package func restore(_ digest: SHA256Digest) {
    handle(.restored(digest))
  }

  /// A package was closed by the last who had it. Comes while the lock is held, too.
  func didClose(_ digest: SHA256Digest, number: UInt64, uses: [UInt32]) {
    closed.locked { $0.append(ClosedPackage(digest: digest, number: number, uses: uses)) }
  }

  /// Runs `body` under the lock, with the state as it is after the packages that were closed lately.
  func withState<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
    state.locked { state in
      for package in closed.locked({ closed in
        defer { closed = [] }
        return closed
      }) { state.close(package) }
      return body(&state)
    }
  }

  // MARK: Waits

  func makeWait() -> BlockPlan.ReaderIdentifier {
    BlockPlan.ReaderIdentifier(rawValue: readerCount.add(1, ordering: .relaxed).newValue)
  }

  func wait(
    for pieces: Range<Int>, of package: CachedPackage, completion: @escaping Completion
  ) -> PackageWait {
    let reader = makeWait()
    begin(reader, for: pieces, of: package, completion: completion)
    return PackageWait(reader: reader, cache: self)
  }

  func begin(
    _ reader: BlockPlan.ReaderIdentifier, for pieces: Range<Int>, of package: CachedPackage,
    completion: @escaping Completion
  ) {
    guard let first = pieces.first else { return completion(nil) }
    handle(.wanted(reader, package.digest, first..<first + 1, end: pieces.upperBound)) { state in
      state.waits[reader] = Wait(package: package, completion: completion)
    }
  }

  /// Ends a wait without a word.
  func drop(_ reader: BlockPlan.ReaderIdentifier) {
    handle(.left(reader)) { state in state.waits[reader] = nil }
  }

  /// Ends a wait, and says so.
  func abandon(_ reader: BlockPlan.ReaderIdentifier) {
    let wait = state.locked { $0.waits.removeValue(forKey: reader) }
    guard let wait else { return }
    handle(.left(reader))
    wait.completion(PackageCacheError(.unavailable, "the wait was given up"))
  }

  /// A reader came to a marked block.
  func reach(_ digest: SHA256Digest, block: Int) {
    handle(.reached(digest, block: block))
  }

  // MARK: Events

  /// Takes an event on, and does what follows. `change` is made in the same step, before.
  func handle(_ event: BlockPlan.Event, changing change: (inout State) -> Void = { _ in }) {
    let work = state.locked { state in
      change(&state)
      return prepare(state.plan.handle(event), &state)
    }
    for work in work { work() }
  }

  /// Makes what is to be done of the plan's actions, for when the lock is given back.
  func prepare(_ actions: [BlockPlan.Action], _ state: inout State) -> [Work] {
    var work: [Work] = []
    for action in actions {
      switch action {
      case .release(let reader):
        if let wait = state.waits.removeValue(forKey: reader) { work.append { wait.completion(nil) } }
      case .fail(let reader, let error):
        if let wait = state.waits.removeValue(forKey: reader) { work.append { wait.completion(error) } }
      case .mark(let digest, let block): state.entries[digest]?.package?.words.mark(block)
      case .setAside(let digest, let error): work.append { [setAside] in setAside(digest, error) }
      case .cancel(let fetch):
        if let receiver = state.receivers.removeValue(forKey: fetch) { work.append { receiver.stop() } }
      case .check(let digest, let pieces):
        guard let package = state.entries[digest]?.package else { continue }
        work.append { [jobs] in jobs.continuation.yield(.check(package, pieces)) }
      case .wait: work.append { [jobs] in jobs.continuation.yield(.wait) }
      case .fetch(let fetch, let digest, let pieces, let pause):
        guard let package = state.entries[digest]?.package else {
          // Its last reader has gone.
          work.append { self.handle(.failed(fetch, PackageCacheError(.unavailable, "it was closed"))) }
          continue
        }
        let receiver = PieceReceiver(pieces, of: package.layout.pieces)
        state.receivers[fetch] = receiver
        let order = FetchOrder(
          identifier: fetch, package: package, pieces: pieces, pause: pause, receiver: receiver)
        work.append { [jobs] in jobs.continuation.yield(.fetch(order)) }
      }
    }
    return work
  }
}
