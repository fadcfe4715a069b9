/// What a `Range` field asks of a representation of known length (RFC 9110 §14.1 and §14.2).
public enum RangeSet: Hashable, Sendable {
  /// Answer as if the field were not there: absent, another unit, another method, or not valid. Also for an empty
  /// representation, of which there are no parts.
  case ignore
  /// One range, which needs no list.
  case single(Range<Int64>)
  /// Two ranges or more, in the order asked for, unsatisfiable ones dropped, overlapping ones and near neighbours joined;
  /// within the representation and none empty.
  case several([Range<Int64>])
  /// 416: nothing of what is asked exists, or more than ``maximumRanges`` are asked for (a whole package is a dear answer
  /// to a client that plays tricks).
  case unsatisfiable

  /// Ranges that one field may ask for.
  public static let maximumRanges = 32
  /// Ranges are joined when fewer bytes than a part's head would take lie between them.
  public static let joiningGap: Int64 = 80

  /// Reads the value of a `Range` field. `length` is the representation's. Numbers of any size are understood. A single
  /// range allocates nothing.
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
    return parseSeveral(first, &reader, field)
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

  /// The ranges that a request asks for; only GET has any, and two fields have none.
  public static func requested(_ request: HTTPRequest, length: Int64) -> RangeSet {
    let values = request.headers.values(of: "Range")
    guard request.method == .get, values.count == 1 else { return .ignore }
    let bytes = Array(values[0].utf8)
    return parse(bytes.span, length: length)
  }

  private static func parseSeveral(
    _ first: RangeReader.Element, _ reader: inout RangeReader, _ field: Span<UInt8>
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
