/// The request fields that the engine or an inline handler looks at; found without searching.
public enum KnownField: Int, Sendable, CaseIterable {
  case host
  case contentLength
  case transferEncoding
  case connection
  case expect
  case range
  case ifRange
  case ifMatch
  case ifNoneMatch
  case ifModifiedSince
  case ifUnmodifiedSince
  case authorization

  static let count = 12

  /// In lower case.
  var name: StaticString {
    switch self {
    case .host: "host"
    case .contentLength: "content-length"
    case .transferEncoding: "transfer-encoding"
    case .connection: "connection"
    case .expect: "expect"
    case .range: "range"
    case .ifRange: "if-range"
    case .ifMatch: "if-match"
    case .ifNoneMatch: "if-none-match"
    case .ifModifiedSince: "if-modified-since"
    case .ifUnmodifiedSince: "if-unmodified-since"
    case .authorization: "authorization"
    }
  }

  /// The one known name of that length; where two share a length, the fourth letter of the name tells.
  @inline(__always)
  static func candidate(length: Int, fourthLetter: UInt8) -> KnownField? {
    switch length {
    case 4: .host
    case 5: .range
    case 6: .expect
    case 8: fourthLetter | 0x20 == UInt8(ascii: "r") ? .ifRange : .ifMatch
    case 10: .connection
    case 13: fourthLetter | 0x20 == UInt8(ascii: "h") ? .authorization : .ifNoneMatch
    case 14: .contentLength
    case 17: fourthLetter | 0x20 == UInt8(ascii: "n") ? .transferEncoding : .ifModifiedSince
    case 19: .ifUnmodifiedSince
    default: nil
    }
  }
}
