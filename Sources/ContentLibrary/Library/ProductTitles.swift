package import Commerce
import CoreTypes
import Synchronization

/// The titles of products, as the newest manifest that this process has read names them, or the server's list before there is
/// one; for people only. One short text for each product that the device had to do with.
package final class ProductTitles: Sendable {
  private let titles = Mutex<[ProductIdentifier: String]>([:])

  /// The largest number of titles that are kept for products that are only listed for sale and never downloaded.
  package static let maximumListed = 1000

  private let listed = Mutex<[ProductIdentifier: String]>([:])

  /// Nil while neither a manifest nor a list was read that names one.
  package subscript(product: ProductIdentifier) -> String? {
    titles.locked { $0[product] } ?? listed.locked { $0[product] }
  }

  /// Nil changes nothing.
  package func note(_ title: String?, of product: ProductIdentifier) {
    guard let title else { return }
    titles.locked { $0[product] = title }
  }

  /// A manifest's title goes before it. Beyond ``maximumListed`` all listed titles are forgotten first.
  package func noteListed(_ title: String, of product: ProductIdentifier) {
    listed.locked { listed in
      if listed.count >= Self.maximumListed, listed[product] == nil { listed.removeAll() }
      listed[product] = title
    }
  }
}
