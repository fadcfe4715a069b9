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
    let (groups, rest) = end.quotientAndRemainder(dividingBy: 4)
    let length = groups * 3 + max(0, rest - 1)
    guard length <= output.count else { return nil }
    let isValid = unsafe text.withUnsafeBufferPointer { text in
      unsafe table.withUnsafeBufferPointer { table in
        unsafe output.withUnsafeMutableBufferPointer { output in
          unsafe decode(text.extracting(0..<end), table, into: output)
        }
      }
    }
    return isValid ? length : nil
  }

  /// Four characters at a time: receipts are thousands of them. `output` has room. False for a foreign character, and for
  /// unused bits that are not zero.
  private static func decode(
    _ text: UnsafeBufferPointer<UInt8>, _ table: UnsafeBufferPointer<UInt8>,
    into output: UnsafeMutableBufferPointer<UInt8>
  ) -> Bool {
    func value(_ index: Int) -> UInt32 { UInt32(unsafe table[Int(text[index])]) }
    var (position, count) = (0, 0)
    while position + 4 <= text.count {
      let values = (value(position), value(position + 1), value(position + 2), value(position + 3))
      guard values.0 | values.1 | values.2 | values.3 < 64 else { return false }
      let group = values.0 << 18 | values.1 << 12 | values.2 << 6 | values.3
      unsafe output[count] = UInt8(truncatingIfNeeded: group >> 16)
      unsafe output[count + 1] = UInt8(truncatingIfNeeded: group >> 8)
      unsafe output[count + 2] = UInt8(truncatingIfNeeded: group)
      position += 4
      count += 3
    }
    guard position < text.count else { return true }
    // Two characters are one byte, three are two.
    let last = (value(position), value(position + 1), position + 2 < text.count ? value(position + 2) : 0)
    guard last.0 | last.1 | last.2 < 64 else { return false }
    let group = last.0 << 18 | last.1 << 12 | last.2 << 6
    unsafe output[count] = UInt8(truncatingIfNeeded: group >> 16)
    guard position + 2 < text.count else { return group & 0xFFFF == 0 }
    unsafe output[count + 1] = UInt8(truncatingIfNeeded: group >> 8)
    return group & 0xFF == 0
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
