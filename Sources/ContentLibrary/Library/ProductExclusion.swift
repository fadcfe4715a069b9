import Commerce
import CoreTypes
import Synchronization

/// Lets one task at a time work on a product's content, in the order in which they ask; different products are free of each
/// other.
final class ProductExclusion: Sendable {
  private typealias Waiter = CheckedContinuation<Void, Never>

  /// The products that are worked on, each with those who wait for it.
  private let waiting = Mutex<[ProductIdentifier: [Waiter]]>([:])

  /// Runs `body` once nothing else works on the product. Waiting is not ended by cancellation; what a cancelled body does is
  /// its own matter. `body` must not ask for the same product again: it would wait for itself.
  func run<Value: Sendable>(
    _ product: ProductIdentifier, _ body: () async throws -> Value
  ) async rethrows -> Value {
    await enter(product)
    defer { leave(product) }
    return try await body()
  }

  /// Waits in the product's line.
  private func enter(_ product: ProductIdentifier) async {
    await withCheckedContinuation { (waiter: Waiter) in
      let isFree = waiting.locked { waiting in
        guard waiting[product] != nil else {
          waiting[product] = []
          return true
        }
        waiting[product]?.append(waiter)
        return false
      }
      if isFree { waiter.resume() }
    }
  }

  /// Hands the product to the one that waits longest.
  private func leave(_ product: ProductIdentifier) {
    let next = waiting.locked { waiting -> Waiter? in
      guard var waiters = waiting[product], !waiters.isEmpty else {
        waiting[product] = nil
        return nil
      }
      let next = waiters.removeFirst()
      waiting[product] = waiters
      return next
    }
    next?.resume()
  }
}
