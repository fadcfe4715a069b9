import SystemCalls

/// The name of an entry in an archive that is never unpacked. It may be in whatever the tool that made it wrote: nothing is
/// placed under it.
package struct ArchiveName: Hashable, Sendable {
  /// The encodings in which names are read, in the order in which they are tried. Code page 437 takes all
  /// bytes.
  package enum Encoding: String, Hashable, Sendable {
    /// Strict UTF-8, as ZIP marks it by a flag; the flag itself is not asked.
    case utf8 = "UTF-8"
    /// Shift-JIS with the characters that Windows has besides (code page 932), as Japanese tools write it.
    case shiftJIS = "Shift-JIS"
    /// The character set of the IBM PC.
    case codePage437 = "code page 437"
  }

  /// The encoding in which the name was read.
  package let encoding: Encoding
  /// The name as people read it.
  package let text: String
  /// The same as segments that `/` separates, whatever the tool put between them, without those that lead nowhere (`.`).
  package let path: String
  /// The fault that keeps the name out of a publication; nil for a name that may be in one.
  package let fault: PackagePathFault?

  /// Never fails: every name is read somehow, and ``fault`` says whether it may be in a publication.
  package init(_ bytes: [UInt8]) {
    (text, encoding) = Self.text(of: bytes)
    // In Shift-JIS a backslash is also the second byte of characters.
    let hasBackslashes = encoding == .utf8 && bytes.contains(0x5C)
    let normal = hasBackslashes ? text.replacing("\\", with: "/") : text
    path = normal.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    fault = Self.fault(in: bytes)
  }

  /// Rules for names under which nothing is placed: they lead nowhere outside, by any reading of a separator.
  /// The checks are made on the bytes, before any encoding is assumed; a backslash behind a byte above ASCII
  /// may be half a character of Shift-JIS and divides nothing.
  private static func fault(in bytes: [UInt8]) -> PackagePathFault? {
    if bytes.isEmpty { return .empty }
    if bytes.contains(0) { return .controlCharacter }
    if bytes[0] == 0x2F || bytes[0] == 0x5C { return .absolute }
    if bytes.count >= 3, isLetter(bytes[0]), bytes[1] == 0x3A, bytes[2] == 0x2F || bytes[2] == 0x5C {
      return .absolute
    }
    var segment = bytes.startIndex
    for index in bytes.indices {
      let isBackslash = bytes[index] == 0x5C && (index == 0 || bytes[index - 1] < 0x80)
      guard bytes[index] == 0x2F || isBackslash else { continue }
      if isParent(bytes[segment..<index]) { return .dotSegment }
      segment = index + 1
    }
    return isParent(bytes[segment...]) ? .dotSegment : nil
  }

  /// Whether the segment is `..`.
  private static func isParent(_ segment: ArraySlice<UInt8>) -> Bool { segment.elementsEqual([0x2E, 0x2E]) }

  /// Whether the byte is a letter of ASCII, which may name a drive.
  private static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte & 0xDF) }

  /// Strict UTF-8 first, then Shift-JIS where every byte fits it, else code page 437.
  private static func text(of bytes: [UInt8]) -> (String, Encoding) {
    if let text = String(validating: bytes, as: UTF8.self) { return (text, .utf8) }
    if isShiftJIS(bytes), let text = TextConversion.decode(bytes, from: "CP932") {
      return (text, .shiftJIS)
    }
    var scalars = String.UnicodeScalarView()
    for byte in bytes {
      scalars.append(byte < 0x80 ? Unicode.Scalar(byte) : codePage437[Int(byte) - 0x80])
    }
    return (String(scalars), .codePage437)
  }

  /// Whether every byte above ASCII belongs to a character of Shift-JIS, one of two bytes at least.
  private static func isShiftJIS(_ bytes: [UInt8]) -> Bool {
    var index = 0
    var hasPair = false
    while index < bytes.count {
      switch bytes[index] {
      case ..<0x80, 0xA1...0xDF: index += 1
      case 0x81...0x9F, 0xE0...0xFC:
        guard index + 1 < bytes.count, (0x40...0xFC).contains(bytes[index + 1]), bytes[index + 1] != 0x7F
        else { return false }
        hasPair = true
        index += 2
      default: return false
      }
    }
    return hasPair
  }

  /// The upper half of the IBM PC's characters, which ZIP has where nothing else is said (APPNOTE, appendix D).
  private static let codePage437 = Array(
    ("ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀"
      + "αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{A0}").unicodeScalars)
}
