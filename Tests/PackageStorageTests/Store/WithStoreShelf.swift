import CoreTypes
import Crypto
import HTTPClient
import ObjectStore
import PullboxTesting

@testable import PackageStorage

extension ObjectStore {
  /// A client of the store with a thread of its own.
  convenience init(_ tested: StoreUnderTest) throws {
    self.init(
      address: try ObjectStoreAddress(
        location: tested.location, endpoint: tested.endpoint, region: tested.region),
      credentials: try ObjectStoreCredentials(file: tested.keyFile), client: try HTTPClient())
  }
}

/// Runs `body` with a shelf of the store, which belongs to an installation of that name, and removes afterwards what is there.
func withStoreShelf(
  _ tested: StoreUnderTest, of installation: String = "tested", cacheIn directory: String,
  _ body: (StoreShelf) async throws -> Void
) async throws {
  let store = try ObjectStore(tested)
  let owner = StoreInstallation(identifier: installation, store: store)
  try await owner.claim()
  let cache = try PackageCache.open(
    directory, size: .gibibytes(4), fetcher: StoreFetcher(store), setAside: { _, _ in })
  let shelf = StoreShelf(store, of: owner, cache: cache, describe: { _ in nil })
  try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask { try await cache.run() }
    try await body(shelf)
    group.cancelAll()
    try await group.waitForAll()
  }
  for object in try await store.list(within: .seconds(60)).objects {
    try await store.delete(object.key, within: .seconds(60))
  }
}
