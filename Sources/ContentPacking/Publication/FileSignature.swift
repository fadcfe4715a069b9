import ContentPackage

/// Tells files that are no ZIP archives by their first bytes.
enum FileSignature {
  /// The kind of a file by its first bytes.
  enum Kind: Hashable, Sendable {
    case format(PublicationFormat)
    /// Pages decide whether these are comic books.
    case sevenZip
    case tar
  }

  /// Bytes from the front that a PDF's header may stand in (ISO 32000, annex H).
  static let pdfHeaderRange = 1024

  /// Tells the kind by the first ``PictureFormat/startLength`` bytes or fewer. Archives come first, then
  /// publications, pictures, what is often given for a publication, and text.
  static func kind(of start: [UInt8]) -> Kind {
    if start.isEmpty { return .format(.other("an empty file")) }
    if start.starts(with: [0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C]) { return .sevenZip }
    if isTar(start) { return .tar }
    if start.starts(with: Array("Rar!\u{1A}\u{7}".utf8)) { return .format(.rar) }
    if let format = publication(start) { return .format(format) }
    if let picture = PictureFormat(startOf: start) {
      return .format(.other("a single picture (\(picture.rawValue))"))
    }
    if let found = others.first(where: { holds($0.bytes, in: start, at: $0.offset) }) {
      return .format(.other(found.clause))
    }
    return .format(text(start).map { .other($0) } ?? .unknown)
  }

  /// Where the header of a PDF stands; nil for what is none. It may stand up to 1024 bytes behind the start.
  static func pdfHeader(in start: [UInt8]) -> Int? {
    let header = Array("%PDF-".utf8)
    return start.prefix(pdfHeaderRange + header.count).indices.first { holds(header, in: start, at: $0) }
  }

  /// Nil for what is none of the formats that are told by a signature.
  private static func publication(_ start: [UInt8]) -> PublicationFormat? {
    if pdfHeader(in: start) != nil { return .pdf }
    if holds(Array("BOOKMOBI".utf8), in: start, at: 60) || holds(Array("TEXtREAd".utf8), in: start, at: 60) {
      return .mobipocket
    }
    if start.starts(with: Array("AT&TFORM".utf8)) { return .djvu }
    // In one of many encodings, which its root's name looks the same in.
    let isMarkup = start.first == 0x3C || start.starts(with: [0xEF, 0xBB, 0xBF, 0x3C])
    return isMarkup && String(decoding: start, as: UTF8.self).contains("<FictionBook") ? .fictionBook : nil
  }

  private static func holds(_ bytes: [UInt8], in start: [UInt8], at offset: Int) -> Bool {
    start.count >= offset + bytes.count && start[offset..<offset + bytes.count].elementsEqual(bytes)
  }

  /// By its magic, or for the oldest by the sum of its first header.
  private static func isTar(_ start: [UInt8]) -> Bool {
    if holds(Array("ustar".utf8), in: start, at: 257) { return true }
    guard start.count >= 512, start[0] != 0 else { return false }
    let digits = start[148..<156].drop { $0 == 0x20 }.prefix { (0x30...0x37).contains($0) }
    guard !digits.isEmpty else { return false }
    let said = digits.reduce(0) { $0 << 3 | Int($1 - 0x30) }
    let sum = start[..<512].enumerated().reduce(0) {
      $0 + ((148..<156).contains($1.offset) ? 0x20 : Int($1.element))
    }
    return said == sum
  }

  /// Files that are no publication but often given for one, with words for the message.
  private static let others: [(offset: Int, bytes: [UInt8], clause: String)] = [
    (
      0, [0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1],
      "an Office document of the older kind (.doc, .xls, .ppt)"
    ),
    (0, [0x06, 0x06, 0xED, 0xF5, 0xD8, 0x1D, 0x46, 0xE5], "an InDesign document (export it as PDF or EPUB)"),
    (0, Array("8BPS".utf8), "a Photoshop document"),
    (0, Array("%!PS".utf8), "a PostScript document"),
    (0, Array("{\\rtf".utf8), "an RTF document"),
    (0, [0x1F, 0x8B], "a gzip file"), (0, Array("BZh".utf8), "a bzip2 file"),
    (0, [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0], "an xz file"), (0, [0x28, 0xB5, 0x2F, 0xFD], "a Zstandard file"),
    (0, Array("SQLite format 3\0".utf8), "an SQLite database"),
    (0, Array("ID3".utf8), "an MP3 recording"), (0, Array("fLaC".utf8), "a FLAC recording"),
    (0, Array("OggS".utf8), "an Ogg recording"),
    (0, [0x1A, 0x45, 0xDF, 0xA3], "a Matroska or WebM recording"),
    (4, Array("ftyp".utf8), "an MPEG-4 recording"), (8, Array("WAVE".utf8), "a WAVE recording"),
    (0, [0, 0x05, 0x16, 0x07], "a resource fork of macOS"),
    (0, Array("bplist00".utf8), "a property list"),
  ]

  /// Returns the kind of text, as a clause; nil for bytes that are no text.
  private static func text(_ start: [UInt8]) -> String? {
    if start.starts(with: Array("#!".utf8)) { return "a script" }
    if start.starts(with: [0xFF, 0xFE]) || start.starts(with: [0xFE, 0xFF]) { return "plain text" }
    let isText = start.allSatisfy { $0 >= 0x20 || (0x09...0x0D).contains($0) }
    guard isText, isUTF8(start) else { return nil }
    let text = String(decoding: start, as: UTF8.self).drop { $0.isWhitespace || $0 == "\u{FEFF}" }
      .prefix(2048).lowercased()
    if text.hasPrefix("<!doctype html") || text.hasPrefix("<html") { return "an HTML page" }
    if text.hasPrefix("<?xml") || text.hasPrefix("<") { return "an XML document" }
    return "plain text"
  }

  /// A character that the end of the bytes cuts is none.
  private static func isUTF8(_ start: [UInt8]) -> Bool {
    (0...3).contains { String(validating: start.dropLast($0), as: UTF8.self) != nil }
  }
}
