/// Names a connection of a loop, so that late news cannot reach the one that took its place.
struct ConnectionTag: Hashable, Sendable {
  /// How often the place was given away or taken, modulo 2^30.
  struct Generation: Hashable, Sendable {
    fileprivate static let bits: UInt32 = 30

    fileprivate(set) var rawValue: UInt32 = 0

    /// The one after the greatest is the first again: so late news would be 500 million connections old.
    var next: Generation { Generation(rawValue: (rawValue + 1) & (1 << Self.bits - 1)) }
  }

  let index: Int
  let generation: Generation
}
