package import Commerce
package import CoreTypes

/// Products that a server owes by what it says, and that have been delivered here: its record of their reports is lost, as where the state
/// of an earlier day was put back. Each is delivered once more for its transaction, and not again within ``pause`` in one run, whatever the
/// server goes on to say. Pure: it is told the time.
package struct RepeatedDeliveries: Hashable, Sendable {
  /// A delivery reads content that is here. Where the server counts no bytes of it, as more than a day after a restore, it is fetched again.
  static let pause: Duration = .seconds(3600)
  /// Deliveries that are remembered at most; the others wait.
  static let bound = 1024

  private struct Delivery: Hashable {
    var product: ProductIdentifier
    var transaction: TransactionIdentifier
  }

  private var latest: [Delivery: MonotonicInstant] = [:]

  package init() {}

  /// Whether the product may be delivered once more now.
  package mutating func isDue(
    _ product: ProductIdentifier, of transaction: TransactionIdentifier, at now: MonotonicInstant
  ) -> Bool {
    latest = latest.filter { now - $0.value < Self.pause }
    return latest[Delivery(product: product, transaction: transaction)] == nil && latest.count < Self.bound
  }

  /// Its delivery has begun.
  package mutating func note(
    _ product: ProductIdentifier, of transaction: TransactionIdentifier, at now: MonotonicInstant
  ) {
    latest[Delivery(product: product, transaction: transaction)] = now
  }
}
