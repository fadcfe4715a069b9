public import CoreTypes

/// A response with its whole body.
public struct ClientResponse: Sendable {
  public var head: ResponseHead
  public var body: [UInt8]

  public init(head: ResponseHead, body: [UInt8]) {
    self.head = head
    self.body = body
  }

  public var status: Int { head.status }
  public var headers: ResponseFields { head.headers }
}

/// Status and fields of a final response: never of an interim (1xx) one or of a redirect that is followed.
public struct ResponseHead: Hashable, Sendable {
  public var status: Int
  public var headers: ResponseFields

  public init(status: Int, headers: ResponseFields = ResponseFields()) {
    self.status = status
    self.headers = headers
  }

  /// Nil where the field is missing, not a number, or repeated with another value.
  public var contentLength: ByteCount? {
    let values = Set(headers.values(of: "Content-Length"))
    guard values.count == 1, let value = values.first, let length = ContentRange.number(value) else {
      return nil
    }
    return ByteCount(length)
  }

  /// Nil where the field is missing, malformed, or there more than once.
  public var contentRange: ContentRange? {
    let values = headers.values(of: "Content-Range")
    return values.count == 1 ? ContentRange(values[0]) : nil
  }

  /// `Retry-After` in its form of seconds (RFC 9110 §10.2.3); nil for its form of a date.
  public var retryAfter: Duration? {
    headers["Retry-After"].flatMap(ContentRange.number).map { .seconds(min($0, 1 << 31)) }
  }
}

/// Header fields in the order they came in; names compare without regard to case.
public struct ResponseFields: Hashable, Sendable, RandomAccessCollection {
  public struct Field: Hashable, Sendable {
    public var name: String
    public var value: String

    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  var fields: [Field]

  public init(_ fields: [Field] = []) {
    self.fields = fields
  }

  public var startIndex: Int { 0 }
  public var endIndex: Int { fields.count }
  public subscript(position: Int) -> Field { fields[position] }

  /// The first field of that name.
  public subscript(name: String) -> String? {
    fields.first { Self.matches($0.name, name) }?.value
  }

  public func values(of name: String) -> [String] {
    fields.filter { Self.matches($0.name, name) }.map(\.value)
  }

  /// ASCII letters without case; everything else byte for byte.
  static func matches(_ left: String, _ right: String) -> Bool {
    left.utf8.elementsEqual(right.utf8) { lowercased($0) == lowercased($1) }
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
  }
}
