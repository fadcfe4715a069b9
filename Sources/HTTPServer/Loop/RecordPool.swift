/// The access records of the requests in progress on one loop. Idle connections need none, and the record
/// freed last is reused first, so that the records of small responses share a place in the processor's cache.
// Safe although it holds a pointer: it owns the memory, every place is checked against what was initialized,
// and only the loop's thread has it.
@safe
struct RecordPool: ~Copyable {
  private let base: UnsafeMutablePointer<AccessRecord>
  private let capacity: Int
  private var used = 0
  private var vacant: [Int32] = []

  /// With room for a request on each of `capacity` connections.
  init(capacity: Int) {
    self.capacity = capacity
    unsafe base = .allocate(capacity: capacity)
  }

  deinit {
    unsafe base.deinitialize(count: used)
    unsafe base.deallocate()
  }

  subscript(place: Int32) -> AccessRecord {
    @inline(__always)
    unsafeAddress {
      precondition(place >= 0 && Int(place) < used)
      return unsafe UnsafePointer(base + Int(place))
    }
    @inline(__always)
    nonmutating unsafeMutableAddress {
      precondition(place >= 0 && Int(place) < used)
      return unsafe base + Int(place)
    }
  }

  /// A place whose record still says what its last request left there.
  mutating func allocate() -> Int32 {
    if let place = vacant.popLast() { return place }
    precondition(used < capacity)
    unsafe (base + used).initialize(to: AccessRecord())
    used += 1
    return Int32(used - 1)
  }

  mutating func free(_ place: Int32) {
    vacant.append(place)
  }
}
