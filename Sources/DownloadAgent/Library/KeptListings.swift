import Commerce
import Synchronization

/// What is kept of the server's listings, as the records have it; read by whatever shows an item.
final class KeptListings: Sendable {
  private let listings = Mutex<[ProductIdentifier: KeptListing]>([:])

  subscript(product: ProductIdentifier) -> KeptListing? {
    get { listings.withLock { $0[product] } }
    set { listings.withLock { $0[product] = newValue } }
  }

  /// In place of all that was known.
  func load(_ all: [ProductIdentifier: KeptListing]) {
    listings.withLock { $0 = all }
  }
}
