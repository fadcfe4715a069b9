package import CatalogDocuments
package import Commerce
package import ContentCatalog
import CoreTypes
package import Entitlements

/// The shelves of the whole catalog, arranged once for each change of it.
package struct CatalogOrder: Sendable {
  /// In the operator's order.
  package let publications: Shelf
  /// The issues of all publications, the newest first.
  package let new: Shelf
  /// The products that belong to no publication, the newest first.
  package let singles: Shelf
  /// By publication: its subscriptions, and behind them its issues, the newest first.
  package let shelves: [ProductIdentifier: Shelf]
  /// By publication: its issues by their dates, which tell what a new subscription opens.
  package let issues: [ProductIdentifier: PublicationIssues]
  package let search: SearchIndex

  /// Sorts the whole catalog, so it is made on a thread for computations.
  package init(_ catalog: CatalogSnapshot) {
    let index = PublicationIndex(catalog)
    publications = Shelf(index.publications)
    let products = catalog.entriesInOrder.map(\.product).sorted(by: ShopWindow.isNewer)
    let issues = products.filter { !$0.type.isSubscription }
    new = Shelf(issues.filter { $0.publication != nil }.map(\.id))
    singles = Shelf(issues.filter { $0.publication == nil }.map(\.id))
    var shelves: [ProductIdentifier: [Product]] = [:]
    for product in products {
      if let publication = product.publication { shelves[publication, default: []].append(product) }
    }
    self.shelves = shelves.mapValues { products in
      Shelf(
        products.filter(\.type.isSubscription).map(\.id)
          + products.filter { !$0.type.isSubscription }.map(\.id))
    }
    self.issues = shelves.mapValues { PublicationIssues(of: $0) }
    search = SearchIndex(of: products, describing: catalog.described)
  }
}
