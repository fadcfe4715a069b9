/// Reads JSON5 (https://spec.json5.org), and knows for each value and each key in which line and column it stands.
///
/// It takes what the specification takes, but for `Infinity` and `NaN`, which no setting can mean, and for a key that a table
/// has twice.
struct JSON5Parser {
  /// Deeper lists and tables are refused.
  static let maximumDepth = 32

  /// The origin that values get: their place in the file of that path, or one origin for all.
  enum Source {
    /// A file, whose path stands in origins with line and column.
    case file(String)
    /// A text of another place, which is the origin of every value in it.
    case entry(ConfigurationOrigin)
  }

  /// The characters of the text.
  private var scalars: [Unicode.Scalar] = []
  /// The origin of values.
  private let source: Source
  /// The index of the next character.
  private var index = 0
  /// The line of the next character, from 1.
  private var line = 1
  /// Its column in characters, from 1.
  private var column = 1
  /// Lists and tables that are open at this place.
  private var depth = 0

  /// The one value of `bytes`. Throws for what is no JSON5, at the place where it stops being that.
  static func parse(_ bytes: [UInt8], source: Source) throws(ConfigurationError) -> ConfigurationValue {
    var parser = JSON5Parser(source: source)
    try parser.decode(bytes)
    let value = try parser.value()
    try parser.skipSpace()
    guard parser.peek == nil else {
      throw parser.failure("nothing is expected after the outermost value, but \(parser.found)")
    }
    return value
  }

  /// A parser of nothing, which ``parse(_:source:)`` gives its text.
  private init(source: Source) {
    self.source = source
  }

  /// Decodes the bytes as UTF-8. Throws at the place of the first that are not.
  private mutating func decode(_ bytes: [UInt8]) throws(ConfigurationError) {
    var decoder = Unicode.UTF8.ForwardParser()
    var iterator = bytes.makeIterator()
    while true {
      switch decoder.parseScalar(from: &iterator) {
      case .valid(let encoded): scalars.append(Unicode.UTF8.decode(encoded))
      case .emptyInput: return
      case .error:
        while peek != nil { advance() }
        throw failure("the text is not UTF-8 here")
      }
    }
  }

  // MARK: Values

  /// Any value, with the space in front of it.
  private mutating func value() throws(ConfigurationError) -> ConfigurationValue {
    try skipSpace()
    let origin = here
    switch peek {
    case "{":
      return ConfigurationValue(
        try nested { parser throws(ConfigurationError) in try parser.table() }, origin: origin)
    case "[":
      return ConfigurationValue(
        try nested { parser throws(ConfigurationError) in try parser.list() }, origin: origin)
    case "\"", "'": return ConfigurationValue(.string(try string()), origin: origin)
    case .some(let scalar) where isWord(scalar) || "+-.".unicodeScalars.contains(scalar):
      return ConfigurationValue(try word(), origin: origin)
    default: throw failure("a value is expected here, not \(found)")
    }
  }

  /// Reads a list or a table one level deeper. Throws beyond ``maximumDepth``, so that no text exhausts the stack.
  private mutating func nested(
    _ read: (inout JSON5Parser) throws(ConfigurationError) -> ConfigurationValue.Content
  ) throws(ConfigurationError) -> ConfigurationValue.Content {
    guard depth < Self.maximumDepth else {
      throw failure("at most \(Self.maximumDepth) lists and tables may stand in one another")
    }
    depth += 1
    defer { depth -= 1 }
    return try read(&self)
  }

  /// The members of a table from its brace on; a comma may stand behind the last.
  private mutating func table() throws(ConfigurationError) -> ConfigurationValue.Content {
    let start = (line, column)
    advance()
    var members: [String: ConfigurationValue] = [:]
    while true {
      try skipSpace()
      if take("}") { return .table(members) }
      guard peek != nil else { throw unclosed("{", start) }
      let origin = here
      let key = try key()
      guard members[key] == nil else {
        throw failure("'\(key)' stands in this table a second time", at: origin)
      }
      try skipSpace()
      guard take(":") else { throw failure("a colon is expected after '\(key)', not \(found)") }
      var member = try value()
      member.keyOrigin = origin
      members[key] = member
      try skipSpace()
      if take(",") { continue }
      if take("}") { return .table(members) }
      guard peek != nil else { throw unclosed("{", start) }
      throw failure("a comma or } is expected here, not \(found)")
    }
  }

  /// The elements of a list from its bracket on; a comma may stand behind the last.
  private mutating func list() throws(ConfigurationError) -> ConfigurationValue.Content {
    let start = (line, column)
    advance()
    var elements: [ConfigurationValue] = []
    while true {
      try skipSpace()
      if take("]") { return .list(elements) }
      guard peek != nil else { throw unclosed("[", start) }
      elements.append(try value())
      try skipSpace()
      if take(",") { continue }
      if take("]") { return .list(elements) }
      guard peek != nil else { throw unclosed("[", start) }
      throw failure("a comma or ] is expected here, not \(found)")
    }
  }

  /// A key: a text in quotation marks, or a name that does not begin with a digit.
  private mutating func key() throws(ConfigurationError) -> String {
    if peek == "\"" || peek == "'" { return try string() }
    guard let first = peek, isWord(first), !("0"..."9").contains(first) else {
      throw failure("a key is expected here, not \(found)")
    }
    var key = String.UnicodeScalarView()
    while let scalar = peek, isWord(scalar) {
      key.append(scalar)
      advance()
    }
    return String(key)
  }

  /// `true`, `false`, `null` or a number.
  private mutating func word() throws(ConfigurationError) -> ConfigurationValue.Content {
    let origin = here
    var view = String.UnicodeScalarView()
    while let scalar = peek, isWord(scalar) || "+-.".unicodeScalars.contains(scalar) {
      view.append(scalar)
      advance()
    }
    let text = String(view)
    switch text {
    case "true": return .boolean(true)
    case "false": return .boolean(false)
    case "null": return .null
    default: break
    }
    if let number = JSON5Number.parse(text) { return number }
    // Not what stands there: it may be a secret.
    let isNumber = text.unicodeScalars.first.map { "+-.0123456789".unicodeScalars.contains($0) } ?? false
    throw failure(
      (isNumber ? "this is no number" : "this is no value") + "; a text stands in quotation marks", at: origin
    )
  }

  // MARK: Texts

  /// A text in single or double quotation marks, which ends in its line unless a backslash continues it.
  private mutating func string() throws(ConfigurationError) -> String {
    let start = here
    let mark = peek
    advance()
    var text = String.UnicodeScalarView()
    while let scalar = peek, scalar != mark {
      guard scalar != "\n", scalar != "\r" else { break }
      advance()
      if scalar == "\\" {
        if let escaped = try escape() { text.append(escaped) }
      } else {
        text.append(scalar)
      }
    }
    guard peek == mark, mark != nil else { throw failure("this text has no end in its line", at: start) }
    advance()
    return String(text)
  }

  /// Reads the character after a backslash; nil for the end of a line, so that the text continues in the
  /// next.
  private mutating func escape() throws(ConfigurationError) -> Unicode.Scalar? {
    let origin = here
    guard let scalar = peek else { throw failure("this text has no end") }
    advance()
    switch scalar {
    case "b": return "\u{8}"
    case "f": return "\u{C}"
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case "v": return "\u{B}"
    case "\n", "\u{2028}", "\u{2029}": return nil
    case "\r":
      _ = take("\n")
      return nil
    case "x": return try Unicode.Scalar(UInt32(hexadecimal(2)))
    case "u":
      let unit = try hexadecimal(4)
      if let scalar = Unicode.Scalar(UInt32(unit)) { return scalar }
      if unit < 0xDC00, take("\\"), take("u") {
        let second = try hexadecimal(4)
        if (0xDC00...0xDFFF).contains(second) {
          return Unicode.Scalar(0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
        }
      }
      throw failure("half of a surrogate pair is no character", at: origin)
    case "0":
      if let next = peek, ("0"..."9").contains(next) { fallthrough }
      return "\0"
    case "1"..."9": throw failure("there is no escape '\\\(scalar)'", at: origin)
    default: return scalar
    }
  }

  /// The value of exactly so many hexadecimal digits.
  private mutating func hexadecimal(_ count: Int) throws(ConfigurationError) -> UInt16 {
    var value: UInt16 = 0
    for _ in 0..<count {
      guard let digit = peek.flatMap({ Character($0).hexDigitValue }), peek?.isASCII == true else {
        throw failure("\(count) hexadecimal digits are expected here, not \(found)")
      }
      value = value << 4 | UInt16(digit)
      advance()
    }
    return value
  }

  // MARK: Characters

  /// The next character; nil at the end.
  private var peek: Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }

  /// The origin of a value that begins at the next character.
  private var here: ConfigurationOrigin {
    switch source {
    case .file(let path): .file(path: path, line: line, column: column)
    case .entry(let origin): origin
    }
  }

  /// Takes one character. A line ends with LF, CR or both.
  private mutating func advance() {
    let scalar = scalars[index]
    index += 1
    if scalar == "\n" || (scalar == "\r" && peek != "\n") {
      line += 1
      column = 1
    } else {
      column += 1
    }
  }

  /// Takes the character where it is next; false where it is not.
  private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
    guard peek == scalar else { return false }
    advance()
    return true
  }

  /// Passes over white space, byte order marks and comments.
  private mutating func skipSpace() throws(ConfigurationError) {
    while let scalar = peek {
      if scalar == "/" {
        try skipComment()
      } else if scalar == "\u{FEFF}" || (scalar.properties.isWhitespace && scalar != "\u{85}") {
        advance()
      } else {
        return
      }
    }
  }

  /// Passes over one comment. Throws for one of several lines that does not end.
  private mutating func skipComment() throws(ConfigurationError) {
    let start = here
    let next = index + 1 < scalars.count ? scalars[index + 1] : nil
    switch next {
    case "/":
      while let scalar = peek, !["\n", "\r", "\u{2028}", "\u{2029}"].contains(scalar) { advance() }
    case "*":
      advance()
      advance()
      while peek != nil {
        if take("*") {
          if take("/") { return }
        } else {
          advance()
        }
      }
      throw failure("this comment has no end", at: start)
    default: throw failure("a comment is expected here: // or /*")
    }
  }

  /// Whether the character may stand in a name or a number (ID_Continue of Unicode, `_`, `$`).
  private func isWord(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "_" || scalar == "$" || scalar.properties.isIDContinue
  }

  /// The next character for a message; control and format characters by their number.
  private var found: String {
    switch peek {
    case nil: "the end"
    case "\n", "\r": "the end of the line"
    case .some(let scalar) where scalar.value < 0x20 || scalar.properties.generalCategory == .format:
      "the character U+" + String(scalar.value, radix: 16, uppercase: true)
    case .some(let scalar): "'\(scalar)'"
    }
  }

  /// The error for a list or table that the text ends in, with the place of its bracket.
  private func unclosed(_ bracket: String, _ start: (line: Int, column: Int)) -> ConfigurationError {
    failure("the \(bracket) of line \(start.line), column \(start.column) is not closed")
  }

  /// The error at a place, the next character's unless given.
  private func failure(_ message: String, at origin: ConfigurationOrigin? = nil) -> ConfigurationError {
    let origin = origin ?? here
    let subject = if case .file(let path) = source { path } else { "\(origin)" }
    return ConfigurationError(subject: subject, message: message, origin: origin)
  }
}
