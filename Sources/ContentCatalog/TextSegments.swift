/// Many short texts in few pieces of memory, one behind the other.
struct TextSegments: Sendable {
  /// The place of a text, which is good for as long as the value that it was appended to.
  package struct Place: Sendable {
    fileprivate var segment: Int32
    fileprivate var start: Int32
    fileprivate var end: Int32
  }

  /// A text that is longer has a segment of its own.
  private static let segmentLength = 1 << 20

  private var segments: [[UInt8]] = []

  /// Copies the text behind the others and returns where it is.
  mutating func append(_ text: String) -> Place {
    let length = text.utf8.count
    if segments.last.map({ $0.count + length > Self.segmentLength }) ?? true {
      segments.append([])
      segments[segments.count - 1].reserveCapacity(max(Self.segmentLength, length))
    }
    let segment = segments.count - 1
    let start = segments[segment].count
    segments[segment].append(contentsOf: text.utf8)
    return Place(segment: Int32(segment), start: Int32(start), end: Int32(start + length))
  }

  /// The text at a place. Copies it.
  subscript(_ place: Place) -> String {
    let bytes = segments[Int(place.segment)]
    return String(decoding: bytes[Int(place.start)..<Int(place.end)], as: UTF8.self)
  }
}
