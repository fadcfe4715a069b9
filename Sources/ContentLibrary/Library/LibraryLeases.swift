package import Commerce
import CoreTypes
package import ServiceRuntime
import Synchronization

/// The versions that programs have open. As long as a lease is held, its version is not removed to make room, and not because a later one
/// has replaced it.
package final class LibraryLeases: Sendable {
  /// A version of a product.
  private struct Version: Hashable {
    var product: ProductIdentifier
    var version: ContentVersion
  }

  /// One lease. Its taker ends it.
  package struct Lease: Hashable, Sendable {
    fileprivate let number: UInt64
    package let product: ProductIdentifier
    package let version: ContentVersion
  }

  /// Guarded by one lock.
  private struct State {
    var counts: [Version: Int] = [:]
    /// Ends that wait for the agent's, by the numbers of their leases.
    var ends: [UInt64: AsyncStream<Never>.Continuation] = [:]
    var next: UInt64 = 0
    var isClosed = false
  }

  /// Leases that are held at once, at most.
  package static let maximumCount = 64

  private let state = Mutex(State())
  /// Given whenever a lease has ended, and when content was placed: a version may go.
  package let wakeUp = AsyncSignal()

  package init() {}

  /// Whether a program has that version open.
  package func holds(_ product: ProductIdentifier, _ version: ContentVersion) -> Bool {
    state.locked { $0.counts[Version(product: product, version: version)] != nil }
  }

  /// Leases that are held.
  package var count: Int { state.locked { $0.ends.count } }

  /// A lease, with a stream that ends with the agent; nil where there are ``maximumCount``, and once the agent ends. To be called by who has
  /// the product to itself.
  func take(
    _ product: ProductIdentifier, _ version: ContentVersion
  ) -> (lease: Lease, end: AsyncStream<Never>)? {
    let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
    let lease = state.locked { state -> Lease? in
      guard !state.isClosed, state.ends.count < Self.maximumCount else { return nil }
      state.next += 1
      state.counts[Version(product: product, version: version), default: 0] += 1
      state.ends[state.next] = continuation
      return Lease(number: state.next, product: product, version: version)
    }
    return lease.map { ($0, stream) }
  }

  /// Ends a lease; ending it again changes nothing.
  package func end(_ lease: Lease) {
    let continuation = state.locked { state in
      guard let continuation = state.ends.removeValue(forKey: lease.number) else {
        return AsyncStream<Never>.Continuation?.none
      }
      let version = Version(product: lease.product, version: lease.version)
      let count = state.counts[version, default: 1] - 1
      state.counts[version] = count > 0 ? count : nil
      return continuation
    }
    guard let continuation else { return }
    continuation.finish()
    wakeUp.signal()
  }

  /// The agent ends: no lease is given any more, and who holds one is told.
  package func close() {
    let continuations = state.locked { state in
      state.isClosed = true
      return Array(state.ends.values)
    }
    for continuation in continuations { continuation.finish() }
  }
}
