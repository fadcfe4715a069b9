/// One `name=value` of a query, decoded. `name` alone has an empty value.
public struct QueryParameter: Sendable, Hashable {
  /// The part before the first `=`, decoded.
  public var name: String
  /// The part after the first `=`, decoded; empty without one.
  public var value: String

  /// A parameter that is decoded already.
  public init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}

/// Path and query of an origin-form target, decoded.
package struct RequestTarget {
  /// The path as received, percent-encoded, without the query.
  package let path: String
  /// The parts of the path between slashes, decoded; none of `*`.
  package let segments: [String]
  /// The parameters in order, decoded.
  package let query: [QueryParameter]

  /// Decodes `target`. What follows one of `undividedPaths`, which end with a slash, is one segment.
  package init(_ target: String, undividedPaths: [String] = []) throws(RequestTargetError) {
    let parts = target.utf8.split(separator: ASCII.question, maxSplits: 1, omittingEmptySubsequences: false)
    let rawPath = parts.first.map(Array.init) ?? []
    path = String(decoding: rawPath, as: UTF8.self)
    var segments: [String] = []
    if path != "*" {
      guard rawPath.first == ASCII.slash else { throw RequestTargetError() }
      let undivided = undividedPaths.first { rawPath.starts(with: $0.utf8) }
      var divided = rawPath[...]
      if let undivided { divided = rawPath.prefix(undivided.utf8.count - 1) }
      for part in divided.dropFirst().split(separator: ASCII.slash, omittingEmptySubsequences: false) {
        segments.append(try RequestTarget.segment(part, mayHaveSlashes: false))
      }
      if let undivided {
        segments.append(
          try RequestTarget.segment(rawPath.dropFirst(undivided.utf8.count), mayHaveSlashes: true))
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

  /// A control character, or a slash between segments, that hid behind an escape would mean two things to two readers.
  private static func segment(
    _ bytes: some Collection<UInt8>, mayHaveSlashes: Bool
  ) throws(RequestTargetError) -> String {
    let segment = try decode(bytes, plusIsSpace: false)
    let isUnambiguous = segment.utf8.allSatisfy { byte in
      byte >= ASCII.space && byte != 0x7F && (mayHaveSlashes || byte != ASCII.slash)
    }
    guard isUnambiguous else { throw RequestTargetError() }
    return segment
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

/// A request target that does not decode to text.
public struct RequestTargetError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A sentence without a full stop.
  public var description: String { "the request target does not decode to text" }
}
