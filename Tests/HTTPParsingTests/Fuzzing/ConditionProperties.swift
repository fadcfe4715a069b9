import CoreTypes

@testable import HTTPParsing

/// Rules of dates and entity tags for any bytes.
enum ConditionProperties {
  private static let now = Timestamp(millisecondsSinceEpoch: 1_795_000_000_000)
  private static let tag = Array("\"v1\"".utf8)
  private static let weakTag = Array("W/\"v1\"".utf8)

  static func check(_ bytes: [UInt8]) -> String? {
    if let date = HTTPDate.parse(bytes.span, now: now) {
      let text = Array(HTTPDate.format(date).utf8)
      if HTTPDate.parse(text.span) != date {
        return "the date \(HTTPDate.format(date)) is another when read again"
      }
      if bytes.count == 29, bytes[16] == 32, bytes != text, !bytes.contains(Array(":60 ".utf8)) {
        return "another date is read: \(HTTPDate.format(date))"
      }
    }
    let strong = EntityTagList.matches(bytes.span, entityTag: tag.span, comparison: .strong)
    let weak = EntityTagList.matches(bytes.span, entityTag: tag.span, comparison: .weak)
    if strong, !weak { return "a strong match is no weak one" }
    if weak, bytes != [42], !bytes.contains(tag) { return "a match of a tag that is not there" }
    if EntityTagList.matches(bytes.span, entityTag: weakTag.span, comparison: .strong), bytes != [42] {
      return "a weak tag matches strongly"
    }
    // In front of any list, the tag is found.
    let listed = tag + [44] + bytes
    if !EntityTagList.matches(listed.span, entityTag: tag.span, comparison: .strong) {
      return "the tag is not found"
    }
    return nil
  }
}
