/// Where the elements of one list stand in a JSON object: a list that is too long to be decoded at once is decoded element by
/// element, and the object without them by itself.
///
///     let split = try JSONElements(of: "products", in: bytes, upTo: 100_000)
///     let others = try decode(Others.self, from: split.rest)       // {"products":[],"members":[…]}
///     for place in split.places { try decode(Item.self, from: Array(bytes[place])) }
///
/// It reads what stands between the elements and leaves the rest to the decoder. What that makes of ``rest`` and of every element is
/// what it makes of the whole, where it takes all of them.
public struct JSONElements: Sendable {
  /// The byte range of each element, without the space around it.
  public let places: [Range<Int>]
  /// The document with the list empty; the whole of it where the object has no list of that name.
  public let rest: [UInt8]

  /// Throws for a document that is no object, and for a list with more than `limit` elements. Throws also
  /// where it is not clear which list is meant: one is there twice, or a name is written with escapes.
  public init(of list: String, in bytes: [UInt8], upTo limit: Int) throws(JSONElementsError) {
    var scanner = JSONElementScanner(bytes)
    let found = try scanner.scanObject(lookingFor: Array(list.utf8), upTo: limit)
    places = found?.elements ?? []
    guard let content = found?.content else {
      rest = bytes
      return
    }
    rest = Array(bytes[..<content.lowerBound] + bytes[content.upperBound...])
  }
}

/// Why the elements of a list could not be found.
public struct JSONElementsError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of a failure.
  public enum Code: Hashable, Sendable {
    /// It is no object, ends early, or lacks a comma.
    case malformed
    /// A name has escapes, or a list is there twice.
    case ambiguous
    /// The list has more elements than it may have.
    case tooMany
  }

  /// The kind of this failure.
  public let code: Code
  /// How many bytes stand before what is refused.
  public let position: Int
  /// The expected syntax at ``position``, as a sentence without a full stop.
  public let message: String

  /// The message and the position.
  public var description: String { "\(message), at byte \(position)" }
}

/// Goes through an object without a look at what its values are.
private struct JSONElementScanner {
  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    // Some programs begin a file with U+FEFF, which decoders ignore.
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
  }

  /// Where the list's elements stand, and all that is between its brackets; nil where there is no list of that name.
  mutating func scanObject(
    lookingFor list: [UInt8], upTo limit: Int
  ) throws(JSONElementsError) -> (elements: [Range<Int>], content: Range<Int>)? {
    var found: (elements: [Range<Int>], content: Range<Int>)?
    skipSpace()
    try take("{", or: "an object begins with {")
    skipSpace()
    if !takeIfThere("}") {
      repeat {
        let name = try scanName()
        let isList = bytes[name].elementsEqual(list)
        guard !isList || found == nil else {
          throw error(.ambiguous, "\(String(decoding: list, as: UTF8.self)) may be there only once")
        }
        skipSpace()
        try take(":", or: "a colon follows the name of a member")
        skipSpace()
        if isList, takeIfThere("[") {
          let start = position
          let elements = try scanElements(upTo: limit)
          found = (elements, start..<position - 1)
        } else {
          skipValue()
        }
        skipSpace()
      } while takeIfThere(",")
      try take("}", or: "a comma or } follows a member")
    }
    skipSpace()
    guard position == bytes.count else { throw error(.malformed, "nothing follows the object") }
    return found
  }

  /// Behind a list's bracket, up to behind the one that ends it.
  private mutating func scanElements(upTo limit: Int) throws(JSONElementsError) -> [Range<Int>] {
    var elements: [Range<Int>] = []
    skipSpace()
    if takeIfThere("]") { return elements }
    repeat {
      guard elements.count < limit else { throw error(.tooMany, "at most \(limit) elements") }
      skipSpace()
      let start = position
      skipValue()
      elements.append(start..<position)
      skipSpace()
    } while takeIfThere(",")
    try take("]", or: "a comma or ] follows an element")
    return elements
  }

  /// A member's name without its quotes.
  private mutating func scanName() throws(JSONElementsError) -> Range<Int> {
    skipSpace()
    guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
      throw error(.malformed, "the name of a member begins with a quote")
    }
    let start = position + 1
    skipText()
    let name = start..<max(start, position - 1)
    guard !bytes[name].contains(UInt8(ascii: "\\")) else {
      throw error(.ambiguous, "the name of a member has no escapes")
    }
    return name
  }

  /// Goes behind what may be a value: for a document that is JSON, it is one. Ends with the document.
  private mutating func skipValue() {
    guard position < bytes.count else { return }
    switch bytes[position] {
    case UInt8(ascii: "\""): skipText()
    case UInt8(ascii: "{"), UInt8(ascii: "["): skipBrackets()
    default:
      while position < bytes.count, !isEndOfWord(bytes[position]) { position += 1 }
    }
  }

  /// At an opening bracket: goes behind the one that closes it. Whether they are of one kind is for the decoder to see.
  private mutating func skipBrackets() {
    var depth = 0
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        skipText()
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      default: break
      }
      position += 1
      if depth == 0 { return }
    }
  }

  /// At a quote: goes behind the one that ends the text.
  private mutating func skipText() {
    position += 1
    while position < bytes.count {
      position += JSONString.countOfPlainWords(bytes.span.extracting(position...))
      guard position < bytes.count else { return }
      let byte = bytes[position]
      position += 1
      if byte == UInt8(ascii: "\"") { return }
      if byte == UInt8(ascii: "\\") { position = min(position + 1, bytes.count) }
    }
  }

  private mutating func skipSpace() {
    while position < bytes.count, isSpace(bytes[position]) { position += 1 }
  }

  private mutating func takeIfThere(_ character: Unicode.Scalar) -> Bool {
    guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  private mutating func take(
    _ character: Unicode.Scalar, or message: String
  ) throws(JSONElementsError) {
    guard takeIfThere(character) else { throw error(.malformed, message) }
  }

  private func error(_ code: JSONElementsError.Code, _ message: String) -> JSONElementsError {
    JSONElementsError(code: code, position: position, message: message)
  }

  private func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }

  private func isEndOfWord(_ byte: UInt8) -> Bool {
    isSpace(byte) || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]") || byte == UInt8(ascii: "}")
  }
}
