import Foundation

/// Makes a stranger's markup such that a strict parser reads it: one encoding, no declarations, no references but the five that
/// need none and characters that XML has. Everything else stays byte by byte.
struct MarkupText {
  /// UTF-8, ready to be parsed.
  private(set) var bytes: [UInt8] = []

  /// The document in UTF-8, without white space at its beginning.
  private let source: [UInt8]
  /// The index of the next byte of the source.
  private var position = 0
  /// Whether a document type was passed over.
  private var hasDocumentType = false

  /// Nil for bytes that are no text in an encoding that is known, and for a document type that declares anything: nothing
  /// is expanded, and nothing is fetched.
  init?(_ document: [UInt8]) {
    guard let text = Self.decoded(document), !text.utf8.contains(0) else { return nil }
    source = Array(text.utf8.drop { Self.isWhiteSpace($0) })
    bytes.reserveCapacity(source.count)
    if starts(with: "<?xml"), source.count > 5, Self.isWhiteSpace(source[5]) {
      // The encoding that it declares is no longer so.
      guard let end = end(of: "?>") else { return nil }
      position = end
    }
    while position < source.count {
      guard step() else { return nil }
    }
  }

  /// False for what may not be in a document. Takes at least one byte of the source. Control characters that
  /// XML does not have are dropped.
  private mutating func step() -> Bool {
    let byte = source[position]
    if byte == 0x26 {
      copyReference()
      return true
    }
    // An element's own markup is copied like text.
    let following = position + 1 < source.count ? source[position + 1] : 0
    if byte == 0x3C, following == 0x21 || following == 0x3F { return declaration() }
    if byte >= 0x20 || Self.isWhiteSpace(byte) { bytes.append(byte) }
    position += 1
    return true
  }

  /// Reads markup that begins with `<!` or `<?`. False for a declaration that stands outside of a document
  /// type, and for one without an end.
  private mutating func declaration() -> Bool {
    if starts(with: "<![CDATA[") { return copy(through: "]]>") }
    if starts(with: "<!--") { return copy(through: "-->") }
    if starts(with: "<?") { return copy(through: "?>") }
    return starts(with: "<!DOCTYPE") && skipDocumentType()
  }

  /// False where the end does not come.
  private mutating func copy(through end: String) -> Bool {
    guard let end = self.end(of: end) else { return false }
    bytes += source[position..<end].filter { $0 >= 0x20 || Self.isWhiteSpace($0) }
    position = end
    return true
  }

  /// A document type without declarations of its own means nothing here. False for a second one, for one with
  /// a bracket, in which declarations stand, and for one without an end.
  private mutating func skipDocumentType() -> Bool {
    guard !hasDocumentType else { return false }
    hasDocumentType = true
    var quote: UInt8?
    for index in position..<source.count {
      switch (source[index], quote) {
      case (let byte, let open?) where byte == open: quote = nil
      case (_, _?): break
      case (0x22, nil), (0x27, nil): quote = source[index]
      case (0x5B, nil): return false
      case (0x3E, nil):
        position = index + 1
        return true
      default: break
      }
    }
    return false
  }

  /// A reference to what is known is copied, or becomes its character; any other stays as the text that it is.
  private mutating func copyReference() {
    let name = source[(position + 1)...].prefix(32).prefix {
      $0 != 0x3B && $0 != 0x26 && $0 != 0x3C && $0 > 0x20
    }
    let end = position + 1 + name.count
    guard !name.isEmpty, end < source.count, source[end] == 0x3B else {
      bytes += Array("&amp;".utf8)
      position += 1
      return
    }
    let text = String(decoding: name, as: UTF8.self)
    if Self.predefined.contains(text) {
      bytes += source[position...end]
    } else if text.hasPrefix("#") {
      // Characters that XML does not have are none.
      if let scalar = Self.scalar(text.dropFirst()) { bytes += Array("&#\(scalar.value);".utf8) }
    } else if let scalar = Self.named[text] {
      bytes += Array(String(scalar).utf8)
    } else {
      bytes += Array("&amp;\(text);".utf8)
    }
    position = end + 1
  }

  /// A character reference's value, decimal or after an `x` hexadecimal. Nil for anything but digits (XML 1.0, section 4.1), and
  /// for what XML does not count as a character (section 2.2).
  private static func scalar(_ reference: Substring) -> Unicode.Scalar? {
    let isHexadecimal = reference.first == "x" || reference.first == "X"
    let digits = isHexadecimal ? reference.dropFirst() : reference
    guard digits.allSatisfy({ $0.isASCII && $0.isHexDigit }),
      let value = UInt32(digits, radix: isHexadecimal ? 16 : 10), let scalar = Unicode.Scalar(value)
    else { return nil }
    let isCharacter =
      value >= 0x20 && value != 0xFFFE && value != 0xFFFF || [0x09, 0x0A, 0x0D].contains(value)
    return isCharacter ? scalar : nil
  }

  /// Whether the text stands at the present position.
  private func starts(with text: String) -> Bool { source[position...].starts(with: text.utf8) }

  /// The position behind `text`, from the present one on; nil where it does not follow.
  private func end(of text: String) -> Int? {
    let wanted = Array(text.utf8)
    guard var index = source[position...].firstIndex(of: wanted[0]) else { return nil }
    while index + wanted.count <= source.count {
      if source[index..<index + wanted.count].elementsEqual(wanted) { return index + wanted.count }
      index += 1
    }
    return nil
  }

  /// Whether the byte is white space of XML (section 2.3).
  private static func isWhiteSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }

  /// The entities that XML has without a declaration (section 4.6).
  private static let predefined: Set<String> = ["amp", "lt", "gt", "quot", "apos"]
}

/// The decoding of the document.
extension MarkupText {
  /// The bytes speak first: a declaration counts only where they could be in any of many encodings.
  private static func decoded(_ bytes: [UInt8]) -> String? {
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
      return String(validating: bytes.dropFirst(3), as: UTF8.self)
    }
    if bytes.starts(with: [0xFF, 0xFE]) { return wide(bytes.dropFirst(2), isLittle: true) }
    if bytes.starts(with: [0xFE, 0xFF]) { return wide(bytes.dropFirst(2), isLittle: false) }
    if bytes.starts(with: [0x3C, 0]) { return wide(bytes[...], isLittle: true) }
    if bytes.starts(with: [0, 0x3C]) { return wide(bytes[...], isLittle: false) }
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    guard let name = declaredEncoding(bytes), let encoding = encodings[name] else { return nil }
    return String(data: Data(bytes), encoding: encoding)
  }

  /// UTF-16 without its mark. Nil for an odd number of bytes and for units that pair wrongly.
  private static func wide(_ bytes: ArraySlice<UInt8>, isLittle: Bool) -> String? {
    guard bytes.count.isMultiple(of: 2) else { return nil }
    let units = stride(from: bytes.startIndex, to: bytes.endIndex, by: 2).map { index in
      let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
      return isLittle ? second << 8 | first : first << 8 | second
    }
    return String(validating: units, as: UTF16.self)
  }

  /// The name in lower case; nil unless a declaration in the first 256 bytes has one.
  private static func declaredEncoding(_ bytes: [UInt8]) -> String? {
    let start = String(decoding: bytes.prefix(256), as: UTF8.self)
    guard let declaration = start.range(of: "<?xml"), let end = start.range(of: "?>"),
      declaration.upperBound <= end.lowerBound
    else { return nil }
    let text = start[declaration.upperBound..<end.lowerBound]
    guard let name = text.range(of: "encoding") else { return nil }
    let value = text[name.upperBound...].drop { $0.isWhitespace || $0 == "=" }
    guard let quote = value.first, quote == "\"" || quote == "'" else { return nil }
    return value.dropFirst().prefix { $0 != quote }.lowercased()
  }

  /// Encodings by their names. The name ISO 8859-1 stands for the characters of Windows too, as everywhere on
  /// the web.
  private static let encodings: [String: String.Encoding] = [
    "iso-8859-1": .windowsCP1252, "iso8859-1": .windowsCP1252, "latin1": .windowsCP1252,
    "latin-1": .windowsCP1252, "us-ascii": .windowsCP1252, "ascii": .windowsCP1252,
    "windows-1252": .windowsCP1252, "cp1252": .windowsCP1252, "windows-1250": .windowsCP1250,
    "windows-1251": .windowsCP1251, "windows-1253": .windowsCP1253, "windows-1254": .windowsCP1254,
    "iso-8859-2": .isoLatin2, "shift_jis": .shiftJIS, "shift-jis": .shiftJIS, "windows-31j": .shiftJIS,
    "euc-jp": .japaneseEUC, "macintosh": .macOSRoman,
  ]

  /// The entities of HTML that stand in books without being declared: Latin-1 in its order, and what typesetters use.
  private static let named: [String: Unicode.Scalar] = {
    let latin = """
      nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para middot \
      cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml \
      Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig \
      agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute \
      ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml
      """
    var named: [String: Unicode.Scalar] = [
      "ndash": "–", "mdash": "—", "lsquo": "‘", "rsquo": "’", "sbquo": "‚", "ldquo": "“", "rdquo": "”",
      "bdquo": "„", "lsaquo": "‹", "rsaquo": "›", "bull": "•", "hellip": "…", "trade": "™", "euro": "€",
      "dagger": "†", "prime": "′", "OElig": "Œ", "oelig": "œ", "Scaron": "Š", "scaron": "š", "Yuml": "Ÿ",
      "minus": "−", "ensp": "\u{2002}", "emsp": "\u{2003}", "thinsp": "\u{2009}",
    ]
    for (offset, name) in latin.split(whereSeparator: \.isWhitespace).enumerated() {
      named[String(name)] = Unicode.Scalar(UInt8(160 + offset))
    }
    return named
  }()
}
