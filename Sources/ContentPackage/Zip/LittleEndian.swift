extension [UInt8] {
  mutating func append(littleEndian value: some FixedWidthInteger & UnsignedInteger) {
    var rest = UInt64(value)
    for _ in 0..<value.bitWidth / 8 {
      append(UInt8(truncatingIfNeeded: rest))
      rest >>= 8
    }
  }

  /// The unsigned integer at `offset`; its bytes must be there.
  func littleEndian<Value: FixedWidthInteger & UnsignedInteger>(
    at offset: Int, as type: Value.Type = Value.self
  ) -> Value {
    var value: UInt64 = 0
    for index in stride(from: Value.bitWidth / 8 - 1, through: 0, by: -1) {
      value = value << 8 | UInt64(self[offset + index])
    }
    return Value(truncatingIfNeeded: value)
  }
}
