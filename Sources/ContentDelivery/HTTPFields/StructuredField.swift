import Crypto

/// A bare item of RFC 9651, as far as the fields of uploads use them.
package enum StructuredField: Hashable, Sendable {
  /// A whole number of at most 15 digits.
  case integer(Int64)
  /// `?1` or `?0`.
  case boolean(Bool)
  /// The bytes that base 64 between two colons spells.
  case bytes([UInt8])
  /// A decimal, a string, a token, a date or a display string: well formed, but the value of no field here.
  case other

  /// The field's one item, without its parameters (§4.2, type `item`). Nil without a field, or unless the field is
  /// exactly one item.
  package static func item(_ lines: [String]) -> StructuredField? {
    guard !lines.isEmpty else { return nil }
    var parser = StructuredFieldParser(lines)
    parser.skipSpaces()
    guard let item = parser.item() else { return nil }
    parser.skipSpaces()
    return parser.isAtEnd ? item : nil
  }

  /// The field's members (§4.2.2); a key that comes twice has its last value. Nil unless the field is exactly a
  /// dictionary of items.
  package static func dictionary(_ lines: [String]) -> [String: StructuredField]? {
    var parser = StructuredFieldParser(lines)
    parser.skipSpaces()
    var members: [String: StructuredField] = [:]
    while !parser.isAtEnd {
      guard let key = parser.key() else { return nil }
      if parser.consume("=") {
        guard let item = parser.item() else { return nil }
        members[key] = item
      } else {
        guard parser.skipParameters() else { return nil }
        members[key] = .boolean(true)
      }
      parser.skipOptionalSpaces()
      if parser.isAtEnd { return members }
      guard parser.consume(",") else { return nil }
      parser.skipOptionalSpaces()
      // A comma must be followed by a member.
      if parser.isAtEnd { return nil }
    }
    return members
  }
}

extension StructuredField {
  /// The field as a length: nil unless it is one integer of zero or more.
  package static func length(_ lines: [String]) -> Int64? {
    guard case .integer(let number)? = item(lines), number >= 0 else { return nil }
    return number
  }

  /// The field as a boolean: nil unless it is one boolean.
  package static func boolean(_ lines: [String]) -> Bool? {
    guard case .boolean(let value)? = item(lines) else { return nil }
    return value
  }
}

/// The parsing algorithms of RFC 9651 §4.2, over the lines of one field. A step that finds nothing it can read
/// answers nil or false, and the whole field fails.
struct StructuredFieldParser {
  private let bytes: [UInt8]
  private var position = 0

  /// Several lines of a field are one value (§4.2, step 1).
  package init(_ lines: [String]) {
    bytes = Array(lines.joined(separator: ", ").utf8)
  }

  var isAtEnd: Bool { position == bytes.count }

  mutating func skipSpaces() {
    while next == UInt8(ascii: " ") { position += 1 }
  }

  /// Spaces and tabs.
  mutating func skipOptionalSpaces() {
    while next == UInt8(ascii: " ") || next == UInt8(ascii: "\t") { position += 1 }
  }

  /// Goes past the character if it is the next one.
  package mutating func consume(_ character: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  /// A key (§4.2.3.3).
  package mutating func key() -> String? {
    let start = position
    guard let first = next, first == UInt8(ascii: "*") || Self.isLowercase(first) else { return nil }
    while let byte = next,
      Self.isLowercase(byte) || Self.isDigit(byte) || "_-.*".utf8.contains(byte)
    {
      position += 1
    }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  /// A bare item and its parameters (§4.2.3).
  package mutating func item() -> StructuredField? {
    guard let item = bareItem(), skipParameters() else { return nil }
    return item
  }

  /// Parameters, which no field here uses (§4.2.3.2).
  mutating func skipParameters() -> Bool {
    while consume(";") {
      skipSpaces()
      guard key() != nil else { return false }
      if consume("="), bareItem() == nil { return false }
    }
    return true
  }

  private mutating func bareItem() -> StructuredField? {
    switch next {
    case UInt8(ascii: "?"): return boolean()
    case UInt8(ascii: ":"): return byteSequence()
    case UInt8(ascii: "\""): return string()
    case UInt8(ascii: "@"):
      position += 1
      guard case .integer? = number() else { return nil }
      return .other
    case let byte? where byte == UInt8(ascii: "-") || Self.isDigit(byte): return number()
    case let byte? where byte == UInt8(ascii: "*") || Self.isLetter(byte): return token()
    default: return nil
    }
  }

  private mutating func boolean() -> StructuredField? {
    position += 1
    if consume("1") { return .boolean(true) }
    if consume("0") { return .boolean(false) }
    return nil
  }

  /// At most 15 digits, or 12 and 3 after a point (§4.2.4).
  private mutating func number() -> StructuredField? {
    let isNegative = consume("-")
    let whole = digits()
    guard !whole.isEmpty else { return nil }
    if consume(".") {
      let fraction = digits()
      return whole.count <= 12 && (1...3).contains(fraction.count) ? .other : nil
    }
    guard whole.count <= 15, let number = Int64(whole) else { return nil }
    return .integer(isNegative ? -number : number)
  }

  private mutating func digits() -> String {
    let start = position
    while let byte = next, Self.isDigit(byte) { position += 1 }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  private mutating func byteSequence() -> StructuredField? {
    position += 1
    guard let end = bytes[position...].firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let text = String(decoding: bytes[position..<end], as: UTF8.self)
    position = end + 1
    return Base64.decode(text).map { .bytes($0) }
  }

  private mutating func string() -> StructuredField? {
    position += 1
    while let byte = next {
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return .other
      case UInt8(ascii: "\\"):
        guard let escaped = next, escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\") else {
          return nil
        }
        position += 1
      case 0x20...0x7E: break
      default: return nil
      }
    }
    return nil
  }

  private mutating func token() -> StructuredField? {
    while let byte = next,
      Self.isLetter(byte) || Self.isDigit(byte) || "!#$%&'*+-.^_`|~:/".utf8.contains(byte)
    {
      position += 1
    }
    return .other
  }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
  private static func isLowercase(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }
  private static func isLetter(_ byte: UInt8) -> Bool { isLowercase(byte | 0x20) }
}
