public import CoreTypes

/// A response with its whole body.
public struct ClientResponse: Sendable {
  /// Status and fields.
  public var head: ResponseHead
  /// The whole body, as it came over the wire.
  public var body: [UInt8]

  /// A response that no transfer brought, for tests.
  public init(head: ResponseHead, body: [UInt8]) {
    self.head = head
    self.body = body
  }

  /// The head's status.
  public var status: Int { head.status }
  /// The head's fields.
  public var headers: ResponseFields { head.headers }
}

/// Status and fields of a final response: never of an interim (1xx) one or of a redirect that is followed.
public struct ResponseHead: Hashable, Sendable {
  /// The status code: 200 to 999.
  public var status: Int
  /// The fields as received.
  public var headers: ResponseFields

  /// A head that no transfer brought, for tests.
  public init(status: Int, headers: ResponseFields = ResponseFields()) {
    self.status = status
    self.headers = headers
  }

  /// Nil where the field is missing, not a number, or repeated with another value.
  public var contentLength: ByteCount? {
    let values = headers.values(of: "Content-Length")
    guard let value = values.first, values.allSatisfy({ $0 == value }),
      let length = ContentRange.number(value)
    else { return nil }
    return ByteCount(length)
  }

  /// Nil where the field is missing, malformed, or there more than once.
  public var contentRange: ContentRange? {
    let values = headers.values(of: "Content-Range")
    return values.count == 1 ? ContentRange(values[0]) : nil
  }

  /// `Retry-After` (RFC 9110 §10.2.3), brought into 1 s to a day (`RetryAfter.obeyedRange`); nil where it is missing
  /// or malformed. A date counts from the response's own `Date`, or from the system's clock without one.
  public var retryAfter: Duration? {
    guard let text = headers["Retry-After"] else { return nil }
    if ContentRange.isDigits(text) {
      // More digits than an integer holds are a very long time.
      return .seconds(RetryAfter.obeyedSeconds(clamping: Int64(text) ?? .max))
    }
    guard let date = Self.date(text) else { return nil }
    let now = self.date ?? SystemWallClock().now()
    return .seconds(
      RetryAfter.obeyedSeconds(clamping: date.secondsSinceEpoch - now.secondsSinceEpoch))
  }

  /// `Date` (RFC 9110 §6.6.1); nil where it is missing or malformed.
  public var date: Timestamp? { headers["Date"].flatMap(Self.date) }

  /// `Last-Modified` (RFC 9110 §8.8.2); nil where it is missing or malformed.
  public var lastModified: Timestamp? { headers["Last-Modified"].flatMap(Self.date) }

  /// An IMF-fixdate (RFC 9110 §5.6.7), such as `Sun, 06 Nov 1994 08:49:37 GMT`; nil for anything else.
  private static func date(_ text: String) -> Timestamp? {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 6, parts[5] == "GMT", let month = months.firstIndex(of: String(parts[2])) else {
      return nil
    }
    let number = month < 9 ? "0\(month + 1)" : "\(month + 1)"
    return Timestamp(rfc3339: "\(parts[3])-\(number)-\(parts[1])T\(parts[4])Z")
  }

  static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
}

/// Header fields in the order they came in; names compare without regard to case.
public struct ResponseFields: Hashable, Sendable, RandomAccessCollection {
  /// One header field.
  public struct Field: Hashable, Sendable {
    /// The name as it was received; case is kept.
    public var name: String
    /// The value without the white space around it.
    public var value: String

    /// A field from its two parts.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  var fields: [Field]

  /// Fields in this order.
  public init(_ fields: [Field] = []) {
    self.fields = fields
  }

  /// Always 0.
  public var startIndex: Int { 0 }
  /// The number of fields.
  public var endIndex: Int { fields.count }
  /// The field at `position`, which must be below ``endIndex``.
  public subscript(position: Int) -> Field { fields[position] }

  /// The first field of that name.
  public subscript(name: String) -> String? {
    fields.first { Self.matches($0.name, name) }?.value
  }

  /// The values of every field of that name, in order.
  public func values(of name: String) -> [String] {
    fields.filter { Self.matches($0.name, name) }.map(\.value)
  }

  /// ASCII letters without case; everything else byte for byte.
  static func matches(_ left: String, _ right: String) -> Bool {
    left.utf8.count == right.utf8.count && matches(left.utf8, right.utf8)
  }

  static func matches(_ left: some Sequence<UInt8>, _ right: some Sequence<UInt8>) -> Bool {
    left.elementsEqual(right) { lowercased($0) == lowercased($1) }
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
  }
}
