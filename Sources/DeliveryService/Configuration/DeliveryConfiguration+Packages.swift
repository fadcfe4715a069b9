import CoreTypes
import HTTPClient
import ObjectStore
import PackageStorage
public import ServiceRuntime
import SystemCalls

extension DeliveryConfiguration {
  /// The object store, where packages lie in one.
  public struct PackageStore: Decodable, Hashable, Sendable {
    /// The store's address; AWS, by the region, without it.
    public var endpoint: String?
    /// The name of the region that is part of each signature.
    public var region: String?
    /// The file of the key.
    public var accessKeyFile: String?
    /// Whether the bucket stands in the path; without it the endpoint decides.
    public var pathStyle: Bool?
    /// PEM file of the authorities whose certificates count; the system's without it.
    public var authority: String?
  }

  /// The blocks of packages that this node keeps of an object store's.
  public struct Cache: Decodable, Hashable, Sendable {
    /// Where they lie; below the state directory without it.
    public var directory: String?
    /// The room that they may take.
    public var size: ConfigurationSize
  }

  /// The least size of a cache: the longest package is read as a whole when it is published, and others are being sent meanwhile.
  static let minimumCacheSize = ByteCount.gibibytes(4)

  /// The options of packages in an object store, which need a restart.
  static let packageStoreOptions: [CommandOption] = [
    .value(
      "packages", "URL",
      help:
        "Keep the packages in an object store that speaks S3 instead of the state directory: s3://BUCKET or s3://BUCKET/PREFIX"
    ).example("s3://comics/production"),
    .value(
      "s3-endpoint", "URL", key: "s3.endpoint",
      help: "Address of the object store: http or https, a host, perhaps a port; without it, AWS"
    ).example("https://store.example"),
    .value(
      "s3-region", "NAME", key: "s3.region",
      help: "Region that is part of each signature; us-east-1 without it"
    ).example("eu-central-1"),
    .value(
      "s3-access-key-file", "FILE", key: "s3.accessKeyFile",
      help: "The key for the object store: its name and its secret in a line each; only its owner may read it"
    ).example("/etc/pullbox/store.key"),
    .value(
      "s3-path-style", "BOOLEAN", key: "s3.pathStyle",
      help:
        "Whether the bucket stands in the path of addresses, and not in the host's name; without it, the endpoint decides"
    ).example("true"),
    .value(
      "s3-authority", "FILE", key: "s3.authority",
      help: "PEM: the authorities whose certificates count for the object store; without it, the system's"
    ).example("/etc/pullbox/store-ca.pem"),
    .value(
      "cache-directory", "DIR", key: "cache.directory",
      help:
        "Where this server keeps what it has read of an object store's packages; DIR/cache of --state without it"
    ).example("/srv/pullbox/cache"),
    .value(
      "cache-size", "SIZE", fallback: "20GiB", key: "cache.size",
      help: "Room that this may take, 4GiB at least"),
    .flag(
      "scrub-reads",
      help:
        "Also read packages in an object store to see whether they are whole; otherwise their lengths alone are compared"
    ),
  ]

  /// The directory of the cache.
  var cacheDirectory: String { cache.directory ?? state + "/cache" }

  /// Where packages lie: nil for the state directory. Throws ``ConfigurationError`` for settings that name no store, or do not go together.
  func packageStoreAddress() throws(ConfigurationError) -> ObjectStoreAddress? {
    guard let packages else { return nil }
    guard s3?.accessKeyFile != nil else {
      throw ConfigurationError(subject: "s3.accessKeyFile", message: "packages in an object store need a key")
    }
    guard cache.size.bytes >= Self.minimumCacheSize else {
      throw ConfigurationError(subject: "cache.size", message: "\(Self.minimumCacheSize) at least are needed")
    }
    do {
      return try ObjectStoreAddress(
        location: packages, endpoint: s3?.endpoint, region: s3?.region, pathStyle: s3?.pathStyle)
    } catch {
      let subject =
        switch error.part {
        case .endpoint: "s3.endpoint"
        case .region: "s3.region"
        case .location: "packages"
        }
      throw ConfigurationError(subject: subject, message: error.message)
    }
  }

  /// The client of the store where packages lie, which has sent nothing yet; nil for the state directory. Blocks while it reads the key. Throws
  /// ``ConfigurationError``.
  func packageStore(_ client: HTTPClient) throws(ConfigurationError) -> ObjectStore? {
    try packageStorePlace()?.connect(client)
  }

  /// The store where packages lie, as the configuration names it; nil for the state directory. Throws ``ConfigurationError``.
  func packageStorePlace() throws(ConfigurationError) -> PackageStorePlace? {
    guard let address = try packageStoreAddress(), let path = s3?.accessKeyFile else { return nil }
    return PackageStorePlace(address: address, accessKeyFile: path, authority: s3?.authority)
  }

  /// Asks the store where packages lie, if they lie in one.
  public func askServices() async throws(ConfigurationError) {
    guard try packageStoreAddress() != nil else { return }
    let client: HTTPClient
    do {
      client = try HTTPClient()
    } catch {
      throw ConfigurationError(subject: "packages", message: "\(error)")
    }
    defer { client.shutDown() }
    let store = try await BlockingPool.shared.run { () throws(ConfigurationError) in try packageStore(client)
    }
    if let store { try await Self.ask(store) }
  }

  /// Puts, gets and deletes a small object. Throws ``ConfigurationError`` with the setting that is to be looked at.
  static func ask(_ store: ObjectStore) async throws(ConfigurationError) {
    do throws(ObjectStoreError) {
      try await StoreTrial(store).run()
    } catch {
      throw ConfigurationError(
        subject: PackageStorePlace.setting(of: error), message: "\(store.address.host): \(error)")
    }
  }
}
