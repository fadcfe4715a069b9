/// Names a connection of a loop, so that late news cannot reach the one that took its place.
struct ConnectionTag: Hashable, Sendable {
  let index: Int
  let generation: UInt32

  init(index: Int, generation: UInt32) {
    self.index = index
    self.generation = generation
  }

  /// As epoll carries it.
  init(rawValue: UInt64) {
    index = Int(rawValue & 0xFFFF_FFFF)
    generation = UInt32(truncatingIfNeeded: rawValue >> 32)
  }

  var rawValue: UInt64 { UInt64(generation) << 32 | UInt64(index) }
}
