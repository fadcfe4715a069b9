/// Base 64 of RFC 4648, strict on reading: no line breaks, no foreign characters, unused bits zero.
public enum Base64 {
  /// Which 64 characters, and whether there is padding.
  public enum Alphabet: Sendable {
    /// §4, with padding.
    case standard
    /// §5, written without padding and read with or without it.
    case url
  }

  /// The characters for `bytes`, padded as the alphabet asks.
  public static func encode(_ bytes: some Collection<UInt8>, _ alphabet: Alphabet = .standard) -> String {
    encode(Array(bytes).span, alphabet)
  }

  /// The characters for `bytes`, padded as the alphabet asks.
  public static func encode(_ bytes: Span<UInt8>, _ alphabet: Alphabet = .standard) -> String {
    let (groups, rest) = bytes.count.quotientAndRemainder(dividingBy: 3)
    let ending = rest == 0 ? 0 : alphabet == .standard ? 4 : rest + 1
    var text = [UInt8](repeating: 0x3D, count: groups * 4 + ending)
    var accumulator: UInt32 = 0
    var bits = 0
    var count = 0
    for index in bytes.indices {
      accumulator = accumulator << 8 | UInt32(bytes[index])
      bits += 8
      while bits >= 6 {
        bits -= 6
        text[count] = character(UInt8(accumulator >> UInt32(bits) & 63), alphabet)
        count += 1
      }
    }
    if bits > 0 { text[count] = character(UInt8(accumulator << UInt32(6 - bits) & 63), alphabet) }
    return String(decoding: text, as: UTF8.self)
  }

  /// Nil when `text` is not base 64 in that alphabet.
  public static func decode(_ text: some StringProtocol, _ alphabet: Alphabet = .standard) -> [UInt8]? {
    let characters = Array(text.utf8)
    var bytes = [UInt8](repeating: 0, count: characters.count / 4 * 3 + 3)
    var span = bytes.mutableSpan
    guard let count = decode(characters.span, alphabet, into: &span) else { return nil }
    bytes.removeLast(bytes.count - count)
    return bytes
  }

  /// Decodes without allocating. Nil when `text` is not base 64 in that alphabet or `output` is too small; else the
  /// number of bytes written.
  public static func decode(
    _ text: Span<UInt8>, _ alphabet: Alphabet, into output: inout MutableSpan<UInt8>
  ) -> Int? {
    var end = text.count
    var padding = 0
    while end > 0, padding < 2, text[end - 1] == 0x3D {
      end -= 1
      padding += 1
    }
    guard end % 4 != 1 else { return nil }
    if padding > 0 || alphabet == .standard {
      guard (end + padding).isMultiple(of: 4) else { return nil }
    }
    var accumulator: UInt32 = 0
    var bits = 0
    var count = 0
    for index in 0..<end {
      guard let value = value(of: text[index], alphabet) else { return nil }
      accumulator = accumulator << 6 | UInt32(value)
      bits += 6
      if bits >= 8 {
        bits -= 8
        guard count < output.count else { return nil }
        output[count] = UInt8(truncatingIfNeeded: accumulator >> UInt32(bits))
        count += 1
      }
    }
    guard accumulator & (1 << UInt32(bits) - 1) == 0 else { return nil }
    return count
  }

  private static func character(_ value: UInt8, _ alphabet: Alphabet) -> UInt8 {
    switch value {
    case 0..<26: 0x41 + value
    case 26..<52: 0x61 + value - 26
    case 52..<62: 0x30 + value - 52
    case 62: alphabet == .standard ? 0x2B : 0x2D
    default: alphabet == .standard ? 0x2F : 0x5F
    }
  }

  @inline(__always)
  private static func value(of character: UInt8, _ alphabet: Alphabet) -> UInt8? {
    switch character {
    case 0x41...0x5A: character - 0x41
    case 0x61...0x7A: character - 0x61 + 26
    case 0x30...0x39: character - 0x30 + 52
    case 0x2B where alphabet == .standard, 0x2D where alphabet == .url: 62
    case 0x2F where alphabet == .standard, 0x5F where alphabet == .url: 63
    default: nil
    }
  }
}
