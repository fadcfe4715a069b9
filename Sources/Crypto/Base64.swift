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
    return unsafe String(unsafeUninitializedCapacity: groups * 4 + ending) { text in
      /// The first characters of the four that three bytes are.
      func write(_ group: UInt32, _ count: Int, at start: Int) {
        for place in 0..<count {
          unsafe text[start + place] = character(UInt8(group >> UInt32(18 - 6 * place) & 63), alphabet)
        }
      }
      for index in 0..<groups {
        let (first, second, third) = (bytes[index * 3], bytes[index * 3 + 1], bytes[index * 3 + 2])
        write(UInt32(first) << 16 | UInt32(second) << 8 | UInt32(third), 4, at: index * 4)
      }
      if rest > 0 {
        let second = rest > 1 ? bytes[groups * 3 + 1] : 0
        write(UInt32(bytes[groups * 3]) << 16 | UInt32(second) << 8, rest + 1, at: groups * 4)
        for place in rest + 1..<max(rest + 1, ending) { unsafe text[groups * 4 + place] = 0x3D }
      }
      return groups * 4 + ending
    }
  }

  /// Nil when `text` is not base 64 in that alphabet.
  public static func decode(_ text: some StringProtocol, _ alphabet: Alphabet = .standard) -> [UInt8]? {
    decode(Array(text.utf8).span, alphabet)
  }

  /// Nil when `text` is not base 64 in that alphabet.
  public static func decode(_ text: Span<UInt8>, _ alphabet: Alphabet = .standard) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: text.count / 4 * 3 + 3)
    var span = bytes.mutableSpan
    guard let count = decode(text, alphabet, into: &span) else { return nil }
    bytes.removeLast(bytes.count - count)
    return bytes
  }

  /// The same of what a client sends, perhaps in lines: line ends (CR, LF) are passed over wherever they stand, and nothing else is.
  public static func decodeLines(_ text: String, _ alphabet: Alphabet = .standard) -> [UInt8]? {
    decode(withoutLineEnds(text), alphabet)
  }

  /// The text without its carriage returns and line feeds.
  public static func withoutLineEnds(_ text: String) -> String {
    guard text.utf8.contains(where: isLineEnd) else { return text }
    return String(decoding: text.utf8.filter { !isLineEnd($0) }, as: UTF8.self)
  }

  private static func isLineEnd(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }

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
    let table = alphabet == .standard ? standardGroups : urlGroups
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
    _ text: UnsafeBufferPointer<UInt8>, _ table: UnsafeBufferPointer<UInt32>,
    into output: UnsafeMutableBufferPointer<UInt8>
  ) -> Bool {
    /// The three bytes that a character is a part of, by its place among the four.
    @inline(__always)
    func part(_ index: Int, _ place: Int) -> UInt32 { unsafe table[place &* 256 &+ Int(text[index])] }
    @inline(__always)
    func write(_ group: UInt32, _ count: Int, at start: Int) {
      unsafe output[start] = UInt8(truncatingIfNeeded: group >> 16)
      if count > 1 { unsafe output[start &+ 1] = UInt8(truncatingIfNeeded: group >> 8) }
      if count > 2 { unsafe output[start &+ 2] = UInt8(truncatingIfNeeded: group) }
    }
    var (position, count) = (0, 0)
    while position &+ 4 <= text.count {
      let group =
        part(position, 0) | part(position &+ 1, 1) | part(position &+ 2, 2) | part(position &+ 3, 3)
      guard group < foreign else { return false }
      write(group, 3, at: count)
      position &+= 4
      count &+= 3
    }
    guard position < text.count else { return true }
    // Two characters are one byte, three are two.
    let third = position + 2 < text.count ? part(position + 2, 2) : 0
    let group = part(position, 0) | part(position + 1, 1) | third
    guard group < foreign else { return false }
    let bytes = position + 2 < text.count ? 2 : 1
    write(group, bytes, at: count)
    return group & (bytes == 2 ? 0xFF : 0xFFFF) == 0
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

  /// Stands in a table for a character that is none of the 64: above what three bytes can be.
  private static let foreign: UInt32 = 1 << 24
  private static let standardGroups = groups(of: .standard)
  private static let urlGroups = groups(of: .url)

  /// Returns a table with the value of each of the 256 bytes in each of the four places of a group. A look
  /// into it costs less than a comparison with ranges and a shift.
  private static func groups(of alphabet: Alphabet) -> [UInt32] {
    var groups = [UInt32](repeating: foreign, count: 4 * 256)
    for place in 0..<4 {
      for value in UInt8(0)..<64 {
        groups[place * 256 + Int(character(value, alphabet))] = UInt32(value) << UInt32(18 - 6 * place)
      }
    }
    return groups
  }
}
