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

  /// The connection there by itself, so that it and other parts of its loop can be changed in one call.
  func place(_ index: Int) -> ConnectionPlace {
    precondition(index >= 0 && index < used)
    return unsafe ConnectionPlace(base + index)
  }

  /// Takes a place; there must be one.
  mutating func add(descriptor: Int32, peer: PeerAddress, tls: consuming TLSSession) -> Int {
    precondition(!isFull)
    openCount += 1
    if let index = free.popLast() {
      let tag = ConnectionTag(index: index, generation: self[index].tag.generation.next)
      self[index] = ClientConnection(descriptor: descriptor, tag: tag, peer: peer, tls: tls)
      return index
    }
    let index = used
    used += 1
    let tag = ConnectionTag(index: index, generation: ConnectionTag.Generation())
    unsafe (base + index).initialize(
      to: ClientConnection(descriptor: descriptor, tag: tag, peer: peer, tls: tls))
    return index
  }

  /// Gives the place back; the connection there stays readable, closed, until it is taken again.
  mutating func remove(_ index: Int) {
    openCount -= 1
    self[index].tag = ConnectionTag(index: index, generation: self[index].tag.generation.next)
    free.append(index)
  }
}

/// A place of a ``ConnectionTable``, for as long as a loop works on what is there.
// Safe although it holds a pointer: tables live as long as their loops, and what is in a place stays initialized.
@safe
struct ConnectionPlace {
  private let pointer: UnsafeMutablePointer<ClientConnection>

  fileprivate init(_ pointer: UnsafeMutablePointer<ClientConnection>) {
    unsafe self.pointer = pointer
  }

  var connection: ClientConnection {
    @inline(__always)
    unsafeAddress { unsafe UnsafePointer(pointer) }
    @inline(__always)
    nonmutating unsafeMutableAddress { unsafe pointer }
  }
}
