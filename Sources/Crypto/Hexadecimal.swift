/// Lower-case hexadecimal; upper-case digits are refused, so that every value has one spelling.
public enum Hexadecimal {
  /// Two lower-case digits for each byte.
  public static func encode(_ bytes: some Sequence<UInt8>) -> String { encode(Array(bytes).span) }

  /// Two lower-case digits for each byte.
  public static func encode(_ bytes: Span<UInt8>) -> String {
    unsafe String(unsafeUninitializedCapacity: bytes.count * 2) { text in
      for index in bytes.indices {
        unsafe text[index * 2] = digit(bytes[index] >> 4)
        unsafe text[index * 2 + 1] = digit(bytes[index] & 15)
      }
      return bytes.count * 2
    }
  }

  /// Appends two lower-case digits for each byte.
  public static func append(_ bytes: Span<UInt8>, to text: inout [UInt8]) {
    for index in bytes.indices {
      text.append(digit(bytes[index] >> 4))
      text.append(digit(bytes[index] & 15))
    }
  }

  /// Nil for an odd length or a character that is no lower-case digit.
  public static func decode(_ text: some StringProtocol) -> [UInt8]? { decode(String(text).utf8.span) }

  private static func decode(_ digits: Span<UInt8>) -> [UInt8]? {
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count / 2)
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = value(of: digits[index]), let low = value(of: digits[index + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }

  @inline(__always)
  static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? 0x30 + value : 0x61 + value - 10
  }

  @inline(__always)
  static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case 0x30...0x39: digit - 0x30
    case 0x61...0x66: digit - 0x61 + 10
    default: nil
    }
  }
}
