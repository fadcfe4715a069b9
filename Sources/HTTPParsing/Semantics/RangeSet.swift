/// The ranges that a `Range` field asks of a representation of known length (RFC 9110 §14.1 and §14.2).
///
/// A handler reads the set from the request and answers each case with its own status: 200 with everything,
/// 206 with one range, 206 with ``MultipartRanges``, 416. ``Preconditions`` come first, since `If-Range` may
/// set the field aside. A single range allocates nothing.
///
/// ```swift
/// switch RangeSet.requested(request, length: file.length.rawValue) {
/// case .ignore: HTTPResponse(status: .ok, body: .file(file, 0..<file.length.rawValue))
/// case .single(let range): HTTPResponse(status: .partialContent, body: .file(file, range))
/// case .several(let ranges): HTTPResponse(
///   status: .partialContent, body: .parts(MultipartRanges(ranges, of: file, partType: type).parts))
/// case .unsatisfiable: HTTPResponse(status: .rangeNotSatisfiable)
/// }
/// ```
public enum RangeSet: Hashable, Sendable {
  /// Answer as if the field were not there: absent, another unit, another method, or not valid. Also for an
  /// empty representation, of which there are no parts.
  case ignore
  /// One range, which needs no list.
  case single(Range<Int64>)
  /// Two ranges or more, in the order asked for, unsatisfiable ones dropped, overlapping ones and near
  /// neighbors joined; within the representation and none empty.
  case several([Range<Int64>])
  /// 416: nothing of what is asked exists, or more than ``maximumRanges`` are asked for (a whole package
  /// would be an expensive answer to an abusive client).
  case unsatisfiable

  /// Ranges that one field may ask for.
  public static let maximumRanges = 32
  /// Ranges are joined when fewer bytes than a part's head would take lie between them.
  public static let joiningGap: Int64 = 80

  /// Reads the value of a `Range` field. `length` is the representation's. Numbers of any size are
  /// understood.
  public static func parse(_ field: Span<UInt8>, length: Int64) -> RangeSet {
    guard length > 0, var reader = RangeReader(field, length: length) else { return .ignore }
    guard let first = reader.next(field) else { return .ignore }
    if reader.isAtEnd(field) {
      switch first {
      case .invalid: return .ignore
      case .unsatisfiable: return .unsatisfiable
      case .range(let range): return .single(range)
      }
    }
    return parseSeveral(startingWith: first, reader: &reader, field: field)
  }

  /// The ranges that the request of an inline handler asks for; only GET has any, and two fields have none.
  public static func requested(
    head: borrowing RequestHead, bytes: Span<UInt8>, length: Int64
  ) -> RangeSet {
    guard head.method == .get, let value = head.value(of: .range), !head.isRepeated(.range) else {
      return .ignore
    }
    return parse(bytes.extracting(value), length: length)
  }

  private static func parseSeveral(
    startingWith first: RangeReader.Element, reader: inout RangeReader, field: Span<UInt8>
  ) -> RangeSet {
    var ranges: [Range<Int64>] = []
    var element: RangeReader.Element? = first
    var count = 0
    while let current = element {
      count += 1
      switch current {
      // One that is not valid makes the whole field so, however many there are.
      case .invalid: return .ignore
      case .unsatisfiable: break
      case .range(let range): if count <= maximumRanges { join(range, into: &ranges) }
      }
      element = reader.next(field)
    }
    guard count <= maximumRanges, let single = ranges.first else { return .unsatisfiable }
    return ranges.count == 1 ? .single(single) : .several(ranges)
  }

  /// Adds `range`, joined with whatever it touches, in the place of the first of these.
  private static func join(_ range: Range<Int64>, into ranges: inout [Range<Int64>]) {
    var joined = range
    var place: Int?
    while let index = ranges.firstIndex(where: { touches($0, joined) }) {
      let other = ranges.remove(at: index)
      joined = min(joined.lowerBound, other.lowerBound)..<max(joined.upperBound, other.upperBound)
      place = min(place ?? index, index)
    }
    ranges.insert(joined, at: place ?? ranges.count)
  }

  private static func touches(_ left: Range<Int64>, _ right: Range<Int64>) -> Bool {
    left.lowerBound - right.upperBound < joiningGap && right.lowerBound - left.upperBound < joiningGap
  }
}

/// Walks through the range specs of a `Range` field. It is only a position: each step gets the field's bytes
/// anew.
struct RangeReader {
  /// One range spec, judged against the length.
  enum Element: Hashable {
    /// It breaks the grammar: the whole field counts for nothing.
    case invalid
    /// It is well formed, and none of its bytes exist.
    case unsatisfiable
    /// Its bytes that exist.
    case range(Range<Int64>)
  }

  private let length: Int64
  private var position = 6

  /// Nil when the unit is not `bytes`, in any case, followed by `=`.
  init?(_ field: Span<UInt8>, length: Int64) {
    // The shortest that means anything is `bytes=0-`.
    guard field.count >= 8, field[5] == ASCII.equals,
      ByteWord(field, at: 0).lowercased(5) == 0x62_7974_6573
    else { return nil }
    self.length = length
    skipEmpty(field)
  }

  /// Whether only commas and white space are left.
  func isAtEnd(_ field: Span<UInt8>) -> Bool { position == field.count }

  /// The next spec; nil at the end. After `.invalid` nothing sensible follows.
  mutating func next(_ field: Span<UInt8>) -> Element? {
    guard position < field.count else { return nil }
    let beginning = position
    let first = number(field)
    guard position < field.count, field[position] == ASCII.hyphen else { return end(.invalid, of: field) }
    let hyphen = position
    position += 1
    let last = number(field)
    let lastEnd = position
    skipWhiteSpace(field)
    guard position == field.count || field[position] == ASCII.comma else { return end(.invalid, of: field) }
    skipEmpty(field)
    switch (first, last) {
    case (nil, nil): return .invalid
    case (nil, let suffix?): return suffix == 0 ? .unsatisfiable : .range(max(0, length - suffix)..<length)
    case (let first?, nil): return first < length ? .range(first..<length) : .unsatisfiable
    case (let first?, let last?):
      guard
        last > first || last == first && last < .max
          || !Self.isSmaller(hyphen + 1..<lastEnd, than: beginning..<hyphen, in: field)
      else { return .invalid }
      return first < length ? .range(first..<min(last, length - 1) + 1) : .unsatisfiable
    }
  }

  /// Compares numbers that are beyond every length by their digits: also of these the second is not below the first.
  private static func isSmaller(
    _ left: Range<Int>, than right: Range<Int>, in field: Span<UInt8>
  ) -> Bool {
    var (left, right) = (left, right)
    while let digit = left.first, field[digit] == ASCII.zero { left.removeFirst() }
    while let digit = right.first, field[digit] == ASCII.zero { right.removeFirst() }
    if left.count != right.count { return left.count < right.count }
    for (digit, other) in zip(left, right) where field[digit] != field[other] {
      return field[digit] < field[other]
    }
    return false
  }

  /// 1*DIGIT, saturating; nil without a digit.
  private mutating func number(_ field: Span<UInt8>) -> Int64? {
    let start = position
    var next = start
    var value: Int64 = 0
    // Eighteen digits always fit.
    let plain = min(field.count, start + 18)
    while next < plain {
      let digit = field[next] &- ASCII.zero
      guard digit < 10 else { break }
      value = value &* 10 &+ Int64(digit)
      next += 1
    }
    while next >= plain, next < field.count, ASCII.isDigit(field[next]) {
      let (product, overflow) = value.multipliedReportingOverflow(by: 10)
      let (sum, carry) = product.addingReportingOverflow(Int64(field[next] &- ASCII.zero))
      value = overflow || carry ? .max : sum
      next += 1
    }
    position = next
    return next > start ? value : nil
  }

  private mutating func end(_ element: Element, of field: Span<UInt8>) -> Element {
    position = field.count
    return element
  }

  private mutating func skipWhiteSpace(_ field: Span<UInt8>) {
    while position < field.count, field[position] == ASCII.space || field[position] == ASCII.tab {
      position += 1
    }
  }

  /// Empty list elements are legal (RFC 9110 §5.6.1.2).
  private mutating func skipEmpty(_ field: Span<UInt8>) {
    while position < field.count,
      field[position] == ASCII.comma || field[position] == ASCII.space || field[position] == ASCII.tab
    {
      position += 1
    }
  }
}
