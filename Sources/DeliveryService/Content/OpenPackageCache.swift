import BlobStore
import ContentPackage
import Crypto
import Database
import HTTPServer
import PullboxAPI
import Synchronization

/// The packages that can be sent, with a bounded number of open descriptors. An open package is found without waiting;
/// the others are opened off the loops.
final class OpenPackageCache: Sendable {
  /// Descriptors that the cache keeps open.
  static let maximumOpen = 256

  private struct Cache {
    var packages: [SHA256Digest: OpenPackage] = [:]
    /// Least recently opened first.
    var order: [SHA256Digest] = []
    /// How often ``close(_:)`` was called.
    var removals = 0
  }

  private let shelf: any PackageShelf
  private let database: Database
  private let cache = Mutex(Cache())

  init(shelf: any PackageShelf, database: Database) {
    self.shelf = shelf
    self.database = database
  }

  /// The package; nil unless it is open. A descriptor that falls out of the cache stays open until the bodies and the
  /// connections that have it let go; the loops' ``TicketCache`` does not keep it.
  func opened(_ digest: SHA256Digest) -> OpenPackage? {
    cache.withLock { $0.packages[digest] }
  }

  /// Forgets a package that was removed or replaced: its descriptor is closed when the last response that reads it has ended.
  func close(_ digest: SHA256Digest) {
    cache.withLock { cache in
      cache.removals += 1
      cache.packages[digest] = nil
      cache.order.removeAll { $0 == digest }
    }
  }

  /// The package, opened if need be. Throws `content-unknown` if no version refers to it, ``BlobStoreError`` `notFound` if its
  /// bytes are gone.
  func package(for digest: SHA256Digest) async throws -> OpenPackage {
    if let package = opened(digest) { return package }
    let removals = cache.withLock { $0.removals }
    let mediaType = try await manifest(of: digest).mediaType.text
    let package = OpenPackage(
      digest: digest, file: try SharedDescriptor(try await shelf.open(digest)), mediaType: mediaType)
    return cache.withLock { cache in
      if let other = cache.packages[digest] { return other }
      // It may be the one that was removed meanwhile: this response can still have it, the cache must not keep it.
      guard cache.removals == removals else { return package }
      cache.packages[digest] = package
      cache.order.append(digest)
      if cache.order.count > Self.maximumOpen { cache.packages[cache.order.removeFirst()] = nil }
      return package
    }
  }

  /// The manifest that the grant promised: versions with the same package have each their own. Throws `content-unknown`.
  func manifestBytes(of digest: SHA256Digest, for handle: DeliveryHandle) async throws -> [UInt8] {
    let bytes = try await database.read { connection -> [UInt8]? in
      guard let grant = try GrantTable.find(handle, in: connection), grant.digest == digest else {
        return nil
      }
      return try VersionTable.manifestDocument(grant.manifestDigest, in: connection)
    }
    guard let bytes else { throw Problem(.contentUnknown) }
    return bytes
  }

  /// The manifest of any version with that package. Throws `content-unknown`.
  func manifest(of digest: SHA256Digest) async throws -> Manifest {
    guard let bytes = try await database.read({ try VersionTable.manifest(of: digest, in: $0) }) else {
      throw Problem(.contentUnknown)
    }
    do {
      return try UnverifiedManifest(bytes).proposed()
    } catch {
      // It was checked when its version was published, by rules that were fewer. Devices would refuse it.
      throw Problem(.contentUnknown)
    }
  }
}
