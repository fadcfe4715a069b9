/// The request fields that the engine or an inline handler looks at; found without searching.
public enum KnownField: Int, Sendable, CaseIterable {
  /// `Host` (RFC 9110 §7.2): exactly one in HTTP/1.1.
  case host
  /// `Content-Length` (RFC 9110 §8.6): one, of plain digits.
  case contentLength
  /// `Transfer-Encoding` (RFC 9112 §6.1): `chunked` alone.
  case transferEncoding
  /// `Connection` (RFC 9110 §7.6.1).
  case connection
  /// `Expect` (RFC 9110 §10.1.1): `100-continue` alone.
  case expect
  /// `Range` (RFC 9110 §14.2).
  case range
  /// `If-Range` (RFC 9110 §13.1.5).
  case ifRange
  /// `If-Match` (RFC 9110 §13.1.1).
  case ifMatch
  /// `If-None-Match` (RFC 9110 §13.1.2).
  case ifNoneMatch
  /// `If-Modified-Since` (RFC 9110 §13.1.3).
  case ifModifiedSince
  /// `If-Unmodified-Since` (RFC 9110 §13.1.4).
  case ifUnmodifiedSince
  /// `Authorization` (RFC 9110 §11.6.2).
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

  /// The known field whose name stands at `start`; nil for any other name.
  @inline(__always)
  static func named(_ input: Span<UInt8>, start: Int, length: Int) -> KnownField? {
    length < 8
      ? named(input, start: start, shortLength: length) : named(input, start: start, longLength: length)
  }

  @inline(__always)
  private static func named(_ input: Span<UInt8>, start: Int, longLength length: Int) -> KnownField? {
    // Both ends of the name, which overlap in those of less than sixteen bytes.
    let first = ByteWord(input, at: start).foldedToken(8)
    let last = ByteWord(input, at: start + length - 8).foldedToken(8)
    let known: (name: KnownField, first: UInt64, last: UInt64)
    switch (length, first & 0xFF) {
    // By their eighth byte, where two have the same length.
    case (8, 0x65): known = (.ifRange, 0x6966_2D72_616E_6765, 0x6966_2D72_616E_6765)
    case (8, _): known = (.ifMatch, 0x6966_2D6D_6174_6368, 0x6966_2D6D_6174_6368)
    case (10, _): known = (.connection, 0x636F_6E6E_6563_7469, 0x6E6E_6563_7469_6F6E)
    case (13, 0x7A): known = (.authorization, 0x6175_7468_6F72_697A, 0x7269_7A61_7469_6F6E)
    case (13, _): known = (.ifNoneMatch, 0x6966_2D6E_6F6E_652D, 0x6E65_2D6D_6174_6368)
    case (14, _): known = (.contentLength, 0x636F_6E74_656E_742D, 0x742D_6C65_6E67_7468)
    case (17, 0x72): known = (.transferEncoding, 0x7472_616E_7366_6572, 0x656E_636F_6469_6E67)
    case (17, _): known = (.ifModifiedSince, 0x6966_2D6D_6F64_6966, 0x6564_2D73_696E_6365)
    case (19, _): known = (.ifUnmodifiedSince, 0x6966_2D75_6E6D_6F64, 0x6564_2D73_696E_6365)
    default: return nil
    }
    guard first == known.first, last == known.last,
      length <= 16 || known.name.packedName.isName(of: input, start: start, length: length)
    else { return nil }
    return known.name
  }

  @inline(__always)
  private static func named(_ input: Span<UInt8>, start: Int, shortLength length: Int) -> KnownField? {
    guard length >= 4 else { return nil }
    guard start + 8 <= input.count else { return lastName(input, start: start, length: length) }
    let word = ByteWord(input, at: start).foldedToken(length)
    return switch length {
    case 4: word == 0x686F_7374 ? .host : nil
    case 5: word == 0x72_616E_6765 ? .range : nil
    case 6: word == 0x6578_7065_6374 ? .expect : nil
    default: nil
    }
  }
  /// A short name with which the input ends.
  @inline(never)
  private static func lastName(_ input: Span<UInt8>, start: Int, length: Int) -> KnownField? {
    let name = PackedName(input, start: start, length: length)
    return [.host, .range, .expect].first { $0.packedName == name }
  }
}
