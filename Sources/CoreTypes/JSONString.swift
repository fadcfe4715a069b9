/// Writes text as a string of JSON (RFC 8259 §7). This is the project's one escaper, for what the
/// interfaces say, for canonical manifests, log lines and access lines.
public enum JSONString {
  /// Which characters are escaped beyond quote, backslash and the controls below U+0020, which JSON demands.
  public enum Form: Hashable, Sendable {
    /// None: RFC 8785 §3.2.2.2, one form for each text.
    case canonical
    /// Also those that move a terminal's cursor or end a line for some reader: U+007F to U+009F, U+2028 and U+2029.
    case oneLine
  }

  /// Appends `text` with its quotes, in UTF-8.
  public static func append(_ text: String, to bytes: inout [UInt8], form: Form = .canonical) {
    bytes.append(UInt8(ascii: "\""))
    appendContent(of: text, to: &bytes, form: form)
    bytes.append(UInt8(ascii: "\""))
  }

  /// Appends `text` without quotes, in UTF-8: a part of a string.
  public static func appendContent(of text: String, to bytes: inout [UInt8], form: Form = .canonical) {
    let utf8 = text.utf8.span
    var index = 0
    while index < utf8.count {
      let start = index
      if form == .canonical { index += countOfPlainWords(utf8.extracting(start...)) }
      while index < utf8.count, isPlain(utf8[index], form) { index += 1 }
      if index > start {
        unsafe utf8.extracting(start..<index).withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0) }
        continue
      }
      let byte = utf8[index]
      index += 1
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(byte)
      case 0..<0x20: bytes.append(contentsOf: escape(ofControl: byte))
      case 0x7F where form == .oneLine: appendEscape(of: 0x7F, to: &bytes)
      // A text is well-formed UTF-8: the bytes that continue a character are there.
      case 0xC2 where form == .oneLine && utf8[index] < 0xA0:
        appendEscape(of: UInt16(utf8[index]), to: &bytes)
        index += 1
      case 0xE2 where form == .oneLine && utf8[index] == 0x80 && utf8[index + 1] & 0xFE == 0xA8:
        appendEscape(of: 0x2000 | UInt16(utf8[index + 1] & 0x3F), to: &bytes)
        index += 2
      default: bytes.append(byte)
      }
    }
  }

  /// How many bytes at the beginning, a multiple of eight, are written as they are: long texts, as receipts are, are looked
  /// at in words. For ``Form/canonical``.
  static func countOfPlainWords(_ bytes: Span<UInt8>) -> Int {
    let (ones, tops): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
    let (quotes, backslashes) = (ones &* UInt64(UInt8(ascii: "\"")), ones &* UInt64(UInt8(ascii: "\\")))
    /// Not zero where the word holds a control, a quote or a backslash: a byte below what is subtracted from it borrows from its
    /// top bit, which is clear in all three.
    @inline(__always)
    func specials(_ word: UInt64) -> UInt64 {
      ((word &- ones &* 0x20) | ((word ^ quotes) &- ones) | ((word ^ backslashes) &- ones)) & ~word & tops
    }
    return unsafe bytes.withUnsafeBytes { bytes in
      var index = 0
      while index &+ 16 <= bytes.count {
        let first = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        let second = unsafe bytes.loadUnaligned(fromByteOffset: index &+ 8, as: UInt64.self)
        if specials(first) | specials(second) != 0 { break }
        index &+= 16
      }
      while index &+ 8 <= bytes.count {
        if unsafe specials(bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)) != 0 { break }
        index &+= 8
      }
      return index
    }
  }

  /// Whether a text of a JSON document, or the name of a member, has the character U+0000: as the escape `\u0000`, or as a byte, which
  /// only a document has that is none, or not in UTF-8 (RFC 8259 §7, §8.1).
  public static func hasNull(inDocument bytes: [UInt8]) -> Bool {
    let bytes = bytes.span
    let digits = UInt8(ascii: "0")
    var index = 0
    while true {
      index += countOfWordsWithoutEscapes(bytes.extracting(index...))
      guard index < bytes.count else { return false }
      let byte = bytes[index]
      if byte == 0 { return true }
      guard byte == UInt8(ascii: "\\") else {
        index += 1
        continue
      }
      if index + 6 <= bytes.count, bytes[index + 1] == UInt8(ascii: "u"), bytes[index + 2] == digits,
        bytes[index + 3] == digits, bytes[index + 4] == digits, bytes[index + 5] == digits
      {
        return true
      }
      // What a backslash escapes may be a backslash. Outside of texts there is none.
      index = min(index + 2, bytes.count)
    }
  }

  /// Whether an escape in a JSON document is one half of a surrogate pair without the other (RFC 8259 §8.2). Some answer for what is not
  /// JSON.
  public static func hasLoneSurrogate(inDocument bytes: [UInt8]) -> Bool {
    /// The unit of UTF-16 that is escaped there; nil where there is no such escape.
    func unit(at index: Int) -> UInt16? {
      guard index + 6 <= bytes.count, bytes[index] == UInt8(ascii: "\\"),
        bytes[index + 1] == UInt8(ascii: "u")
      else { return nil }
      return UInt16(String(decoding: bytes[(index + 2)..<(index + 6)], as: UTF8.self), radix: 16)
    }
    var index = 0
    while index < bytes.count {
      guard bytes[index] == UInt8(ascii: "\\") else {
        index += 1
        continue
      }
      switch unit(at: index) {
      case (0xD800...0xDBFF)?:
        guard let second = unit(at: index + 6), (0xDC00...0xDFFF).contains(second) else { return true }
        index += 12
      case (0xDC00...0xDFFF)?: return true
      default: index += 2
      }
    }
    return false
  }

  /// How many bytes at the beginning, a multiple of eight, are neither zero nor a backslash.
  private static func countOfWordsWithoutEscapes(_ bytes: Span<UInt8>) -> Int {
    let (ones, tops): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
    let backslashes = ones &* UInt64(UInt8(ascii: "\\"))
    return unsafe bytes.withUnsafeBytes { bytes in
      var index = 0
      while index &+ 8 <= bytes.count {
        let word = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        let other = word ^ backslashes
        // A byte that is zero borrows from its top bit, and so do only bytes that have it set.
        if ((word &- ones) & ~word | (other &- ones) & ~other) & tops != 0 { break }
        index &+= 8
      }
      return index
    }
  }

  /// Whether the byte is written as it is, whatever comes after it.
  @inline(__always)
  private static func isPlain(_ byte: UInt8, _ form: Form) -> Bool {
    guard byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else { return false }
    return form == .canonical || (byte != 0x7F && byte != 0xC2 && byte != 0xE2)
  }

  /// The escape of a control character below U+0020: the short form where there is one, else `\u00xx` with lower-case
  /// digits.
  public static func escape(ofControl byte: UInt8) -> [UInt8] {
    switch byte {
    case 0x08: return Array("\\b".utf8)
    case 0x09: return Array("\\t".utf8)
    case 0x0A: return Array("\\n".utf8)
    case 0x0C: return Array("\\f".utf8)
    case 0x0D: return Array("\\r".utf8)
    default:
      var bytes: [UInt8] = []
      appendEscape(of: UInt16(byte), to: &bytes)
      return bytes
    }
  }

  private static func appendEscape(of unit: UInt16, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\\"))
    bytes.append(UInt8(ascii: "u"))
    for shift in [12, 8, 4, 0] {
      let digit = UInt8(unit >> shift & 15)
      bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
    }
  }
}
