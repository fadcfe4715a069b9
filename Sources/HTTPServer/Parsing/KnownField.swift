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

  /// The name in lower case, packed; a test spells them out.
  var packedName: PackedName {
    switch self {
    case .host: PackedName(words: [0x686F7374, 0x0, 0x0])
    case .contentLength: PackedName(words: [0x636F6E74656E742D, 0x6C656E677468, 0x0])
    case .transferEncoding: PackedName(words: [0x7472616E73666572, 0x2D656E636F64696E, 0x67])
    case .connection: PackedName(words: [0x636F6E6E65637469, 0x6F6E, 0x0])
    case .expect: PackedName(words: [0x657870656374, 0x0, 0x0])
    case .range: PackedName(words: [0x72616E6765, 0x0, 0x0])
    case .ifRange: PackedName(words: [0x69662D72616E6765, 0x0, 0x0])
    case .ifMatch: PackedName(words: [0x69662D6D61746368, 0x0, 0x0])
    case .ifNoneMatch: PackedName(words: [0x69662D6E6F6E652D, 0x6D61746368, 0x0])
    case .ifModifiedSince: PackedName(words: [0x69662D6D6F646966, 0x6965642D73696E63, 0x65])
    case .ifUnmodifiedSince: PackedName(words: [0x69662D756E6D6F64, 0x69666965642D7369, 0x6E6365])
    case .authorization: PackedName(words: [0x617574686F72697A, 0x6174696F6E, 0x0])
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

  /// The known field whose name stands at `start`; nil for any other name.
  static func named(_ input: Span<UInt8>, start: Int, length: Int) -> KnownField? {
    guard length >= 4, let candidate = candidate(length: length, fourthLetter: input[start + 3]),
      PackedName(input, start: start, length: length) == candidate.packedName
    else { return nil }
    return candidate
  }
}
