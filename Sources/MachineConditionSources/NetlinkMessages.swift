import CoreTypes

/// The messages of rtnetlink(7) in what one read of the socket brings. What is cut short, or no message, ends the list. Pure.
struct NetlinkMessages: Sequence, IteratorProtocol, Sendable {
  /// One message: its kind, flags and sequence number, the fixed part behind the header, and the attributes behind that.
  struct Message: Sendable {
    let kind: UInt16
    let flags: UInt16
    /// That of the question which the message answers.
    let sequence: UInt32
    let body: ArraySlice<UInt8>

    /// A number of the fixed part; nil beyond its end. All numbers of netlink are in the machine's own order.
    func integer<Value: FixedWidthInteger>(at offset: Int, as type: Value.Type) -> Value? {
      NetlinkMessages.integer(in: body, at: body.startIndex + offset, as: type)
    }

    /// The bytes of the first attribute of that kind behind a fixed part of so many bytes; nil where there is none.
    func attribute(_ kind: UInt16, behind length: Int) -> ArraySlice<UInt8>? {
      var position = body.startIndex + NetlinkMessages.aligned(length)
      while let size = NetlinkMessages.integer(in: body, at: position, as: UInt16.self),
        let found = NetlinkMessages.integer(in: body, at: position + 2, as: UInt16.self)
      {
        let end = position + Int(size)
        guard size >= 4, end <= body.endIndex else { return nil }
        // The two highest bits say how the kernel writes it.
        if found & 0x3FFF == kind { return body[(position + 4)..<end] }
        position += NetlinkMessages.aligned(Int(size))
      }
      return nil
    }
  }

  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The length, the kind, flags, a number and the sender are the 16 bytes before each message.
  mutating func next() -> Message? {
    guard let length = Self.integer(in: bytes[...], at: position, as: UInt32.self),
      let kind = Self.integer(in: bytes[...], at: position + 4, as: UInt16.self),
      let flags = Self.integer(in: bytes[...], at: position + 6, as: UInt16.self),
      let sequence = Self.integer(in: bytes[...], at: position + 8, as: UInt32.self),
      length >= 16, Int(length) <= bytes.count - position
    else { return nil }
    let message = Message(
      kind: kind, flags: flags, sequence: sequence, body: bytes[(position + 16)..<(position + Int(length))])
    position += Self.aligned(Int(length))
    return message
  }

  private static func aligned(_ length: Int) -> Int { (length + 3) & ~3 }

  /// Nil beyond the end.
  static func integer<Value: FixedWidthInteger>(
    in bytes: ArraySlice<UInt8>, at position: Int, as type: Value.Type
  ) -> Value? {
    let size = Value.bitWidth / 8
    guard position >= bytes.startIndex, position <= bytes.endIndex - size else { return nil }
    var value = Value.zero
    for index in 0..<size { value |= Value(truncatingIfNeeded: bytes[position + index]) << (8 * index) }
    return Value(littleEndian: value)
  }
}
