import BlobStore
import ContentDelivery
import ContentPackage
import ContentPublishing
import Crypto
import Database
import DeliveryRecords
import HTTPClient
import HTTPServer
import ObjectStore
import PackageStorage
import PullboxAPI
import ServiceAPI
import ServiceRuntime

/// Where packages lie: in the state directory, or in an object store with a cache on this machine.
struct PackageStorageComponents: Sendable {
  /// The parts of an object store.
  private struct Remote: Sendable {
    let store: ObjectStore
    let client: HTTPClient
    let installation: StoreInstallation
    let shelf: StoreShelf
    /// Packages that were missing, or had other bytes, when they were fetched.
    let faults: AsyncStream<Fault>
  }

  private struct Fault: Sendable {
    let digest: SHA256Digest
    let error: PackageCacheError
  }

  private let configuration: DeliveryConfiguration
  private let log: Log
  private let remote: Remote?
  let shelf: any PackageShelf
  /// The packages for those who send them.
  let source: any PackageSource
  /// Nil for the state directory.
  var cache: PackageCache? { remote?.shelf.cache }

  /// Opens the cache, if there is a store, which is asked nothing yet. Blocks. Throws ``ConfigurationError``.
  init(
    _ configuration: DeliveryConfiguration, database: Database, blobs: BlobStore, log: Log
  ) throws {
    self.configuration = configuration
    self.log = log
    guard try configuration.packageStoreAddress() != nil else {
      remote = nil
      shelf = blobs
      source = StoredPackages(blobs: blobs, database: database)
      return
    }
    let client = try HTTPClient()
    guard let store = try configuration.packageStore(client) else {
      preconditionFailure("a store with an address has a client")
    }
    let (faults, told) = AsyncStream.makeStream(of: Fault.self)
    let cache: PackageCache
    do throws(PackageCacheError) {
      cache = try PackageCache.open(
        configuration.cacheDirectory, size: configuration.cache.size.bytes, fetcher: StoreFetcher(store),
        setAside: { digest, error in told.yield(Fault(digest: digest, error: error)) })
    } catch {
      throw ConfigurationError(subject: "cache.directory", message: "\(error)")
    }
    let identifier = try database.usingReserveBlocking {
      try database.writeBlocking(locking: []) { connection in
        try InstallationTable.identifier(proposed: RandomBytes.token(bits: 128), in: connection)
      }
    }
    let installation = StoreInstallation(identifier: identifier, store: store)
    // A backup of a server with a file holds removals there.
    let removals = BlobDirectory(configuration.state)
    let shelf = StoreShelf(store, of: installation, cache: cache, removals: removals) { digest in
      try await CachedPackages.description(of: digest, in: database)
    }
    remote = Remote(
      store: store, client: client, installation: installation, shelf: shelf, faults: faults)
    self.shelf = shelf
    source = CachedPackages(
      shelf: shelf, records: StoredPackages(blobs: blobs, database: database), database: database)
  }

  /// Asks the store whether it can be used, and whose it is. Throws ``ConfigurationError`` with the setting that is to be looked at.
  func start() async throws {
    guard let remote else { return }
    try await DeliveryConfiguration.ask(remote.store)
    do {
      try await remote.installation.claim()
    } catch let error as StoreInstallationError {
      throw ConfigurationError(subject: "packages", message: "\(configuration.packages ?? ""): \(error)")
    }
    if configuration.storageQuota != nil { try await remote.shelf.measure() }
  }

  /// Fetches what readers ask for, until the task is cancelled.
  func fetch() async {
    do {
      try await cache?.run()
    } catch {
      log.error("the cache of packages could not be closed in order", ["error": LogValue(error)])
    }
  }

  /// Tells the scrubber of packages that could not be fetched, until the task is cancelled.
  func report(to scrubber: PackageScrubber) async {
    guard let remote else { return }
    for await fault in remote.faults {
      if fault.error.code == .damaged {
        await scrubber.noteDamaged(fault.digest)
      } else {
        _ = await scrubber.noteMissing(fault.digest)
      }
    }
  }

  /// Ends the calls that are under way.
  func stop() {
    remote?.client.shutDown()
  }
}

/// The packages of an object store, for those who send them: bytes from this node's cache, as far as they are there, and manifests from
/// beside them, or from the database.
struct CachedPackages: PackageSource {
  let shelf: StoreShelf
  let records: StoredPackages
  let database: Database

  /// Returns what the manifest of any version tells of the package; nil where no version has it.
  static func description(
    of digest: SHA256Digest, in database: Database
  ) async throws -> PackageDescription? {
    guard let bytes = try await database.read({ try VersionTable.manifest(of: digest, in: $0) }) else {
      return nil
    }
    let manifest = try UnverifiedManifest(bytes).proposed()
    return PackageDescription(length: manifest.length, pieces: manifest.pieces, document: bytes)
  }

  func open(_ digest: SHA256Digest) async throws -> SharedDescriptor? {
    let package: CachedPackage
    do throws(BlobStoreError) {
      package = try await shelf.open(digest)
    } catch {
      switch error.code {
      case .notFound: return nil
      // It was set aside, which the scrubber is told.
      case .unreadable: throw Problem.stopped(.contentDamaged)
      default: throw error
      }
    }
    return try SharedDescriptor(
      try package.makeDescriptor(), presence: CachedPackagePresence(package))
  }

  /// Known packages need no database.
  func manifest(of digest: SHA256Digest) async throws -> [UInt8]? {
    if let document = try await shelf.cache.description(of: digest)?.document, !document.isEmpty {
      return document
    }
    return try await records.manifest(of: digest)
  }

  func manifest(of digest: SHA256Digest, promisedTo grant: DeliveryHandle) async throws -> [UInt8]? {
    try await records.manifest(of: digest, promisedTo: grant)
  }

  func readingQuery(of digest: SHA256Digest, seconds: Int) -> String? {
    shelf.readingQuery(of: digest, seconds: seconds)
  }
}
