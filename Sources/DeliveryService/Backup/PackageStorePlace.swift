import BlobStore
import CoreTypes
import Crypto
import Files
import HTTPClient
import ObjectStore
import PackageStorage
import ServiceRuntime
import SystemCalls

/// An object store as a configuration names it, which was asked nothing yet.
struct PackageStorePlace: Hashable, Sendable {
  let address: ObjectStoreAddress
  /// The file of the key.
  let accessKeyFile: String
  /// PEM file of the authorities whose certificates count; nil for the system's.
  var authority: String?

  /// The bucket and the prefix, as `packages` names them.
  var name: String {
    "s3://\(address.bucket)" + (address.prefix.isEmpty ? "" : "/\(address.prefix.dropLast())")
  }

  /// The store by `client`. Blocks while it reads the key. Throws ``ConfigurationError``.
  func connect(_ client: HTTPClient) throws(ConfigurationError) -> ObjectStore {
    let credentials: ObjectStoreCredentials
    do {
      credentials = try ObjectStoreCredentials(file: accessKeyFile)
    } catch {
      throw ConfigurationError(subject: "s3.accessKeyFile", message: "\(error)")
    }
    var options = ObjectStoreConfiguration()
    if let authority { options.trust = ServerTrust(certificateAuthorityFile: authority) }
    return ObjectStore(address: address, credentials: credentials, client: client, configuration: options)
  }

  /// The setting that is to be looked at after a call that failed.
  static func setting(of error: ObjectStoreError) -> String {
    switch error.code {
    case .denied: "s3.accessKeyFile"
    case .wrongRegion: "s3.region"
    case .noSuchBucket, .outOfSpace: "packages"
    default: "s3.endpoint"
    }
  }
}

/// An object store that a command uses, with a client of its own. Every call blocks.
final class OpenPackageStore: Sendable {
  private let place: PackageStorePlace
  private let client: HTTPClient
  private let store: ObjectStore
  /// The packages in it.
  let packages: StoreDirectory

  /// Asks the store nothing yet. Throws ``ConfigurationError``.
  init(_ place: PackageStorePlace) throws(ConfigurationError) {
    self.place = place
    do {
      client = try HTTPClient()
    } catch {
      throw ConfigurationError(subject: "packages", message: "\(error)")
    }
    store = try place.connect(client)
    packages = StoreDirectory(store)
  }

  deinit { client.shutDown() }

  /// Puts, gets and deletes a small object. Throws ``ConfigurationError`` with the setting that is to be looked at.
  func ask() throws(ConfigurationError) {
    do throws(ObjectStoreError) {
      try StoreTrial(store).runBlocking()
    } catch {
      throw ConfigurationError(
        subject: PackageStorePlace.setting(of: error), message: "\(store.address.host): \(error)")
    }
  }

  /// Takes the bucket for the installation of that name, where it belongs to none and has no packages. Throws ``ConfigurationError`` for another
  /// installation's, and what the store throws.
  func claim(for installation: String) throws {
    try named { try StoreInstallation(identifier: installation, store: store).claimBlocking() }
  }

  /// Throws ``ConfigurationError`` unless the bucket belongs to the installation of that name, and what the store throws.
  func check(for installation: String) throws {
    try named { try StoreInstallation(identifier: installation, store: store).checkBlocking() }
  }

  private func named(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as StoreInstallationError {
      throw ConfigurationError(subject: "packages", message: "\(place.name): \(error)")
    }
  }
}

/// The packages of a place, where they lie. Every call blocks.
enum PlacedPackages: Sendable {
  case directory(BlobDirectory)
  case store(OpenPackageStore)

  /// The packages of `place`, in its object store if it has one. `operations` write the files of a directory. Throws ``ConfigurationError``.
  init(
    of place: StatePlace, operations: any FileOperations = SystemFileOperations()
  ) throws(ConfigurationError) {
    if let store = place.store {
      self = .store(try OpenPackageStore(store))
    } else {
      self = .directory(BlobDirectory(place.directory, operations: operations))
    }
  }

  /// Throws ``ConfigurationError`` for the bucket of another installation than that of `place`, or of none.
  func checkInstallation(of place: StatePlace, for command: String) throws {
    guard case .store(let store) = self, let name = try place.installation(for: command) else { return }
    try store.check(for: name)
  }

  /// Every package and its length, in no order; what a store's lists have.
  func list() throws(BlobStoreError) -> [SHA256Digest: ByteCount] {
    switch self {
    case .directory(let directory): try directory.list()
    case .store(let store): try store.packages.list()
    }
  }

  /// Those of ``list()``, and those that the records need and a store's lists may lack.
  func lengths(of needs: [SHA256Digest: PackageNeed]) throws(BlobStoreError) -> [SHA256Digest: ByteCount] {
    var lengths = try list()
    guard case .store = self else { return lengths }
    for digest in needs.keys where lengths[digest] == nil { lengths[digest] = try length(of: digest) }
    return lengths
  }

  /// Copies a package of a directory to this place, in the place of one that is there. Throws `notFound`, `digestMismatch`,
  /// `unreadable` for what is wrong with the directory's.
  func put(
    _ digest: SHA256Digest, from directory: BlobDirectory, synchronizing: Bool = false,
    didRead: (ByteCount) -> Void
  ) throws(BlobStoreError) {
    switch self {
    case .directory(let target):
      try target.copy(digest, from: directory, synchronizing: synchronizing, didRead: didRead)
    case .store(let store):
      try store.packages.put(digest, from: directory)
      didRead(try directory.length(of: digest) ?? .zero)
    }
  }

  /// Nil when there is no such package.
  func length(of digest: SHA256Digest) throws(BlobStoreError) -> ByteCount? {
    switch self {
    case .directory(let directory): try directory.length(of: digest)
    case .store(let store): try store.packages.length(of: digest)
    }
  }

  /// Whether the bytes are those that the name says, by reading them. Throws `notFound`.
  func isWhole(_ digest: SHA256Digest, didRead: (ByteCount) -> Void) throws(BlobStoreError) -> Bool {
    switch self {
    case .directory(let directory): try directory.isWhole(digest, didRead: didRead)
    case .store(let store): try store.packages.isWhole(digest, didRead: didRead)
    }
  }

  /// Copies a package into a directory, as `BlobDirectory` does.
  func copy(
    _ digest: SHA256Digest, to directory: BlobDirectory, synchronizing: Bool = false,
    didRead: (ByteCount) -> Void
  ) throws(BlobStoreError) {
    switch self {
    case .directory(let source):
      try directory.copy(digest, from: source, synchronizing: synchronizing, didRead: didRead)
    case .store(let store):
      try store.packages.copy(digest, to: directory, synchronizing: synchronizing, didRead: didRead)
    }
  }
}
