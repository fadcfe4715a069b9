import Crypto

/// A bare item of RFC 9651, as far as the fields of uploads use them.
enum StructuredField: Hashable, Sendable {
  case integer(Int64)
  case boolean(Bool)
  case bytes([UInt8])
  /// A decimal, a string, a token, a date or a display string: well formed, and not what any field here holds.
  case other

  /// The field's one item, its parameters left out. Nil without a field, or where it is not exactly an item.
  static func item(_ lines: [String]) -> StructuredField? {
    guard !lines.isEmpty else { return nil }
    var parser = StructuredFieldParser(lines)
    parser.skipSpaces()
    guard let item = parser.item() else { return nil }
    parser.skipSpaces()
    return parser.isAtEnd ? item : nil
  }

  /// The field's members; of a key that comes twice, the last. Nil where it is not exactly a dictionary of items.
  static func dictionary(_ lines: [String]) -> [String: StructuredField]? {
    var parser = StructuredFieldParser(lines)
    parser.skipSpaces()
    var members: [String: StructuredField] = [:]
    while !parser.isAtEnd {
      guard let key = parser.key() else { return nil }
      if parser.take("=") {
        guard let item = parser.item() else { return nil }
        members[key] = item
      } else {
        guard parser.skipParameters() else { return nil }
        members[key] = .boolean(true)
      }
      parser.skipOptionalSpaces()
      if parser.isAtEnd { return members }
      guard parser.take(",") else { return nil }
      parser.skipOptionalSpaces()
      // A comma must be followed by a member.
      if parser.isAtEnd { return nil }
    }
    return members
  }
}

extension StructuredField {
  /// Nil for anything but an integer of zero or more.
  static func length(_ lines: [String]) -> Int64? {
    guard case .integer(let number)? = item(lines), number >= 0 else { return nil }
    return number
  }

  /// Nil for anything but a boolean.
  static func boolean(_ lines: [String]) -> Bool? {
    guard case .boolean(let value)? = item(lines) else { return nil }
    return value
  }
}
