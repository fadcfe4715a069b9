/// Where the three segments of a compact JSON Web Signature (RFC 7515 §7.1) stand in its text. What they hold is still encoded.
struct CompactSegments: Hashable, Sendable {
  let header: Range<Int>
  let payload: Range<Int>
  let signature: Range<Int>

  /// Bytes of the text that a signature covers: header and payload with the stop between them.
  var signed: Range<Int> { 0..<payload.upperBound }

  /// Nil unless there are exactly two stops, and no padding anywhere.
  init?(_ text: Span<UInt8>) {
    var stops: (first: Int?, second: Int?) = (nil, nil)
    for index in text.indices {
      switch text[index] {
      case UInt8(ascii: ".") where stops.first == nil: stops.first = index
      case UInt8(ascii: ".") where stops.second == nil: stops.second = index
      case UInt8(ascii: "."), UInt8(ascii: "="): return nil
      default: break
      }
    }
    guard let first = stops.first, let second = stops.second else { return nil }
    header = 0..<first
    payload = first + 1..<second
    signature = second + 1..<text.count
  }
}
