import Synchronization

/// Names one transfer across threads, and remembers whether it was cancelled, possibly before the loop knew
/// of it.
final class TransferToken: Sendable {
  private let cancelled = Atomic(false)

  var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  func markCancelled() {
    cancelled.store(true, ordering: .releasing)
  }
}
