import Synchronization

/// The number of the present state of what tickets are verified against: keys, limits, revocations. A loop
/// compares it with the number that it verified under: one load from memory that hardly ever changes, so that the
/// processors share it without contention.
final class Generation: Sendable {
  private let count = Atomic<UInt64>(1)

  /// Never zero.
  var current: UInt64 { count.load(ordering: .acquiring) }

  /// Makes everything that was verified before stale. Call it once the change can be read.
  func advance() {
    count.add(1, ordering: .releasing)
  }
}
