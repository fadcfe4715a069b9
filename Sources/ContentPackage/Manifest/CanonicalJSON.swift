/// What writer and reader of canonical JSON share.
enum CanonicalJSON {
  /// RFC 8785 §3.2.2.2: the short form where there is one, else `\u00xx` in lower case. `byte` is below 0x20.
  static func escape(ofControl byte: UInt8) -> [UInt8] {
    switch byte {
    case 0x08: Array("\\b".utf8)
    case 0x09: Array("\\t".utf8)
    case 0x0A: Array("\\n".utf8)
    case 0x0C: Array("\\f".utf8)
    case 0x0D: Array("\\r".utf8)
    default: Array("\\u00".utf8) + [hexadecimalDigit(byte >> 4), hexadecimalDigit(byte & 15)]
    }
  }

  private static func hexadecimalDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? 0x30 + value : 0x61 + value - 10
  }
}
