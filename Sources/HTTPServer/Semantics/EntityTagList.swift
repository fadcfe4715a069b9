/// Compares an entity tag with the list of an `If-Match` or `If-None-Match` field (RFC 9110 §8.8.3, §13.1).
enum EntityTagList {
  enum Comparison: Hashable, Sendable {
    /// Both strong, and equal.
    case strong
    /// Equal but for the mark of weakness.
    case weak
  }

  /// `tag` is the representation's, with its quotes. A list that is not well-formed matches up to where it breaks.
  static func matches(_ list: Span<UInt8>, _ tag: Span<UInt8>, _ comparison: Comparison) -> Bool {
    if list.count == 1, list[0] == ASCII.asterisk { return true }
    let target = tag.extracting((isStrong(tag) ? 0 : 2)...)
    var position = 0
    while position < list.count {
      let byte = list[position]
      if byte == ASCII.comma || byte == ASCII.space || byte == ASCII.tab {
        position += 1
        continue
      }
      let start = position
      if !isStrong(list.extracting(position...)) { position += 2 }
      guard position < list.count, list[position] == ASCII.quote else { return false }
      let opening = position
      position += 1
      while position < list.count, list[position] != ASCII.quote { position += 1 }
      guard position < list.count else { return false }
      position += 1
      let isSame = areEqual(list.extracting(opening..<position), target)
      switch comparison {
      case .weak: if isSame { return true }
      case .strong: if isSame, start == opening, isStrong(tag) { return true }
      }
    }
    return false
  }

  static func isStrong(_ tag: Span<UInt8>) -> Bool {
    !(tag.count >= 2 && tag[0] == UInt8(ascii: "W") && tag[1] == ASCII.slash)
  }

  static func areEqual(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    for index in left.indices where left[index] != right[index] { return false }
    return true
  }
}
