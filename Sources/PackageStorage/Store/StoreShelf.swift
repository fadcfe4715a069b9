package import BlobStore
package import CoreTypes
package import Crypto
import HTTPClient
package import ObjectStore
import Synchronization
import SystemCalls

/// Packages in an object store, below `packages/`. What a node reads of them goes through its ``PackageCache``.
///
/// Nothing is removed before the bucket's `pullbox.json` was found to name this installation.
package final class StoreShelf: PackageShelf {
  /// Finds out what a package consists of, without reading it: nil for one that is not known.
  package typealias Describe = @Sendable (SHA256Digest) async throws -> PackageDescription?

  static let limit: Duration = .seconds(30)

  let store: ObjectStore
  private let installation: StoreInstallation
  /// The blocks of packages that are on this node.
  package let cache: PackageCache
  private let describeKnown: Describe
  /// The directory whose hold keeps packages in the store; nil where nothing does.
  private let removals: BlobDirectory?
  /// The bytes of all packages together; nil unless they are measured.
  private let stored = Mutex<ByteCount?>(nil)

  package init(
    _ store: ObjectStore, of installation: StoreInstallation, cache: PackageCache,
    removals: BlobDirectory? = nil, describe: @escaping Describe
  ) {
    self.store = store
    self.installation = installation
    self.cache = cache
    self.removals = removals
    describeKnown = describe
  }

  package var storedLength: ByteCount? { stored.locked { $0 } }

  /// Counts the bytes of all packages, and goes on counting.
  package func measure() async throws(BlobStoreError) {
    let sum = try await list().values.reduce(.zero, +)
    stored.locked { $0 = sum }
  }

  private func count(_ length: ByteCount) {
    stored.locked { if let before = $0 { $0 = before + length } }
  }

  @discardableResult
  package func put(_ received: BlobWriter, as digest: SHA256Digest) async throws(BlobStoreError)
    -> BlobDescription
  {
    let blob = await received.received
    guard blob.digest == digest else {
      throw BlobStoreError(.digestMismatch, "the bytes received have the digest \(blob.digest)")
    }
    let file = UploadFile(takingOwnershipOf: try await received.openForReading())
    let before = storedLength == nil ? nil : try await head(digest)?.length
    try await asBlobStoreError { () throws(ObjectStoreError) in
      try await store.put(.package(digest), from: file, 0..<blob.length.rawValue, digest: digest)
    }
    count(blob.length - (before ?? .zero))
    cache.restore(digest)
    try await received.discard()
    return blob
  }

  private func head(_ digest: SHA256Digest) async throws(BlobStoreError) -> ObjectAttributes? {
    try await asBlobStoreError { () throws(ObjectStoreError) in
      try await store.head(.package(digest), within: Self.limit)
    }
  }

  /// The package in this node's cache, of which maybe nothing is there yet. Throws `notFound`.
  package func open(_ digest: SHA256Digest) async throws(BlobStoreError) -> CachedPackage {
    do {
      let kept = try await cache.description(of: digest)
      // One that was made before a version of the package was has no manifest.
      if let kept, !kept.document.isEmpty { return try await cache.open(digest, as: kept) }
      if let known = try await known(digest, besides: kept) {
        return try await cache.open(digest, as: known)
      }
      let blob = try await describe(digest)
      // Pieces are compared with it from now on.
      guard blob.digest == digest else {
        throw BlobStoreError(.unreadable, "the store has other bytes than those of \(digest)")
      }
      return try await cache.open(
        digest, as: PackageDescription(length: blob.length, pieces: blob.pieces))
    } catch {
      throw BlobStoreError(ofPackage: error)
    }
  }

  /// The description by the records, or the one that is kept where they cannot be asked or have none.
  private func known(
    _ digest: SHA256Digest, besides kept: PackageDescription?
  ) async throws -> PackageDescription? {
    do {
      return try await describeKnown(digest) ?? kept
    } catch {
      guard let kept else { throw error }
      return kept
    }
  }

  package func openWhole(_ digest: SHA256Digest) async throws(BlobStoreError) -> SharedFile {
    let package = try await open(digest)
    do throws(PackageCacheError) {
      let hold = try await package.holdAll(0..<package.length.rawValue)
      return SharedFile(try package.makeDescriptor(), keeping: HeldPackage(hold))
    } catch {
      throw BlobStoreError(ofPackage: error)
    }
  }

  package func reader(of digest: SHA256Digest) async throws(BlobStoreError) -> any PackageReader {
    let reader = try await asBlobStoreError { () throws(ObjectStoreError) in
      try await store.reader(of: digest)
    }
    guard let reader else { throw BlobStoreError(.notFound, "the store has no package \(digest)") }
    return reader
  }

  @discardableResult
  package func remove(_ digest: SHA256Digest) async throws(BlobStoreError) -> Bool {
    try await checkInstallation()
    let permission = try await BlockingPool.shared.run {
      [removals] () throws(BlobStoreError) -> SharedFile? in
      if let removals { SharedFile(try removals.beginRemoval()) } else { nil }
    }
    defer { withExtendedLifetime(permission) {} }
    let before = try await head(digest)
    if before != nil {
      try await asBlobStoreError { () throws(ObjectStoreError) in
        try await store.delete(.package(digest), within: Self.limit)
      }
      guard try await head(digest) == nil else {
        throw BlobStoreError(.inputOutput, "the store has deleted \(digest), and it is still there")
      }
    }
    do throws(PackageCacheError) {
      try await cache.remove(digest)
    } catch {
      throw BlobStoreError(ofPackage: error)
    }
    count(.zero - (before?.length ?? .zero))
    return before != nil
  }

  package func list() async throws(BlobStoreError) -> [SHA256Digest: ByteCount] {
    try await checkInstallation()
    return try await asBlobStoreError { () throws(ObjectStoreError) in
      try await store.listPackages(within: Self.limit)
    }
  }

  package func describe(_ digest: SHA256Digest) async throws(BlobStoreError) -> BlobDescription {
    let reader = try await reader(of: digest)
    var digests = PieceDigests()
    while digests.length < reader.length {
      let bytes = try await reader.bytes(from: digests.length, upTo: Int(ObjectReader.part.rawValue))
      let before = digests
      digests = await BlockingPool.shared.run {
        var digests = before
        digests.update(bytes.span)
        return digests
      }
    }
    return digests.finalize()
  }

  /// The query of an address by which any client that has it reads the package from the store, for `seconds` from now on. The store is
  /// not asked.
  package func readingQuery(of digest: SHA256Digest, seconds: Int) -> String {
    store.presignedQuery(of: .package(digest), seconds: seconds)
  }

  func checkInstallation() async throws(BlobStoreError) {
    do {
      try await installation.check()
    } catch {
      throw BlobStoreError(ofPackage: error)
    }
  }
}

/// Keeps a whole package in the cache while a reader has it.
private final class HeldPackage: Sendable {
  private let hold: PackageHold

  init(_ hold: consuming PackageHold) {
    self.hold = hold
  }
}

extension BlobStoreError {
  /// An error of the store, the cache, or what describes packages, as those who use a shelf know it.
  init(ofPackage error: any Error) {
    switch error {
    case let error as BlobStoreError: self = error
    case let error as ObjectStoreError: self.init(error)
    case let error as PackageCacheError: self.init(error)
    default:
      let isAway = (error as? any TemporarilyFailing)?.temporaryFailure != nil
      self.init(isAway ? .unreachable : .inputOutput, "\(error)")
    }
  }

  init(_ error: PackageCacheError) {
    let code: Code =
      switch error.code {
      case .notFound: .notFound
      case .damaged: .unreadable
      case .unavailable: .unreachable
      case .outOfSpace: .outOfSpace
      default: .inputOutput
      }
    self.init(code, error.message)
  }

  init(_ error: ObjectStoreError) {
    let code: Code =
      switch error.code {
      case .notFound: .notFound
      case .outOfRange: .unreadable
      case .digestMismatch: .digestMismatch
      case .outOfSpace: .outOfSpace
      case .unreadableSource: .inputOutput
      default: .unreachable
      }
    self.init(code, "\(error)")
  }
}

/// Runs `body` with the store's errors told as those of a shelf.
func asBlobStoreError<Value>(
  _ body: () async throws(ObjectStoreError) -> Value
) async throws(BlobStoreError) -> Value {
  do {
    return try await body()
  } catch {
    throw BlobStoreError(error)
  }
}
