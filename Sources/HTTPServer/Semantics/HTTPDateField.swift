/// A whole `Date` field line, made once a second.
struct HTTPDateField: Sendable {
  private(set) var line = InlineArray<37, UInt8>(repeating: 0)

  init(secondsSinceEpoch: Int64) {
    var index = 0
    for byte in "Date: \(HTTPDate.format(secondsSinceEpoch: secondsSinceEpoch))\r\n".utf8 where index < 37 {
      line[index] = byte
      index += 1
    }
  }
}
