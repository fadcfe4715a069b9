import Foundation

/// JSON texts taken apart and put together, without the types under test.
enum JSONText {
  /// Without the white space that is not in a string.
  static func compacted(_ text: String) -> String {
    var compact = ""
    var isInString = false
    var isEscaped = false
    for character in text {
      if isInString {
        isInString = isEscaped || character != "\""
        isEscaped = !isEscaped && character == "\\"
        compact.append(character)
      } else if !character.isWhitespace {
        isInString = character == "\""
        compact.append(character)
      }
    }
    return compact
  }

  /// The members of an object; none for anything else.
  static func members(_ text: String) throws -> [String: Any] {
    let value = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    return value as? [String: Any] ?? [:]
  }

  static func text(_ value: Any) throws -> String {
    let data = try JSONSerialization.data(
      withJSONObject: value, options: [.sortedKeys, .withoutEscapingSlashes, .fragmentsAllowed])
    return String(decoding: data, as: UTF8.self)
  }

  /// `text` with that member of the outermost object in place of its own, or without it.
  static func text(_ text: String, replacing member: String, with value: Any?) throws -> String {
    var members = try members(text)
    members[member] = value
    return try self.text(members)
  }

  /// `text` once for each object in it, that object having one more member, with the path of that member. Objects that are
  /// tables (`prices` by territory, say) have no members to be unknown.
  static func variants(
    of text: String, adding member: String, tables: Set<String>
  ) throws -> [(path: String, text: String)] {
    let value = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    return try variants(of: value, adding: member, tables: tables).map { ($0.path, try self.text($0.value)) }
  }

  private static func variants(
    of value: Any, adding member: String, tables: Set<String>, isTable: Bool = false
  ) -> [(path: String, value: Any)] {
    if let elements = value as? [Any] {
      return elements.indices.flatMap { index in
        variants(of: elements[index], adding: member, tables: tables).map { variant in
          var changed = elements
          changed[index] = variant.value
          return ("[\(index)].\(variant.path)", changed)
        }
      }
    }
    guard let members = value as? [String: Any] else { return [] }
    var found: [(path: String, value: Any)] = []
    if !isTable {
      found.append((member, members.merging([member: ["later": [1, NSNull()] as [Any]]]) { $1 }))
    }
    for (name, inner) in members.sorted(by: { $0.key < $1.key }) {
      for variant in variants(of: inner, adding: member, tables: tables, isTable: tables.contains(name)) {
        found.append(("\(name).\(variant.path)", members.merging([name: variant.value]) { $1 }))
      }
    }
    return found
  }

  /// `text` once for each string, number and truth value in it, with each of `others` in its place, and the path of that
  /// place.
  static func variants(
    of text: String, with others: (Any) -> [Any]
  ) throws -> [(path: String, text: String)] {
    let value = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    return try variants(of: value, at: "", with: others).map { ($0.path, try self.text($0.value)) }
  }

  private static func variants(
    of value: Any, at path: String, with others: (Any) -> [Any]
  ) -> [(path: String, value: Any)] {
    func name(_ part: String) -> String { path.isEmpty ? part : "\(path).\(part)" }
    if let members = value as? [String: Any] {
      return members.sorted { $0.key < $1.key }.flatMap { member, inner in
        variants(of: inner, at: name(member), with: others).map { variant in
          (variant.path, members.merging([member: variant.value]) { $1 })
        }
      }
    }
    if let elements = value as? [Any] {
      return elements.indices.flatMap { index in
        variants(of: elements[index], at: name("[\(index)]"), with: others).map { variant in
          var changed = elements
          changed[index] = variant.value
          return (variant.path, changed)
        }
      }
    }
    return others(value).map { (path, $0) }
  }
}
