/// A block of memory that a loop reads into, or writes into, again and again.
// Safe although it holds a pointer: it owns the memory, and its users pass the capacity along with the pointer.
@safe
struct ScratchBuffer: ~Copyable {
  let base: UnsafeMutablePointer<UInt8>
  let capacity: Int

  init(capacity: Int) {
    self.capacity = capacity
    unsafe base = .allocate(capacity: capacity)
    unsafe base.initialize(repeating: 0, count: capacity)
  }

  deinit {
    unsafe base.deallocate()
  }
}
