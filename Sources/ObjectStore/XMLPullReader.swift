/// Reads the small XML documents that stores answer with (XML 1.0, in UTF-8), element by element, with bounds. There is nothing to
/// expand and nothing to fetch: a document type or a processing instruction ends the reading. Attributes are passed over, and names
/// are local: a prefix before a colon is dropped.
///
/// ```swift
/// var reader = XMLPullReader(bytes)
/// while let event = try reader.next() {
///   if case .end(let name, let text) = event, name == "Code" { print(text) }
/// }
/// ```
struct XMLPullReader {
  /// Every start has its end, unless the reading fails.
  enum Event: Equatable {
    /// An element begins; its attributes were passed over.
    case start(name: String)
    /// `text` is what stood in the element itself, not in those in it, with all white space.
    case end(name: String, text: String)
  }

  /// Why a document cannot be read.
  struct Fault: Error, Equatable {
    /// The fault, a clause about the document.
    let message: String

    /// A fault with that clause.
    init(_ message: String) { self.message = message }
  }

  /// Elements in each other.
  static let maximumDepth = 16
  /// Bytes of a name.
  static let maximumNameLength = 128
  /// Bytes of an element's own text.
  static let maximumTextLength = 16 << 10

  /// The document.
  private let bytes: [UInt8]
  /// The offset of the next byte.
  private var position = 0
  /// The elements that are open, with their texts so far.
  private var open: [(name: String, text: [UInt8])] = []
  /// The name of an element that was empty (`<a/>`): its end is the next event.
  private var emptied = false
  /// Whether the root was closed, behind which only comments and white space may stand.
  private var hasEnded = false

  /// A reader at the beginning of a document; a mark of UTF-8 is passed over.
  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
  }

  /// The names of the elements that are open, the root first.
  var path: [String] { open.map(\.name) }

  /// Nil at the document's end.
  mutating func next() throws(Fault) -> Event? {
    if emptied {
      emptied = false
      return try closeInnermost()
    }
    while position < bytes.count {
      guard bytes[position] == UInt8(ascii: "<") else {
        try readText()
        continue
      }
      if skip("<!--") {
        try readPast("-->")
      } else if skip("<![CDATA[") {
        try readCharacterData()
      } else if at("<?") {
        try readDeclaration()
      } else if skip("</") {
        return try readEndTag()
      } else if at("<!") {
        throw Fault("a document type stands in it")
      } else {
        position += 1
        return try readStartTag()
      }
    }
    guard hasEnded else { throw Fault("it ends within an element, or has none") }
    return nil
  }

  // MARK: Tags

  /// Reads a start tag from its name on. One that closes itself leaves its end for the next event.
  private mutating func readStartTag() throws(Fault) -> Event {
    guard !hasEnded else { throw Fault("there are several documents") }
    guard open.count < Self.maximumDepth else { throw Fault("its elements lie too deep in each other") }
    let name = try readName()
    try readAttributes()
    if skip("/>") {
      emptied = true
    } else {
      guard skip(">") else { throw Fault("a tag is malformed") }
    }
    open.append((name, []))
    return .start(name: name)
  }

  /// Reads an end tag, which must be that of the innermost element.
  private mutating func readEndTag() throws(Fault) -> Event {
    let name = try readName()
    skipSpace()
    guard skip(">") else { throw Fault("a tag is malformed") }
    guard open.last?.name == name else { throw Fault("an end tag has no start tag") }
    return try closeInnermost()
  }

  /// Closes the innermost element and returns its end. Its text must be UTF-8.
  private mutating func closeInnermost() throws(Fault) -> Event {
    guard let (name, bytes) = open.popLast() else { throw Fault("an end tag has no start tag") }
    if open.isEmpty { hasEnded = true }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw Fault("it is not UTF-8") }
    return .end(name: name, text: text)
  }

  /// The part of the name behind its colon.
  private mutating func readName() throws(Fault) -> String {
    let start = position
    while position < bytes.count, Self.isOfName(bytes[position]) { position += 1 }
    guard (1...Self.maximumNameLength).contains(position - start),
      let name = String(validating: bytes[start..<position], as: UTF8.self)
    else { throw Fault("a name is malformed, or too long") }
    return name.utf8.lastIndex(of: UInt8(ascii: ":")).map { String(name[name.utf8.index(after: $0)...]) }
      ?? name
  }

  /// Whether the byte may stand in a name. All bytes beyond ASCII may.
  private static func isOfName(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x3A, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x80...: true
    default: false
    }
  }

  /// Passes over attributes. Their values need quotes and may hold no tag; two of one name are not found out.
  private mutating func readAttributes() throws(Fault) {
    while true {
      skipSpace()
      guard position < bytes.count else { throw Fault("it ends within a tag") }
      if bytes[position] == UInt8(ascii: ">") || bytes[position] == UInt8(ascii: "/") { return }
      _ = try readName()
      skipSpace()
      guard skip("=") else { throw Fault("an attribute has no value") }
      skipSpace()
      guard position < bytes.count else { throw Fault("it ends within a tag") }
      let quote = bytes[position]
      guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
        throw Fault("an attribute's value has no quotes")
      }
      position += 1
      while position < bytes.count, bytes[position] != quote {
        guard bytes[position] != UInt8(ascii: "<") else { throw Fault("a tag stands in an attribute") }
        position += 1
      }
      guard position < bytes.count else { throw Fault("it ends within a tag") }
      position += 1
    }
  }

  // MARK: Text

  /// Reads text up to the next tag, references resolved.
  private mutating func readText() throws(Fault) {
    while position < bytes.count, bytes[position] != UInt8(ascii: "<") {
      if bytes[position] == UInt8(ascii: "&") {
        try append(contentsOf: try readReference())
        continue
      }
      let start = position
      while position < bytes.count, bytes[position] != UInt8(ascii: "<"), bytes[position] != UInt8(ascii: "&")
      {
        position += 1
      }
      try append(contentsOf: bytes[start..<position])
    }
  }

  /// Reads a CDATA section, whose references are none.
  private mutating func readCharacterData() throws(Fault) {
    let start = position
    try readPast("]]>")
    try append(contentsOf: bytes[start..<position - 3])
  }

  /// Adds to the text of the innermost element; outside of all elements only white space may stand.
  private mutating func append(contentsOf added: some Collection<UInt8>) throws(Fault) {
    guard let innermost = open.indices.last else {
      guard added.allSatisfy(Self.isSpace) else { throw Fault("text stands outside of its elements") }
      return
    }
    guard open[innermost].text.count + added.count <= Self.maximumTextLength else {
      throw Fault("the text of an element is too long")
    }
    open[innermost].text += added
  }

  /// One of the five named characters, or one by its number.
  private mutating func readReference() throws(Fault) -> [UInt8] {
    let start = position + 1
    // The longest: `&#1114111;`, `&#x10FFFF;`.
    guard let end = bytes[start..<min(bytes.count, start + 10)].firstIndex(of: UInt8(ascii: ";")) else {
      throw Fault("a reference is malformed")
    }
    let name = String(decoding: bytes[start..<end], as: UTF8.self)
    position = end + 1
    switch name {
    case "amp": return [UInt8(ascii: "&")]
    case "lt": return [UInt8(ascii: "<")]
    case "gt": return [UInt8(ascii: ">")]
    case "quot": return [UInt8(ascii: "\"")]
    case "apos": return [UInt8(ascii: "'")]
    default:
      guard let scalar = Self.scalar(name) else { throw Fault("a reference means nothing here") }
      return Array(String(scalar).utf8)
    }
  }

  /// The character of a number, decimal or behind an `x` hexadecimal; nil for anything else and for U+0000.
  private static func scalar(_ reference: String) -> Unicode.Scalar? {
    guard reference.hasPrefix("#") else { return nil }
    let isHexadecimal = reference.hasPrefix("#x")
    let digits = reference.dropFirst(isHexadecimal ? 2 : 1)
    // A sign would be read as part of a number.
    guard digits.first != "+", let number = UInt32(digits, radix: isHexadecimal ? 16 : 10), number > 0 else {
      return nil
    }
    return Unicode.Scalar(number)
  }

  // MARK: The rest

  /// `<?xml … ?>` at the very beginning. Another encoding than UTF-8 is not read.
  private mutating func readDeclaration() throws(Fault) {
    let isFirst = position == 0 || (position == 3 && bytes[0] == 0xEF)
    guard isFirst, skip("<?xml"), position < bytes.count, Self.isSpace(bytes[position]) else {
      throw Fault("a processing instruction stands in it")
    }
    let start = position
    try readPast("?>")
    let declaration = String(decoding: bytes[start..<position - 2], as: UTF8.self).lowercased()
    guard let encoding = declaration.firstRange(of: "encoding") else { return }
    let value = declaration[encoding.upperBound...].drop { $0 == " " || $0 == "=" || $0 == "\"" || $0 == "'" }
    guard value.hasPrefix("utf-8") || value.hasPrefix("us-ascii") else { throw Fault("it is not UTF-8") }
  }

  /// Whether the mark stands here.
  private func at(_ mark: String) -> Bool { bytes[position...].starts(with: mark.utf8) }

  /// Whether `mark` stood here; the position is behind it then.
  private mutating func skip(_ mark: String) -> Bool {
    guard at(mark) else { return false }
    position += mark.utf8.count
    return true
  }

  /// Moves behind the next such mark. Throws where none comes.
  private mutating func readPast(_ mark: String) throws(Fault) {
    while position < bytes.count {
      if skip(mark) { return }
      position += 1
    }
    throw Fault("it ends too early")
  }

  /// Passes over white space.
  private mutating func skipSpace() {
    while position < bytes.count, Self.isSpace(bytes[position]) { position += 1 }
  }

  /// Whether the byte is white space of XML (section 2.3).
  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
  }
}
