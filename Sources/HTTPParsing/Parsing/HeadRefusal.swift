/// The reason why no request is read from the bytes of a head. Its raw value is the status code that tells the client (RFC 9110 §15).
/// Nothing that follows on the connection can be understood.
package enum HeadRefusal: Int, Hashable, Sendable {
  /// The head breaks the grammar of RFC 9112, or two readers could understand it differently.
  case badRequest = 400
  /// The request line is longer than ``RequestLimits`` allow.
  case targetTooLong = 414
  /// An expectation other than `100-continue`.
  case expectationFailed = 417
  /// The head is longer, or has more fields, than ``RequestLimits`` allow.
  case fieldsTooLarge = 431
  /// A method, or a transfer coding, that the server does not have.
  case notImplemented = 501
  /// A major version other than 1.
  case versionNotSupported = 505
}
