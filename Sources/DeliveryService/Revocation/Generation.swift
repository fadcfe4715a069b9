import Synchronization

/// Counts the changes of what lets a ticket in: keys, limits, stops. A loop compares the count with the one it last
/// looked under: one load from memory that hardly ever changes, so that the processors share it without contention.
final class Generation: Sendable {
  private let count = Atomic<UInt64>(1)

  /// Never zero.
  var current: UInt64 { count.load(ordering: .acquiring) }

  /// Call it once the change can be read.
  func add() {
    count.add(1, ordering: .releasing)
  }
}
