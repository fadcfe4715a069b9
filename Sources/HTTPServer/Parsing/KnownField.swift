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
    case .host: PackedName(words: [0x686F_7374, 0x0, 0x0])
    case .contentLength: PackedName(words: [0x636F_6E74_656E_742D, 0x6C65_6E67_7468, 0x0])
    case .transferEncoding: PackedName(words: [0x7472_616E_7366_6572, 0x2D65_6E63_6F64_696E, 0x67])
    case .connection: PackedName(words: [0x636F_6E6E_6563_7469, 0x6F6E, 0x0])
    case .expect: PackedName(words: [0x6578_7065_6374, 0x0, 0x0])
    case .range: PackedName(words: [0x72_616E_6765, 0x0, 0x0])
    case .ifRange: PackedName(words: [0x6966_2D72_616E_6765, 0x0, 0x0])
    case .ifMatch: PackedName(words: [0x6966_2D6D_6174_6368, 0x0, 0x0])
    case .ifNoneMatch: PackedName(words: [0x6966_2D6E_6F6E_652D, 0x6D_6174_6368, 0x0])
    case .ifModifiedSince: PackedName(words: [0x6966_2D6D_6F64_6966, 0x6965_642D_7369_6E63, 0x65])
    case .ifUnmodifiedSince: PackedName(words: [0x6966_2D75_6E6D_6F64, 0x6966_6965_642D_7369, 0x6E6365])
    case .authorization: PackedName(words: [0x6175_7468_6F72_697A, 0x61_7469_6F6E, 0x0])
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
    if length <= 8, start + 8 <= input.count {
      // Nearly all of those that are known fit one word.
      let word = ByteWord(input, at: start)
      switch length {
      case 4: return word.foldedToken(4) == 0x686F_7374 ? .host : nil
      case 5: return word.foldedToken(5) == 0x72_616E_6765 ? .range : nil
      case 6: return word.foldedToken(6) == 0x6578_7065_6374 ? .expect : nil
      case 8:
        let folded = word.foldedToken(8)
        return folded == 0x6966_2D72_616E_6765 ? .ifRange : folded == 0x6966_2D6D_6174_6368 ? .ifMatch : nil
      default: return nil
      }
    }
    guard length >= 4, let candidate = candidate(length: length, fourthLetter: input[start + 3]),
      candidate.packedName.isName(of: input, start: start, length: length)
    else { return nil }
    return candidate
  }
}
