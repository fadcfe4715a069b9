/// Byte values and classes of RFC 9110 §5.6 and RFC 5234.
enum ASCII {
  static let tab: UInt8 = 0x09
  static let lineFeed: UInt8 = 0x0A
  static let carriageReturn: UInt8 = 0x0D
  static let space: UInt8 = 0x20
  static let quote: UInt8 = 0x22
  static let hash: UInt8 = 0x23
  static let percent: UInt8 = 0x25
  static let asterisk: UInt8 = 0x2A
  static let plus: UInt8 = 0x2B
  static let comma: UInt8 = 0x2C
  static let hyphen: UInt8 = 0x2D
  static let dot: UInt8 = 0x2E
  static let slash: UInt8 = 0x2F
  static let zero: UInt8 = 0x30
  static let colon: UInt8 = 0x3A
  static let semicolon: UInt8 = 0x3B
  static let equals: UInt8 = 0x3D
  static let question: UInt8 = 0x3F
  static let at: UInt8 = 0x40
  static let leftBracket: UInt8 = 0x5B
  static let backslash: UInt8 = 0x5C
  static let rightBracket: UInt8 = 0x5D

  @inline(__always)
  static func lowercased(_ byte: UInt8) -> UInt8 {
    byte &- 0x41 < 26 ? byte | 0x20 : byte
  }

  @inline(__always)
  static func isDigit(_ byte: UInt8) -> Bool { byte &- zero < 10 }

  @inline(__always)
  static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }

  /// 0…15, or nil for anything but a hexadecimal digit.
  @inline(__always)
  static func hexadecimalValue(_ byte: UInt8) -> UInt8? {
    if isDigit(byte) { return byte &- zero }
    let letter = (byte | 0x20) &- 0x61
    return letter < 6 ? letter &+ 10 : nil
  }

  /// reg-name of RFC 3986 §3.2.2: unreserved, sub-delims, and the percent sign of an escape; as one bit per ASCII code.
  private static let registeredNameLow: UInt64 = 0x2BFF_6FF2_0000_0000
  private static let registeredNameHigh: UInt64 = 0x47FF_FFFE_87FF_FFFE

  @inline(__always)
  static func isRegisteredName(_ byte: UInt8) -> Bool {
    if byte < 64 { return registeredNameLow >> UInt64(byte) & 1 == 1 }
    if byte < 128 { return registeredNameHigh >> UInt64(byte &- 64) & 1 == 1 }
    return false
  }

  /// tchar of RFC 9110 §5.6.2, as one bit per ASCII code.
  private static let tokenLow: UInt64 = 0x03FF_6CFA_0000_0000
  private static let tokenHigh: UInt64 = 0x57FF_FFFF_C7FF_FFFE

  @inline(__always)
  static func isToken(_ byte: UInt8) -> Bool {
    if byte < 64 { return tokenLow >> UInt64(byte) & 1 == 1 }
    if byte < 128 { return tokenHigh >> UInt64(byte &- 64) & 1 == 1 }
    return false
  }

  /// VCHAR / obs-text / SP / HTAB: what may stand in a field value (RFC 9110 §5.5).
  @inline(__always)
  static func isFieldValue(_ byte: UInt8) -> Bool { byte >= space ? byte != 0x7F : byte == tab }

  /// The characters that may stand in a request target: printable ASCII without `"`, `#`, `<`, `>`, `\`, `^`,
  /// `` ` ``, `{`, `|`, `}` (RFC 3986 §2; a fragment never travels).
  private static let targetLow: UInt64 = 0xAFFF_FFF2_0000_0000
  private static let targetHigh: UInt64 = 0x47FF_FFFE_AFFF_FFFF

  @inline(__always)
  static func isTarget(_ byte: UInt8) -> Bool {
    if byte < 64 { return targetLow >> UInt64(byte) & 1 == 1 }
    if byte < 128 { return targetHigh >> UInt64(byte &- 64) & 1 == 1 }
    return false
  }
}
