package import AgentRecords
package import Commerce
import CoreTypes
import Synchronization

/// The server's listings that the records hold, read by everything that shows an item.
package final class KeptListings: Sendable {
  private let listings = Mutex<[ProductIdentifier: KeptListing]>([:])
  private let publications = Mutex<[ProductIdentifier: KeptPublication]>([:])
  /// The products with arrivals since the server was asked last.
  private let expected = Mutex<Set<ProductIdentifier>>([])

  /// Nil for a product of which nothing is kept.
  package subscript(product: ProductIdentifier) -> KeptListing? {
    get { listings.locked { $0[product] } }
    set { listings.locked { $0[product] = newValue } }
  }

  /// More arrives: to be said before that is saved, so that no answer to an earlier question counts for it.
  package func noteArrival(of products: [ProductIdentifier]) {
    expected.locked { $0.formUnion(products) }
  }

  /// The server is being asked.
  package func noteQuestion(about products: [ProductIdentifier]) {
    expected.locked { $0.subtract(products) }
  }

  /// Whether more has arrived since the server was asked.
  func hasArrived(_ product: ProductIdentifier) -> Bool {
    expected.locked { $0.contains(product) }
  }

  /// Those of which there is a cover, by identifier.
  var withCover: [ProductIdentifier] {
    listings.locked { $0.filter { $0.value.cover != nil }.keys.sorted() }
  }

  /// In place of all that was known.
  package func load(
    _ all: [ProductIdentifier: KeptListing], publications titles: [ProductIdentifier: KeptPublication]
  ) {
    listings.locked { $0 = all }
    publications.locked { $0 = titles }
  }

  /// The title of a publication; nil where the server has told nothing.
  package subscript(publication publication: ProductIdentifier) -> KeptPublication? {
    get { publications.locked { $0[publication] } }
    set { publications.locked { $0[publication] = newValue } }
  }

  /// The publications that listings name, whose titles are not known in that language, by identifier.
  package func publications(withoutTitleIn locale: String?) -> [ProductIdentifier] {
    let named = Set(listings.locked { $0.values.compactMap(\.publication) })
    return publications.locked { known in
      named.filter { known[$0].map { $0.locale != locale } ?? true }
    }.sorted()
  }
}
