import CoreTypes
internal import Synchronization

// Unchecked: the positions are atomic, and a slot is touched by the one side or the other as they say. Safe
// although it holds a pointer: it owns the memory, and positions are taken modulo its capacity.
/// The access records of one loop, on their way to a thread that writes them down: one thread appends, one at
/// a time drains, neither waits.
@safe
public final class AccessRing: @unchecked Sendable {
  let slots: UnsafeMutablePointer<AccessRecord>
  let capacity: Int
  /// Records ever put in.
  let written = Atomic<UInt64>(0)
  /// Records ever taken out.
  private let taken = Atomic<UInt64>(0)
  private let lost = Atomic<UInt64>(0)
  private let isDraining = Mutex(())

  init(capacity: Int) {
    var rounded = 2
    while rounded < min(capacity, 1 << 20) { rounded *= 2 }
    self.capacity = rounded
    unsafe slots = .allocate(capacity: rounded)
    unsafe slots.initialize(repeating: AccessRecord(), count: rounded)
  }

  deinit {
    unsafe slots.deinitialize(count: capacity)
    unsafe slots.deallocate()
  }

  /// Records that found the ring full.
  public var dropped: UInt64 { lost.load(ordering: .relaxed) }

  /// Hands every record that has arrived to `body`, the oldest first; returns how many there were.
  @discardableResult
  public func drain(_ body: (borrowing AccessRecord) -> Void) -> Int {
    isDraining.locked { _ in
      let end = written.load(ordering: .acquiring)
      let start = taken.load(ordering: .relaxed)
      var position = start
      while position < end {
        body(unsafe slots[Int(position & UInt64(capacity - 1))])
        position += 1
        taken.store(position, ordering: .releasing)
      }
      return Int(end - start)
    }
  }

  /// For the loop's thread only.
  func append(_ record: borrowing AccessRecord) {
    let position = written.load(ordering: .relaxed)
    guard position - taken.load(ordering: .acquiring) < UInt64(capacity) else {
      lost.store(lost.load(ordering: .relaxed) + 1, ordering: .relaxed)
      return
    }
    unsafe slots[Int(position & UInt64(capacity - 1))] = copy record
    written.store(position + 1, ordering: .releasing)
  }
}

/// An ``AccessRing`` without counting references to it.
// Safe: its maker, an event loop, keeps the ring for as long.
@safe
struct UnownedRing {
  private let ring: Unmanaged<AccessRing>

  init(_ ring: AccessRing) {
    unsafe self.ring = Unmanaged.passUnretained(ring)
  }

  func append(_ record: AccessRecord) {
    unsafe ring._withUnsafeGuaranteedRef { $0.append(record) }
  }
}
