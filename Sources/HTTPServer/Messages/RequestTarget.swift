/// Path and query of an origin-form target, decoded.
struct RequestTarget {
  let path: String
  let segments: [String]
  let query: [QueryParameter]

  init(_ target: String) throws(RequestTargetError) {
    let parts = target.utf8.split(separator: ASCII.question, maxSplits: 1, omittingEmptySubsequences: false)
    let rawPath = parts.first.map(Array.init) ?? []
    path = String(decoding: rawPath, as: UTF8.self)
    var segments: [String] = []
    if path != "*" {
      guard rawPath.first == ASCII.slash else { throw RequestTargetError() }
      for part in rawPath.dropFirst().split(separator: ASCII.slash, omittingEmptySubsequences: false) {
        let segment = try RequestTarget.decode(part, plusIsSpace: false)
        // A slash or a control character that hid behind an escape would mean two things to two readers.
        guard segment.utf8.allSatisfy({ $0 >= ASCII.space && $0 != 0x7F && $0 != ASCII.slash }) else {
          throw RequestTargetError()
        }
        segments.append(segment)
      }
    }
    self.segments = segments
    var query: [QueryParameter] = []
    if parts.count > 1 {
      for pair in parts[1].split(separator: UInt8(ascii: "&")) {
        let sides = pair.split(separator: ASCII.equals, maxSplits: 1, omittingEmptySubsequences: false)
        query.append(
          QueryParameter(
            name: try RequestTarget.decode(sides[0], plusIsSpace: true),
            value: sides.count > 1 ? try RequestTarget.decode(sides[1], plusIsSpace: true) : ""))
      }
    }
    self.query = query
  }

  private static func decode(
    _ bytes: some Collection<UInt8>, plusIsSpace: Bool
  ) throws(RequestTargetError) -> String {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(bytes.count)
    var iterator = bytes.makeIterator()
    while let byte = iterator.next() {
      if byte == ASCII.percent {
        guard let high = iterator.next().flatMap(ASCII.hexadecimalValue),
          let low = iterator.next().flatMap(ASCII.hexadecimalValue)
        else { throw RequestTargetError() }
        decoded.append(high << 4 | low)
      } else {
        decoded.append(byte == ASCII.plus && plusIsSpace ? ASCII.space : byte)
      }
    }
    guard let text = String(validating: decoded, as: UTF8.self) else { throw RequestTargetError() }
    return text
  }
}
