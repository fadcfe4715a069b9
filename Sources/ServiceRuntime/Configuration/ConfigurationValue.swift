/// A value of a configuration, before anything knows its type.
enum ConfigurationValue: Hashable, Sendable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case number(Double)
  case string(String)
  /// From a variable, an option or a default, where everything is text; `origin` is how people call it.
  case text(String, origin: String)
  case list([ConfigurationValue])
  case table([String: ConfigurationValue])

  /// Puts `value` at `path` in place of another, and makes the tables on the way.
  mutating func set(_ value: ConfigurationValue, at path: ArraySlice<Substring>) {
    guard let name = path.first else {
      self = value
      return
    }
    var members: [String: ConfigurationValue] = [:]
    if case .table(let existing) = self { members = existing }
    var member = members[String(name)] ?? .null
    member.set(value, at: path.dropFirst())
    members[String(name)] = member
    self = .table(members)
  }

  /// The value at `path`; nil without one.
  func value(at path: ArraySlice<Substring>) -> ConfigurationValue? {
    guard let name = path.first else { return self }
    guard case .table(let members) = self else { return nil }
    return members[String(name)]?.value(at: path.dropFirst())
  }

  /// Removes and answers the value at `path`, nil without one. Tables that become empty are removed too.
  mutating func removeValue(at path: ArraySlice<Substring>) -> ConfigurationValue? {
    guard let name = path.first, case .table(var members) = self else { return nil }
    let removed: ConfigurationValue?
    if path.count == 1 {
      removed = members.removeValue(forKey: String(name))
    } else {
      removed = members[String(name)]?.removeValue(at: path.dropFirst())
      if removed != nil, members[String(name)] == .table([:]) { members[String(name)] = nil }
    }
    self = .table(members)
    return removed
  }

  /// Puts the members of `other` over those here, table by table.
  mutating func overlay(_ other: ConfigurationValue) {
    guard case .table(var members) = self, case .table(let others) = other else {
      self = other
      return
    }
    for (name, value) in others {
      var member = members[name] ?? .null
      member.overlay(value)
      members[name] = member
    }
    self = .table(members)
  }

  /// How messages call the value.
  var kind: String {
    switch self {
    case .null: "nothing"
    case .boolean: "true or false"
    case .integer, .number: "a number"
    case .string(let text): "'\(text)'"
    case .text(let text, let origin): "'\(text)' from \(origin)"
    case .list: "a list"
    case .table: "a table"
    }
  }
}

extension ConfigurationValue: Decodable {
  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  init(from decoder: any Decoder) throws {
    if let container = try? decoder.container(keyedBy: Name.self) {
      var members: [String: ConfigurationValue] = [:]
      for key in container.allKeys {
        members[key.stringValue] = try container.decode(ConfigurationValue.self, forKey: key)
      }
      self = .table(members)
      return
    }
    if var container = try? decoder.unkeyedContainer() {
      var elements: [ConfigurationValue] = []
      while !container.isAtEnd { elements.append(try container.decode(ConfigurationValue.self)) }
      self = .list(elements)
      return
    }
    // Each attempt that fails says only that the value is of another kind; the last one's error stands.
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .boolean(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .integer(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else {
      self = .string(try container.decode(String.self))
    }
  }
}
