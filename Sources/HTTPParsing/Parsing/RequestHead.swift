/// A request head that passed every check of the ``RequestParser``: positions in the input it was read from,
/// nothing copied, nothing allocated.
public struct RequestHead: ~Copyable, Sendable {
  /// Header fields there is room for.
  public static let fieldCapacity = 64

  /// The methods an inline handler may want to tell apart.
  public enum Method: Hashable, Sendable {
    case get
    case head
    case post
    case put
    case patch
    case delete
    case options
    /// Any other token; ``RequestHead/methodPosition`` tells which.
    case other
  }

  /// The method, if it is one of those that handlers tell apart.
  public internal(set) var method = Method.other
  /// Where the method stands in the input.
  public internal(set) var methodPosition = 0..<0
  /// Path and query, from the first slash on; the asterisk of `OPTIONS *`.
  public internal(set) var target = 0..<0
  /// The path of the target, percent-encoded; starts with a slash, or is the asterisk.
  public internal(set) var path = 0..<0
  /// The part of the target after the question mark; nil without one.
  public internal(set) var query: Range<Int>?
  /// The 1 of HTTP/1.1, the 0 of HTTP/1.0.
  public internal(set) var minorVersion: UInt8 = 1
  /// How the content is framed.
  public internal(set) var content = RequestContent.none
  /// Whether the client keeps the connection open after the response (RFC 9112 §9.3).
  public internal(set) var keepsAlive = true
  /// `Expect: 100-continue` from an HTTP/1.1 client.
  public internal(set) var expectsContinue = false
  /// Host and port of the target or of the `Host` field; empty only for HTTP/1.0 without one.
  public internal(set) var authority = 0..<0
  /// Bytes from the start of the input to behind the empty line.
  public internal(set) var length = 0

  /// Header fields; at most ``fieldCapacity``.
  public internal(set) var fieldCount = 0
  /// An array rather than an inline one, of which each look at a field would make a copy; a parser uses the
  /// same one for request after request. Those from ``fieldCount`` on are of an earlier request, or none.
  var fields = [FieldPosition](
    repeating: FieldPosition(nameStart: 0, nameLength: 0, valueStart: 0, valueLength: 0), count: fieldCapacity
  )
  /// Index of the first field of each known name, plus one; zero where there is none.
  var firstOfKnown = InlineArray<12, UInt8>(repeating: 0)
  /// One bit per known name that occurs more than once.
  var repeatedKnown: UInt16 = 0

  /// A head of which nothing has been read; a parser fills it.
  public init() {}

  /// The field at `index`, which must be below ``fieldCount``.
  public func field(at index: Int) -> FieldPosition {
    precondition(index < fieldCount)
    return fields[index]
  }

  /// Where the value of the first field of that name stands; nil without one.
  public func value(of known: KnownField) -> Range<Int>? {
    let index = firstOfKnown[known.rawValue]
    return index == 0 ? nil : fields[Int(index) - 1].value
  }

  /// Whether there is more than one field of that name.
  public func isRepeated(_ known: KnownField) -> Bool {
    repeatedKnown >> UInt16(known.rawValue) & 1 == 1
  }
}

/// How the content of a request is framed (RFC 9112 §6).
public enum RequestContent: Hashable, Sendable {
  /// No content.
  case none
  /// The number of bytes that `Content-Length` says, at least one.
  case length(Int64)
  /// The chunked coding (RFC 9112 §7.1).
  case chunked
}

/// Where a header field stands in the input.
public struct FieldPosition: Sendable, Hashable {
  let nameStart: UInt16
  let nameLength: UInt16
  let valueStart: UInt16
  let valueLength: UInt16

  /// The positions of the name.
  public var name: Range<Int> { Int(nameStart)..<Int(nameStart) + Int(nameLength) }
  /// Without the optional white space around it; may be empty.
  public var value: Range<Int> { Int(valueStart)..<Int(valueStart) + Int(valueLength) }
}
