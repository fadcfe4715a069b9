public import CoreTypes

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
