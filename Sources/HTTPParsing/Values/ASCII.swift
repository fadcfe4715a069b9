/// Byte values and classes of RFC 9110 §5.6 and RFC 5234.
package enum ASCII {
  package static let tab: UInt8 = 0x09
  package static let lineFeed: UInt8 = 0x0A
  package static let carriageReturn: UInt8 = 0x0D
  package static let space: UInt8 = 0x20
  package static let quote: UInt8 = 0x22
  package static let hash: UInt8 = 0x23
  package static let percent: UInt8 = 0x25
  package static let asterisk: UInt8 = 0x2A
  package static let plus: UInt8 = 0x2B
  package static let comma: UInt8 = 0x2C
  package static let hyphen: UInt8 = 0x2D
  package static let dot: UInt8 = 0x2E
  package static let slash: UInt8 = 0x2F
  package static let zero: UInt8 = 0x30
  package static let colon: UInt8 = 0x3A
  package static let semicolon: UInt8 = 0x3B
  package static let equals: UInt8 = 0x3D
  package static let question: UInt8 = 0x3F
  package static let at: UInt8 = 0x40
  package static let leftBracket: UInt8 = 0x5B
  package static let backslash: UInt8 = 0x5C
  package static let rightBracket: UInt8 = 0x5D

  /// The byte as it is compared where case does not count: A to Z become a to z, all others stay.
  @inline(__always)
  package static func lowercased(_ byte: UInt8) -> UInt8 {
    byte &- 0x41 < 26 ? byte | 0x20 : byte
  }

  /// DIGIT: 0 to 9.
  @inline(__always)
  package static func isDigit(_ byte: UInt8) -> Bool { byte &- zero < 10 }

  /// ALPHA: A to Z and a to z.
  @inline(__always)
  package static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }

  /// 0…15, or nil for anything but a hexadecimal digit.
  @inline(__always)
  package static func hexadecimalValue(_ byte: UInt8) -> UInt8? {
    if isDigit(byte) { return byte &- zero }
    let letter = (byte | 0x20) &- 0x61
    return letter < 6 ? letter &+ 10 : nil
  }

  /// reg-name of RFC 3986 §3.2.2: unreserved, sub-delims, and the percent sign of an escape; as one bit per ASCII code.
  private static let registeredNameLow: UInt64 = 0x2BFF_6FF2_0000_0000
  private static let registeredNameHigh: UInt64 = 0x47FF_FFFE_87FF_FFFE

  /// A byte of a registered name (RFC 3986 §3.2.2).
  @inline(__always)
  package static func isRegisteredName(_ byte: UInt8) -> Bool {
    if byte < 64 { return registeredNameLow >> UInt64(byte) & 1 == 1 }
    if byte < 128 { return registeredNameHigh >> UInt64(byte &- 64) & 1 == 1 }
    return false
  }

  /// tchar of RFC 9110 §5.6.2, as one bit per ASCII code.
  private static let tokenLow: UInt64 = 0x03FF_6CFA_0000_0000
  private static let tokenHigh: UInt64 = 0x57FF_FFFF_C7FF_FFFE

  /// A byte of a token (RFC 9110 §5.6.2): of a method, or of a field's name.
  @inline(__always)
  package static func isToken(_ byte: UInt8) -> Bool {
    if byte < 64 { return tokenLow >> UInt64(byte) & 1 == 1 }
    if byte < 128 { return tokenHigh >> UInt64(byte &- 64) & 1 == 1 }
    return false
  }

  /// VCHAR / obs-text / SP / HTAB: what may stand in a field value (RFC 9110 §5.5).
  @inline(__always)
  package static func isFieldValue(_ byte: UInt8) -> Bool { byte >= space ? byte != 0x7F : byte == tab }

  /// The characters that may stand in a request target: printable ASCII without `"`, `#`, `<`, `>`, `\`, `^`,
  /// `` ` ``, `{`, `|`, `}` (RFC 3986 §2; a fragment never travels).
  private static let targetLow: UInt64 = 0xAFFF_FFF2_0000_0000
  private static let targetHigh: UInt64 = 0x47FF_FFFE_AFFF_FFFF

  /// A byte that a request target may have.
  @inline(__always)
  package static func isTarget(_ byte: UInt8) -> Bool {
    if byte < 64 { return targetLow >> UInt64(byte) & 1 == 1 }
    if byte < 128 { return targetHigh >> UInt64(byte &- 64) & 1 == 1 }
    return false
  }
}
