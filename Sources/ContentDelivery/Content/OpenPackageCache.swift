package import ContentPackage
import CoreTypes
package import Crypto
import HTTPServer
import PullboxAPI
package import ServiceAPI
import Synchronization

/// The packages that can be sent, with a bounded number of open descriptors. An open package is found without waiting;
/// the others are opened off the loops.
package final class OpenPackageCache: Sendable {
  /// Descriptors that the cache keeps open.
  package static let maximumOpen = 256
  /// Packages that may fall out of the cache before those who only remember them let go of them.
  package static let maximumForgotten = 64

  private struct Cache {
    var packages: [SHA256Digest: OpenPackage] = [:]
    /// Least recently opened first.
    package var order: [SHA256Digest] = []
    /// How often ``close(_:)`` was called.
    var removals = 0
    /// Packages that fell out since the last release.
    var forgotten = 0
    var release: (@Sendable () -> Void)?

    mutating func add(_ package: OpenPackage, upTo limit: Int) {
      packages[package.digest] = package
      order.append(package.digest)
      guard order.count > limit else { return }
      packages[order.removeFirst()] = nil
      forgotten += 1
    }

    /// Returns the call that lets go of forgotten packages, and counts anew, once ``maximumForgotten`` packages have fallen
    /// out; nil before.
    mutating func dueRelease() -> (@Sendable () -> Void)? {
      guard forgotten >= OpenPackageCache.maximumForgotten else { return nil }
      forgotten = 0
      return release
    }
  }

  private let source: any PackageSource
  private let limit: Int
  private let cache = Mutex(Cache())

  /// `limit` packages are kept open.
  package init(source: any PackageSource, limit: Int = maximumOpen) {
    self.source = source
    self.limit = limit
  }

  /// Sets how loops, and connections that wait for a request, are made to let go of the packages that they only remember.
  package func releaseIdle(with release: @escaping @Sendable () -> Void) {
    cache.locked { $0.release = release }
  }

  /// The package; nil unless it is open. A descriptor that falls out of the cache stays open until the bodies that have it
  /// let go, and connections that wait for a request, and the loops' ``TicketCache``: those are called to when
  /// ``maximumForgotten`` have fallen out.
  package func opened(_ digest: SHA256Digest) -> OpenPackage? {
    cache.locked { $0.packages[digest] }
  }

  /// Forgets a package that was removed or replaced: its descriptor is closed when the last response that reads it has ended
  /// and those who only remember it have let go of it, to which they are called.
  package func close(_ digest: SHA256Digest) {
    let release = cache.locked { cache in
      cache.removals += 1
      cache.packages[digest] = nil
      cache.order.removeAll { $0 == digest }
      return cache.release
    }
    release?()
  }

  /// The package, opened if need be; nil if its bytes are gone. Throws `content-unknown` if no version refers to it.
  package func package(for digest: SHA256Digest) async throws -> OpenPackage? {
    if let package = opened(digest) { return package }
    let removals = cache.locked { $0.removals }
    let mediaType = try await manifest(of: digest).mediaType.text
    guard let file = try await source.open(digest) else { return nil }
    let package = OpenPackage(digest: digest, file: file, mediaType: mediaType)
    let (found, release) = cache.locked { cache -> (OpenPackage, (@Sendable () -> Void)?) in
      if let other = cache.packages[digest] { return (other, nil) }
      // It may be the one that was removed meanwhile: this response can still have it, the cache must not keep it.
      guard cache.removals == removals else { return (package, nil) }
      cache.add(package, upTo: limit)
      return (package, cache.dueRelease())
    }
    release?()
    return found
  }

  /// The query with which a proxy reads the package from its object store; nil where it lies in none.
  func readingQuery(of digest: SHA256Digest, seconds: Int) -> String? {
    source.readingQuery(of: digest, seconds: seconds)
  }

  /// The manifest that the grant promised: versions with the same package have each their own. Throws `content-unknown`.
  package func manifestBytes(of digest: SHA256Digest, for handle: DeliveryHandle) async throws -> [UInt8] {
    guard let bytes = try await source.manifest(of: digest, promisedTo: handle) else {
      throw Problem(.contentUnknown)
    }
    return bytes
  }

  /// The manifest of any version with that package. Throws `content-unknown`.
  package func manifest(of digest: SHA256Digest) async throws -> Manifest {
    guard let bytes = try await source.manifest(of: digest) else { throw Problem(.contentUnknown) }
    do {
      return try UnverifiedManifest(bytes).proposed()
    } catch {
      // It was checked when its version was published, by rules that were fewer. Devices would refuse it.
      throw Problem(.contentUnknown)
    }
  }
}
