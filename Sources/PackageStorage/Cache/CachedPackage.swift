import ContentPackage
package import CoreTypes
package import Crypto
import Synchronization
package import SystemCalls

/// A package of a ``PackageCache`` that is open: some of its bytes are there, and others are fetched once a reader comes to them.
///
/// What a reader sends it holds meanwhile: from ``hold(_:)`` to ``release(_:)`` these bytes stay. Both are for the loops that send: they
/// take no lock, unless the reader comes to a block behind which more has to be fetched.
///
/// ```swift
/// let package = try await cache.open(digest, as: description)
/// try await package.prepare(0..<length)      // the first byte is there
/// let end = package.hold(0..<length)
/// if end > 0 {
///   send(package, 0..<end)
///   package.release(0..<end)
/// }
/// ```
package final class CachedPackage: Sendable {
  /// The digest of the package, its name.
  package let digest: SHA256Digest
  /// Bytes of the package.
  package let length: ByteCount
  /// The digests of its pieces.
  let pieces: [SHA256Digest]
  /// The blocks of the package.
  let layout: BlockLayout
  /// The pieces that can be read, and the blocks that are held.
  let words: BlockWords
  /// The open file, shared with the cache.
  let file: SharedFile
  /// Tells it from one that was open before under the same digest.
  let number: UInt64
  /// The cache, which lives as long as its open packages.
  private let cache: PackageCache

  /// A package that the cache has opened. It tells the cache when the last who has it lets go.
  init(
    _ digest: SHA256Digest, _ description: PackageDescription, map: BlockMap, uses: [UInt32],
    file: SharedFile, number: UInt64, cache: PackageCache
  ) {
    self.digest = digest
    length = description.length
    pieces = description.pieces
    layout = map.layout
    words = BlockWords(map, uses: uses)
    self.file = file
    self.number = number
    self.cache = cache
  }

  deinit {
    cache.didClose(digest, number: number, uses: uses)
  }

  /// When each block was used last.
  var uses: [UInt32] { (0..<layout.count).map { words.use(of: $0) } }

  /// Another descriptor of the package's file, for reading alone: what is not held may be zeros.
  package func makeDescriptor() throws(PackageCacheError) -> FileDescriptor {
    try asCacheError { () throws(SystemError) in try file.file.duplicate() }
  }

  /// The pieces with a byte of the range, which may reach beyond the package.
  private func pieces(holding range: Range<Int64>) -> Range<Int> {
    layout.pieces.pieces(holding: range.clamped(to: 0..<length.rawValue))
  }

  /// Whether all of the range is there, and verified; it may be given up at any time.
  package func isPresent(_ range: Range<Int64>) -> Bool {
    words.areVerified(pieces(holding: range))
  }

  /// Holds as much of the range as is there without a gap from its beginning, and returns where that ends: the beginning, and nothing is
  /// held, where its first byte is not there. Bytes behind the package's end count as being there.
  package func hold(_ range: Range<Int64>) -> Int64 {
    let wanted = pieces(holding: range)
    guard !wanted.isEmpty else { return range.upperBound }
    let end = words.hold(wanted, use: cache.use) { cache.reach(digest, block: $0) }
    guard end < wanted.upperBound else { return range.upperBound }
    return end == wanted.lowerBound ? range.lowerBound : layout.pieces.range(of: end).lowerBound
  }

  /// Lets go of what ``hold(_:)`` has held: from where that was to begin to where it ended.
  package func release(_ range: Range<Int64>) {
    words.release(pieces(holding: range))
  }

  /// Has the first byte of the range brought, and what follows while it is sent. `completion` is called once, on any thread, maybe before
  /// this returns: with nil as soon as the piece of that byte is there, else with the reason for which it does not come.
  package func bring(
    _ range: Range<Int64>, completion: @escaping @Sendable (PackageCacheError?) -> Void
  ) -> PackageWait {
    cache.wait(for: pieces(holding: range), of: self, completion: completion)
  }

  /// Returns once the first byte of the range is there; what follows is fetched while it is sent. Throws the reason for which it does not
  /// come; `unavailable` where the task is cancelled.
  package func prepare(_ range: Range<Int64>) async throws(PackageCacheError) {
    let wait = cache.makeWait()
    let error = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        cache.begin(wait, for: pieces(holding: range), of: self) { continuation.resume(returning: $0) }
        if Task.isCancelled { cache.abandon(wait) }
      }
    } onCancel: {
      cache.abandon(wait)
    }
    if let error { throw error }
  }

  /// Returns once all of the range is there; it stays there until the value is let go. Throws the reason for which it does not come.
  package func holdAll(_ range: Range<Int64>) async throws(PackageCacheError) -> PackageHold {
    var hold = PackageHold(self)
    var start = range.lowerBound
    while start < range.upperBound {
      let end = self.hold(start..<range.upperBound)
      if end > start {
        hold.add(start..<end)
        start = end
      } else {
        try await prepare(start..<range.upperBound)
      }
    }
    return hold
  }
}

/// Parts of a package that stay in the cache while this value lives.
package struct PackageHold: ~Copyable, Sendable {
  /// The package, which stays open.
  private let package: CachedPackage
  /// The ranges that were held, in the order of holding.
  private var ranges: [Range<Int64>] = []

  /// A hold of nothing.
  init(_ package: CachedPackage) {
    self.package = package
  }

  deinit {
    for range in ranges { package.release(range) }
  }

  /// Takes over a range that the package has held.
  mutating func add(_ range: Range<Int64>) {
    ranges.append(range)
  }
}

/// A wait for bytes of a package, which can be given up.
package struct PackageWait: Sendable {
  /// The identifier of the wait.
  let reader: BlockPlan.ReaderIdentifier
  /// The cache that the wait is in.
  let cache: PackageCache

  /// Gives the wait up: its completion is not called, unless it is being called now.
  package func cancel() {
    cache.drop(reader)
  }
}
