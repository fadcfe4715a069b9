/// A value of a configuration, before anything knows its type, and where it comes from.
struct ConfigurationValue: Hashable, Sendable {
  /// A value by its type in the source.
  enum Content: Hashable, Sendable {
    /// `null` of a file.
    case null
    /// `true` or `false` of a file.
    case boolean(Bool)
    /// A whole number that 64 bits hold.
    case integer(Int64)
    /// Any other number, which is finite.
    case number(Double)
    /// A text of a file, in quotation marks there.
    case string(String)
    /// From a variable, an option or a default, where everything is text.
    case text(String)
    /// A list, with elements that were omitted.
    case list([ConfigurationValue])
    /// A table by its keys.
    case table([String: ConfigurationValue])
  }

  /// The value itself.
  var content: Content
  /// The place of the value.
  var origin: ConfigurationOrigin
  /// Where the key of a table's member stands; nil for what a file does not hold.
  var keyOrigin: ConfigurationOrigin?
  /// Not there any more, since it cannot be used: its place in a list is kept, so that the others keep their positions.
  var isOmitted = false

  /// A value at that place; a default unless said otherwise.
  init(_ content: Content, origin: ConfigurationOrigin = .fallback) {
    self.content = content
    self.origin = origin
  }

  /// A table without members, as it is before any source was read.
  static let emptyTable = ConfigurationValue(.table([:]))

  /// Whether the value is `null`.
  var isNull: Bool { content == .null }
  /// The members of a table; nil for any other value.
  var members: [String: ConfigurationValue]? {
    guard case .table(let members) = content else { return nil }
    return members
  }

  /// Puts `value` at `path` in place of another, and makes the tables on the way.
  mutating func set(_ value: ConfigurationValue, at path: ArraySlice<Substring>) {
    guard let name = path.first else {
      self = value
      return
    }
    if let position = Int(name), case .list(var elements) = content, elements.indices.contains(position) {
      elements[position].set(value, at: path.dropFirst())
      content = .list(elements)
      return
    }
    var members = members ?? [:]
    var member = members[String(name)] ?? ConfigurationValue(.null, origin: value.origin)
    member.set(value, at: path.dropFirst())
    members[String(name)] = member
    content = .table(members)
  }

  /// The value at `path`, where numbers are positions in lists; nil without one.
  func value(at path: ArraySlice<Substring>) -> ConfigurationValue? {
    guard let name = path.first else { return self }
    switch content {
    case .table(let members): return members[String(name)]?.value(at: path.dropFirst())
    case .list(let elements):
      guard let position = Int(name), elements.indices.contains(position) else { return nil }
      return elements[position].value(at: path.dropFirst())
    default: return nil
    }
  }

  /// Where the value at `path` stands, or else the innermost one around it that stands somewhere.
  func origin(at path: ArraySlice<Substring>) -> ConfigurationOrigin? {
    var path = path
    while !path.isEmpty {
      if let value = value(at: path), value.origin != .fallback { return value.origin }
      path = path.dropLast()
    }
    return nil
  }

  /// Removes and answers the value at `path`, nil without one. Tables that become empty are removed too.
  mutating func removeValue(at path: ArraySlice<Substring>) -> ConfigurationValue? {
    guard let name = path.first else { return nil }
    if let position = Int(name), case .list(var elements) = content, elements.indices.contains(position) {
      let removed = elements[position].removeValue(at: path.dropFirst())
      content = .list(elements)
      return removed
    }
    guard var members else { return nil }
    let removed: ConfigurationValue?
    if path.count == 1 {
      removed = members.removeValue(forKey: String(name))
    } else {
      removed = members[String(name)]?.removeValue(at: path.dropFirst())
      if removed != nil, members[String(name)]?.members?.isEmpty == true { members[String(name)] = nil }
    }
    content = .table(members)
    return removed
  }

  /// Puts the members of `other` over those here, table by table.
  mutating func overlay(_ other: ConfigurationValue) {
    guard var members = members, let others = other.members else {
      self = other
      return
    }
    for (name, value) in others {
      if var member = members[name] {
        member.overlay(value)
        members[name] = member
      } else {
        members[name] = value
      }
    }
    content = .table(members)
    origin = other.origin
    keyOrigin = other.keyOrigin
  }

  /// Without the tables that say nothing.
  func withoutEmptyTables() -> ConfigurationValue {
    guard let members else { return self }
    var value = self
    value.content = .table(
      members.mapValues { $0.withoutEmptyTables() }.filter { $0.value.members?.isEmpty != true })
    return value
  }

  /// How messages call the value.
  var kind: String {
    switch content {
    case .null: "nothing"
    case .boolean: "true or false"
    case .integer, .number: "a number"
    case .string(let text), .text(let text): "'\(ConfigurationNotation.escapingControls(in: text))'"
    case .list: "a list"
    case .table: "a table"
    }
  }

  /// Whether an address in it may have a user or a password: an `@` behind `://`, since what stands in a password by
  /// mistake, such as a slash, must not show the rest of it.
  var mayHoldPassword: Bool {
    switch content {
    case .string(let text), .text(let text):
      text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false).dropFirst().contains {
        $0.contains("@")
      }
    case .list(let elements): elements.contains(where: \.mayHoldPassword)
    case .table(let members): members.values.contains(where: \.mayHoldPassword)
    case .null, .boolean, .integer, .number: false
    }
  }

  /// The value in JSON5, in one line.
  var json5: String {
    switch content {
    case .null: "null"
    case .boolean(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .number(let value): "\(value)"
    case .text(let text): ConfigurationNotation.value(text)
    case .string(let text): ConfigurationNotation.quoted(text)
    case .list(let elements): "[" + elements.map(\.json5).joined(separator: ", ") + "]"
    case .table(let members):
      "{"
        + members.sorted { $0.key < $1.key }.map { "\(ConfigurationNotation.key($0.key)): \($0.value.json5)" }
        .joined(separator: ", ") + "}"
    }
  }
}

/// How values are written in a file.
enum ConfigurationNotation {
  /// A number or a truth value as it is, anything else in quotation marks.
  static func value(_ text: String) -> String {
    Int64(text) != nil || text == "true" || text == "false" ? text : quoted(text)
  }

  /// A key as it is, in quotation marks unless it is a name in ASCII.
  static func key(_ text: String) -> String {
    let isName = text.unicodeScalars.allSatisfy { $0.isASCII && ($0.properties.isIDContinue || $0 == "$") }
    return isName && text.first.map { !$0.isNumber } ?? false ? text : quoted(text)
  }

  /// The text in double quotation marks, with escapes for these, for backslashes and for control characters.
  static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\\(scalar)"
      case "\n": result += "\\n"
      case _ where isControl(scalar): result += escape(scalar)
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  /// The text with an escape in place of each control character (C0, DEL and C1).
  static func escapingControls(in text: String) -> String {
    guard text.unicodeScalars.contains(where: isControl) else { return text }
    return text.unicodeScalars.map { isControl($0) ? escape($0) : String($0) }.joined()
  }

  /// Whether the character is a control character of Unicode: C0, DEL or C1.
  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
  }

  /// The escape `\u` with four digits.
  private static func escape(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16)
    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}
