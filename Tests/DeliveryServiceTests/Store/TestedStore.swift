import HTTPClient
import ObjectStore
import PullboxTesting
import StorageTesting

@testable import DeliveryService

/// An object store for a test: one in memory, or the one that the environment names.
struct TestedStore {
  let location: String
  let endpoint: String
  let region: String?
  let keyFile: String
  /// Nil for the environment's.
  let memory: FakeObjectStore?

  init(_ isInMemory: Bool = true) throws {
    if isInMemory {
      let memory = try FakeObjectStore()
      self.memory = memory
      (location, endpoint, region, keyFile) = (memory.location, memory.endpoint, nil, memory.keyFile)
    } else {
      guard let tested = StoreUnderTest.present?.fresh() else { throw NoStore() }
      memory = nil
      (location, endpoint, region, keyFile) = (
        tested.location, tested.endpoint, tested.region, tested.keyFile
      )
    }
  }

  private struct NoStore: Error {}

  /// The options of a server whose packages lie there.
  var options: [String] {
    ["--packages", location, "--s3-endpoint", endpoint, "--s3-access-key-file", keyFile]
      + (region.map { ["--s3-region", $0] } ?? [])
  }

  /// The store as a configuration names it.
  var place: PackageStorePlace {
    get throws {
      PackageStorePlace(
        address: try ObjectStoreAddress(location: location, endpoint: endpoint, region: region),
        accessKeyFile: keyFile)
    }
  }

  /// The path of the bucket and the prefix in addresses.
  var path: String { String(location.dropFirst("s3:/".count)) }

  func store(_ client: HTTPClient) throws -> ObjectStore {
    ObjectStore(
      address: try ObjectStoreAddress(location: location, endpoint: endpoint, region: region),
      credentials: try ObjectStoreCredentials(file: keyFile), client: client)
  }
}
