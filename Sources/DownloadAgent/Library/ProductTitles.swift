import Commerce
import Synchronization

/// The titles of products, as the newest manifest that this process has read names them; for people only. One short text for
/// each product that the device had to do with.
final class ProductTitles: Sendable {
  private let titles = Mutex<[ProductIdentifier: String]>([:])

  /// Nil while no manifest was read, and where it names none.
  subscript(product: ProductIdentifier) -> String? { titles.withLock { $0[product] } }

  func note(_ title: String?, of product: ProductIdentifier) {
    guard let title else { return }
    titles.withLock { $0[product] = title }
  }
}
