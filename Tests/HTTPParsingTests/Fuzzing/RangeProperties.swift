@testable import HTTPParsing

/// ``RangeSet`` against RFC 9110 §14.1, read a second time: slowly, with numbers of any size as strings.
enum RangeProperties {
  /// The first byte chooses the length of the representation, the rest is the field.
  static func check(_ bytes: [UInt8]) -> String? {
    guard let first = bytes.first else { return nil }
    let lengths: [Int64] = [0, 1, 2, 100, 1000, 86_893, (1 << 31) - 1, 1 << 31, (1 << 32) + 1, .max]
    let length = lengths[Int(first) % lengths.count]
    let field = Array(bytes.dropFirst())
    let parsed = RangeSet.parse(field.span, length: length)
    if let broken = checkShape(parsed, length) { return broken }
    let expected = reference(field, length)
    switch (expected, parsed) {
    case (nil, .ignore): return nil
    case (nil, .unsatisfiable): return isTooMany(field) ? nil : "what is no range is refused"
    case (nil, _): return "\(parsed) of what is no range"
    case (let ranges?, .unsatisfiable):
      return ranges.isEmpty || isTooMany(field) ? nil : "\(ranges) are refused"
    case (let ranges?, .single(let range)): return covers([range], ranges)
    case (let ranges?, .several(let several)): return covers(several, ranges)
    case (_?, .ignore): return length == 0 ? nil : "a range is overlooked"
    }
  }

  private static func checkShape(_ set: RangeSet, _ length: Int64) -> String? {
    let ranges: [Range<Int64>]
    switch set {
    case .ignore, .unsatisfiable: return nil
    case .single(let range): ranges = [range]
    case .several(let several):
      if several.count < 2 || several.count > RangeSet.maximumRanges { return "\(several.count) parts" }
      ranges = several
    }
    for range in ranges where range.isEmpty || range.lowerBound < 0 || range.upperBound > length {
      return "\(range) of \(length)"
    }
    let sorted = ranges.sorted { $0.lowerBound < $1.lowerBound }
    for (left, right) in zip(sorted, sorted.dropFirst())
    where right.lowerBound - left.upperBound < RangeSet.joiningGap {
      return "\(left) and \(right) are two parts"
    }
    return nil
  }

  /// Every range asked for lies within one that is answered, and no answer begins or ends where none was
  /// asked to.
  private static func covers(_ answered: [Range<Int64>], _ asked: [Range<Int64>]) -> String? {
    for range in asked
    where !answered.contains(where: { $0.lowerBound <= range.lowerBound && $0.upperBound >= range.upperBound }
    ) {
      return "\(range) is missing in \(answered)"
    }
    for range in answered {
      guard asked.contains(where: { $0.lowerBound == range.lowerBound }),
        asked.contains(where: { $0.upperBound == range.upperBound })
      else { return "\(range) was not asked for" }
    }
    return nil
  }

  private static func isTooMany(_ field: [UInt8]) -> Bool {
    field.dropFirst(6).split(separator: 44).filter { !trimmed($0).isEmpty }.count > RangeSet.maximumRanges
  }

  /// The satisfiable ranges; nil for what is no valid field of bytes.
  private static func reference(_ field: [UInt8], _ length: Int64) -> [Range<Int64>]? {
    guard field.count > 6, field.prefix(5).elementsEqual("bytes".utf8, by: { $0 | 0x20 == $1 }),
      field[5] == UInt8(ascii: "=")
    else { return nil }
    let end = Number(length)
    let last = Number(length - 1)
    var ranges: [Range<Int64>] = []
    var count = 0
    for element in field.dropFirst(6).split(separator: 44) {
      let spec = trimmed(element)
      if spec.isEmpty { continue }
      count += 1
      guard let hyphen = spec.firstIndex(of: 45), spec.count > 1 else { return nil }
      let before = spec[..<hyphen]
      let after = spec[(hyphen + 1)...]
      guard before.allSatisfy({ (48...57).contains($0) }), after.allSatisfy({ (48...57).contains($0) }) else {
        return nil
      }
      if before.isEmpty {
        let suffix = Number(after).clamped(to: end)
        if suffix > 0 { ranges.append(length - suffix..<length) }
        continue
      }
      let first = Number(before)
      if !after.isEmpty, Number(after) < first { return nil }
      let start = first.clamped(to: end)
      guard start < length else { continue }
      ranges.append(start..<(after.isEmpty ? length - 1 : Number(after).clamped(to: last)) + 1)
    }
    return count > 0 ? ranges : nil
  }

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let start = bytes.drop { $0 == 32 || $0 == 9 }
    guard let end = start.lastIndex(where: { $0 != 32 && $0 != 9 }) else { return [] }
    return start[...end]
  }

  /// A decimal number of any size.
  private struct Number {
    let digits: ArraySlice<UInt8>

    init(_ text: ArraySlice<UInt8>) { digits = text.drop { $0 == 48 } }

    init(_ value: Int64) { self.init(Array("\(max(0, value))".utf8)[...]) }

    static func < (left: Number, right: Number) -> Bool {
      left.digits.count != right.digits.count
        ? left.digits.count < right.digits.count : left.digits.lexicographicallyPrecedes(right.digits)
    }

    func clamped(to limit: Number) -> Int64 {
      (limit < self ? limit : self).digits.reduce(0) { $0 * 10 + Int64($1 - 48) }
    }
  }
}
