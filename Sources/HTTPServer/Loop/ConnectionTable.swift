/// The connections of one loop in one block of memory, addressed by index. Only the part that was ever used
/// is touched.
// Safe although it holds a pointer: it owns the memory, every index is checked against what was initialized,
// and only the loop's thread has it.
@safe
struct ConnectionTable: ~Copyable {
  private let base: UnsafeMutablePointer<ClientConnection>
  let capacity: Int
  private var used = 0
  private var free: [Int] = []
  private(set) var openCount = 0

  init(capacity: Int) {
    self.capacity = capacity
    unsafe base = .allocate(capacity: capacity)
  }

  deinit {
    unsafe base.deinitialize(count: used)
    unsafe base.deallocate()
  }

  /// Highest index ever used, plus one.
  var end: Int { used }
  var isFull: Bool { free.isEmpty && used == capacity }

  subscript(index: Int) -> ClientConnection {
    @inline(__always)
    unsafeAddress {
      precondition(index >= 0 && index < used)
      return unsafe UnsafePointer(base + index)
    }
    @inline(__always)
    nonmutating unsafeMutableAddress {
      precondition(index >= 0 && index < used)
      return unsafe base + index
    }
  }

  /// Takes a place; there must be one.
  mutating func add(descriptor: Int32, peer: PeerAddress, tls: consuming TLSSession) -> Int {
    precondition(!isFull)
    openCount += 1
    if let index = free.popLast() {
      let generation = self[index].generation.next
      self[index] = ClientConnection(descriptor: descriptor, generation: generation, peer: peer, tls: tls)
      return index
    }
    let index = used
    used += 1
    unsafe (base + index).initialize(
      to: ClientConnection(
        descriptor: descriptor, generation: ConnectionTag.Generation(), peer: peer, tls: tls))
    return index
  }

  /// Gives the place back; the connection there stays readable, closed, until it is taken again.
  mutating func remove(_ index: Int) {
    openCount -= 1
    self[index].generation = self[index].generation.next
    free.append(index)
  }
}
