import CoreTypes

/// Reads JSON strictly: only the bytes that ``CanonicalJSONWriter`` could have written are accepted, so a document has
/// one spelling. Keys must ascend and be known to the caller, which asks for one value after the other; nothing is
/// built that the caller did not ask for.
struct CanonicalJSONReader {
  /// Bytes that the writer could not have written.
  struct Malformed: Error {
    /// The offset of the first byte that is not expected.
    let position: Int
    /// The bytes that would be in their place, in words.
    let expectation: String
  }

  /// The document.
  private let bytes: [UInt8]
  /// The offset of the next byte.
  private(set) var position = 0

  /// A reader at the beginning of a document.
  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The error at the present byte.
  func malformed(_ expectation: String) -> Malformed {
    Malformed(position: position, expectation: expectation)
  }

  /// Calls `member` for each key; it must read the value.
  mutating func object(
    _ member: (inout CanonicalJSONReader, String) throws(Malformed) -> Void
  ) throws(Malformed) {
    try expect(0x7B, "{")
    if consume(0x7D) { return }
    var previous: String?
    repeat {
      let key = try string(maximumLength: 64)
      if let previous, !previous.utf8.lexicographicallyPrecedes(key.utf8) {
        throw malformed("keys in ascending order, none twice")
      }
      previous = key
      try expect(0x3A, ":")
      try member(&self, key)
    } while consume(0x2C)
    try expect(0x7D, "}")
  }

  /// Calls `element` for each; it must read the value.
  mutating func array(_ element: (inout CanonicalJSONReader) throws(Malformed) -> Void) throws(Malformed) {
    try expect(0x5B, "[")
    if consume(0x5D) { return }
    repeat { try element(&self) } while consume(0x2C)
    try expect(0x5D, "]")
  }

  /// A string with its escapes in canonical form; `maximumLength` bounds the bytes that it stands for. Throws for what is
  /// not UTF-8.
  mutating func string(maximumLength: Int) throws(Malformed) -> String {
    try expect(0x22, "a string")
    var text: [UInt8] = []
    while true {
      guard position < bytes.count else { throw malformed("the end of a string") }
      let byte = bytes[position]
      if byte == 0x22 { break }
      if byte < 0x20 { throw malformed("an escape for a control character") }
      if byte == 0x5C {
        text.append(try escaped())
      } else {
        text.append(byte)
        position += 1
      }
      if text.count > maximumLength { throw malformed("a string of at most \(maximumLength) bytes") }
    }
    position += 1
    guard let result = String(validating: text, as: UTF8.self) else { throw malformed("UTF-8") }
    return result
  }

  /// A whole number from 0 to 2^53 - 1, without sign or leading zeros.
  mutating func integer() throws(Malformed) -> Int64 {
    let start = position
    var value: Int64 = 0
    while position < bytes.count, case let digit = bytes[position], (0x30...0x39).contains(digit) {
      value = value * 10 + Int64(digit - 0x30)
      guard value < 1 << 53 else { throw malformed("a number below 2^53") }
      position += 1
    }
    guard position > start, position == start + 1 || bytes[start] != 0x30 else {
      throw malformed("a whole number without sign or leading zeros")
    }
    return value
  }

  /// Any value: its canonical bytes, and how many arrays and objects lie in each other at its deepest place.
  ///
  /// Member names are 1 to 64 characters of printable ASCII, so that the order of bytes is also RFC 8785's order of UTF-16
  /// units.
  mutating func value() throws(Malformed) -> (bytes: [UInt8], depth: Int) {
    let start = position
    let depth = try skipValue(within: Self.maximumDepth)
    return (Array(bytes[start..<position]), depth)
  }

  /// Passes over a value and returns its depth, 0 for one that holds no other.
  private mutating func skipValue(within limit: Int) throws(Malformed) -> Int {
    guard position < bytes.count else { throw malformed("a value") }
    var deepest = 0
    switch bytes[position] {
    case 0x22:
      _ = try string(maximumLength: bytes.count)
    case 0x5B where limit > 0:
      try array { reader throws(Malformed) in
        deepest = max(deepest, try reader.skipValue(within: limit - 1))
      }
      deepest += 1
    case 0x7B where limit > 0:
      try object { reader, key throws(Malformed) in
        guard !key.isEmpty, key.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
          throw reader.malformed("a member name of printable ASCII")
        }
        deepest = max(deepest, try reader.skipValue(within: limit - 1))
      }
      deepest += 1
    case 0x30...0x39:
      _ = try integer()
    default:
      guard let literal = Self.literals.first(where: { bytes[position...].starts(with: $0) }) else {
        throw malformed(
          limit > 0 ? "a value" : "at most \(Self.maximumDepth) arrays and objects in each other")
      }
      position += literal.count
    }
    return deepest
  }

  /// How deep a value may be nested to be read at all, which bounds the stack.
  private static let maximumDepth = 32
  /// The values that are words.
  private static let literals: [[UInt8]] = [Array("true".utf8), Array("false".utf8), Array("null".utf8)]

  /// Throws unless the document ends here.
  mutating func end() throws(Malformed) {
    guard position == bytes.count else { throw malformed("the end of the document") }
  }

  /// The byte that an escape stands for. Only quotation marks, backslashes and control characters are escaped.
  private mutating func escaped() throws(Malformed) -> UInt8 {
    let rest = bytes[position...]
    for (escape, byte) in Self.escapes where rest.starts(with: escape) {
      position += escape.count
      return byte
    }
    throw malformed("an escape in its canonical form")
  }

  /// The escapes with the bytes that they stand for.
  private static let escapes: [([UInt8], UInt8)] =
    [(Array("\\\"".utf8), 0x22), (Array("\\\\".utf8), 0x5C)]
    + (UInt8(0)..<0x20).map { (JSONString.escape(ofControl: $0), $0) }

  /// Takes the byte where it is next; false where it is not.
  private mutating func consume(_ byte: UInt8) -> Bool {
    guard position < bytes.count, bytes[position] == byte else { return false }
    position += 1
    return true
  }

  /// Takes the byte, or throws that it is expected.
  private mutating func expect(_ byte: UInt8, _ expectation: String) throws(Malformed) {
    guard consume(byte) else { throw malformed(expectation) }
  }
}

/// Writes JSON in the one form RFC 8785 allows, for what manifests need: objects whose keys the caller gives in order,
/// arrays, strings, whole numbers below 2^53.
struct CanonicalJSONWriter {
  /// The document so far.
  private(set) var bytes: [UInt8] = []
  /// Whether the next value follows another in the same object or array.
  private var needsComma = false

  /// Writes an object. `members` writes its keys in ascending order, which is not checked.
  mutating func object(_ members: (inout CanonicalJSONWriter) -> Void) {
    separate()
    open(0x7B)
    members(&self)
    close(0x7D)
  }

  /// Writes an array with one value for each element.
  mutating func array<Element>(
    _ elements: some Sequence<Element>, _ element: (inout CanonicalJSONWriter, Element) -> Void
  ) {
    separate()
    open(0x5B)
    for value in elements { element(&self, value) }
    close(0x5D)
  }

  /// The next value belongs to `name`.
  mutating func key(_ name: String) {
    string(name)
    bytes.append(0x3A)
    needsComma = false
  }

  /// `value` must be canonical JSON already.
  mutating func canonicalValue(_ value: [UInt8]) {
    separate()
    bytes.append(contentsOf: value)
  }

  /// Writes a member; nothing for nil.
  mutating func member(_ name: String, _ value: String?) {
    guard let value else { return }
    key(name)
    string(value)
  }

  /// Writes a member, a whole number below 2^53; nothing for nil.
  mutating func member(_ name: String, _ value: Int64?) {
    guard let value else { return }
    key(name)
    separate()
    bytes.append(contentsOf: String(value).utf8)
  }

  /// Writes a string with the escapes that RFC 8785 wants.
  mutating func string(_ text: String) {
    separate()
    JSONString.append(text, to: &bytes)
  }

  /// Writes the comma between two values.
  private mutating func separate() {
    if needsComma { bytes.append(0x2C) }
    needsComma = true
  }

  /// Begins an object or an array.
  private mutating func open(_ bracket: UInt8) {
    bytes.append(bracket)
    needsComma = false
  }

  /// Ends an object or an array.
  private mutating func close(_ bracket: UInt8) {
    bytes.append(bracket)
    needsComma = true
  }
}
