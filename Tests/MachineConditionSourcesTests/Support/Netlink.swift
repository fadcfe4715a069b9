/// Messages as rtnetlink(7) lays them out, in this machine's own order of bytes.
enum Netlink {
  static func bytes<Value: FixedWidthInteger>(_ value: Value) -> [UInt8] {
    unsafe withUnsafeBytes(of: value) { unsafe Array($0) }
  }

  static func attribute(_ kind: UInt16, _ value: [UInt8]) -> [UInt8] {
    padded(bytes(UInt16(4 + value.count)) + bytes(kind) + value)
  }

  static func message(
    _ kind: UInt16, flags: UInt16 = 0, sequence: UInt32 = 0, _ body: [UInt8]
  ) -> [UInt8] {
    padded(
      bytes(UInt32(16 + body.count)) + bytes(kind) + bytes(flags) + bytes(sequence) + bytes(UInt32(0)) + body)
  }

  /// `NLMSG_DONE`
  static func done(_ sequence: UInt32, error: Int32 = 0) -> [UInt8] {
    message(3, flags: 2, sequence: sequence, bytes(-error))
  }

  /// `NLMSG_ERROR` with the number of errno(3), before the question that is refused.
  static func refusal(_ sequence: UInt32, error: Int32) -> [UInt8] {
    message(2, sequence: sequence, bytes(-error) + [UInt8](repeating: 0, count: 16))
  }

  /// `struct ifinfomsg` with the name.
  static func link(_ index: Int32, _ name: String, flags: UInt32, kind: UInt16 = 16) -> [UInt8] {
    message(
      kind,
      [0, 0] + bytes(UInt16(1)) + bytes(index) + bytes(flags) + bytes(UInt32(0))
        + attribute(3, Array(name.utf8) + [0]))
  }

  /// `struct ifaddrmsg` with the address.
  static func address(
    _ index: UInt32, _ address: [UInt8], scope: UInt8 = 0, kind: UInt16 = 20
  ) -> [UInt8] {
    message(kind, [address.count == 4 ? 2 : 10, 24, 0, scope] + bytes(index) + attribute(1, address))
  }

  /// `struct rtmsg` of a default route of the main table.
  static func route(_ index: UInt32, priority: UInt32, kind: UInt16 = 24) -> [UInt8] {
    message(
      kind,
      [2, 0, 0, 0, 254, 3, 0, 1] + bytes(UInt32(0)) + attribute(4, bytes(index))
        + attribute(6, bytes(priority)))
  }

  private static func padded(_ bytes: [UInt8]) -> [UInt8] {
    bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
  }
}
