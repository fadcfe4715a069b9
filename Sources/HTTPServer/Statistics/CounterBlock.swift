internal import Synchronization

/// The counters of one loop. Only its thread adds, so that adding is no more than a load and a store; anybody may look.
// Unchecked: the words are atomic. Safe although it holds a pointer: it owns the memory and checks every position.
@safe
final class CounterBlock: @unchecked Sendable {
  private let words: UnsafeMutablePointer<Atomic<UInt64>>

  init() {
    unsafe words = .allocate(capacity: Counter.count)
    for position in 0..<Counter.count { unsafe (words + position).initialize(to: Atomic(0)) }
  }

  deinit {
    unsafe words.deinitialize(count: Counter.count)
    unsafe words.deallocate()
  }

  /// For the loop's thread only.
  @inline(__always)
  func add(_ position: Int, _ count: UInt64 = 1) {
    precondition(position >= 0 && position < Counter.count)
    let value = unsafe words[position].load(ordering: .relaxed)
    unsafe words[position].store(value &+ count, ordering: .relaxed)
  }

  func value(_ position: Int) -> UInt64 {
    precondition(position >= 0 && position < Counter.count)
    return unsafe words[position].load(ordering: .relaxed)
  }
}
