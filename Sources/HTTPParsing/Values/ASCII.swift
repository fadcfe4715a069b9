/// Byte values and classes of RFC 9110 §5.6 and RFC 5234. Each is inlined where it is used, also in other modules: they stand in the
/// loops over every byte of a head.
@usableFromInline package enum ASCII {
  /// HTAB.
  @inlinable package static var tab: UInt8 { 0x09 }
  /// LF, the second half of the end of a line.
  @inlinable package static var lineFeed: UInt8 { 0x0A }
  /// CR, the first half of the end of a line.
  @inlinable package static var carriageReturn: UInt8 { 0x0D }
  /// SP.
  @inlinable package static var space: UInt8 { 0x20 }
  /// DQUOTE, around a quoted string and an entity tag.
  @inlinable package static var quote: UInt8 { 0x22 }
  /// `#`, which begins a fragment: no request target has it.
  @inlinable package static var hash: UInt8 { 0x23 }
  /// `%`, before the two digits of an escaped byte.
  @inlinable package static var percent: UInt8 { 0x25 }
  /// `*`: the target of `OPTIONS`, and any entity tag.
  @inlinable package static var asterisk: UInt8 { 0x2A }
  /// `+`: a space in a query.
  @inlinable package static var plus: UInt8 { 0x2B }
  /// `,`, between the elements of a list.
  @inlinable package static var comma: UInt8 { 0x2C }
  /// `-`, between the ends of a range.
  @inlinable package static var hyphen: UInt8 { 0x2D }
  /// `.`, in a version and in an address.
  @inlinable package static var dot: UInt8 { 0x2E }
  /// `/`, between the segments of a path.
  @inlinable package static var slash: UInt8 { 0x2F }
  /// `0`, the first of the digits.
  @inlinable package static var zero: UInt8 { 0x30 }
  /// `:`, behind the name of a field.
  @inlinable package static var colon: UInt8 { 0x3A }
  /// `;`, before a parameter and a chunk's extension.
  @inlinable package static var semicolon: UInt8 { 0x3B }
  /// `=`, between a name and its value.
  @inlinable package static var equals: UInt8 { 0x3D }
  /// `?`, before the query of a target.
  @inlinable package static var question: UInt8 { 0x3F }
  /// `@`, behind the user of an authority.
  @inlinable package static var at: UInt8 { 0x40 }
  /// `[`, before an IPv6 address.
  @inlinable package static var leftBracket: UInt8 { 0x5B }
  /// `\`, before a quoted character.
  @inlinable package static var backslash: UInt8 { 0x5C }
  /// `]`, behind an IPv6 address.
  @inlinable package static var rightBracket: UInt8 { 0x5D }

  /// The byte as it is compared where case does not count: A to Z become a to z, all others stay.
  @inlinable @inline(__always)
  package static func lowercased(_ byte: UInt8) -> UInt8 {
    byte &- 0x41 < 26 ? byte | 0x20 : byte
  }

  /// DIGIT: 0 to 9.
  @inlinable @inline(__always)
  package static func isDigit(_ byte: UInt8) -> Bool { byte &- zero < 10 }

  /// ALPHA: A to Z and a to z.
  @inlinable @inline(__always)
  package static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }

  /// 0…15, or nil for anything but a hexadecimal digit.
  @inlinable @inline(__always)
  package static func hexadecimalValue(_ byte: UInt8) -> UInt8? {
    if isDigit(byte) { return byte &- zero }
    let letter = (byte | 0x20) &- 0x61
    return letter < 6 ? letter &+ 10 : nil
  }

  /// A byte of a registered name (RFC 3986 §3.2.2): unreserved, sub-delims, and the percent sign of an escape.
  @inlinable @inline(__always)
  package static func isRegisteredName(_ byte: UInt8) -> Bool {
    has(byte, low: 0x2BFF_6FF2_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)
  }

  /// A byte of a token (RFC 9110 §5.6.2): of a method, or of a field's name.
  @inlinable @inline(__always)
  package static func isToken(_ byte: UInt8) -> Bool {
    has(byte, low: 0x03FF_6CFA_0000_0000, high: 0x57FF_FFFF_C7FF_FFFE)
  }

  /// VCHAR / obs-text / SP / HTAB: what may stand in a field value (RFC 9110 §5.5).
  @inlinable @inline(__always)
  package static func isFieldValue(_ byte: UInt8) -> Bool { byte >= space ? byte != 0x7F : byte == tab }

  /// A byte that a request target may have: printable ASCII without `"`, `#`, `<`, `>`, `\`, `^`, `` ` ``, `{`, `|`, `}`
  /// (RFC 3986 §2; a fragment never travels).
  @inlinable @inline(__always)
  package static func isTarget(_ byte: UInt8) -> Bool {
    has(byte, low: 0xAFFF_FFF2_0000_0000, high: 0x47FF_FFFE_AFFF_FFFF)
  }

  /// Whether a byte is in the class that has one bit per ASCII code: those below 64 in `low`, the others in `high`. No class has a byte
  /// from 128 on.
  @inlinable @inline(__always)
  static func has(_ byte: UInt8, low: UInt64, high: UInt64) -> Bool {
    if byte < 64 { return low >> UInt64(byte) & 1 == 1 }
    if byte < 128 { return high >> UInt64(byte &- 64) & 1 == 1 }
    return false
  }
}
