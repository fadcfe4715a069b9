/// The subject of an event of epoll, in the 64 bits that epoll keeps with a descriptor: two for the kind, 30
/// for a generation, 32 for an index.
enum EventSubject: Hashable, Sendable {
  case connection(ConnectionTag)
  /// The place of a listening socket among its loop's.
  case listener(Int)
  case mailbox

  private static let listenerBit: UInt64 = 1 << 63
  private static let mailboxBit: UInt64 = 1 << 62
  private static let indexMask: UInt64 = 0xFFFF_FFFF

  @inline(__always)
  init(rawValue: UInt64) {
    let index = Int(rawValue & Self.indexMask)
    if rawValue & Self.listenerBit != 0 {
      self = .listener(index)
    } else if rawValue & Self.mailboxBit != 0 {
      self = .mailbox
    } else {
      let generation = ConnectionTag.Generation(rawValue: UInt32(truncatingIfNeeded: rawValue >> 32))
      self = .connection(ConnectionTag(index: index, generation: generation))
    }
  }

  var rawValue: UInt64 {
    switch self {
    case .connection(let tag): UInt64(tag.generation.rawValue) << 32 | UInt64(tag.index)
    case .listener(let position): Self.listenerBit | UInt64(position)
    case .mailbox: Self.mailboxBit
    }
  }
}
