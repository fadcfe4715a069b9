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
    let table = alphabet == .standard ? standardValues : urlValues
    let values = table.span
    var accumulator: UInt32 = 0
    var bits = 0
    var count = 0
    for index in 0..<end {
      let value = values[Int(text[index])]
      guard value != foreign else { return nil }
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

  /// Stands in a table for a character that is none of the 64.
  private static let foreign: UInt8 = 0xFF
  private static let standardValues = values(of: .standard)
  private static let urlValues = values(of: .url)

  /// What each of the 256 bytes stands for: a look costs less than a choice among ranges.
  private static func values(of alphabet: Alphabet) -> [UInt8] {
    var values = [UInt8](repeating: foreign, count: 256)
    for value in UInt8(0)..<64 { values[Int(character(value, alphabet))] = value }
    return values
  }
}
