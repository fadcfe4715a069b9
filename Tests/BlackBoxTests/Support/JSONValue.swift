/// Any JSON: what an earlier version answered is compared as it stands, without the types that this version reads it into.
enum JSONValue: Hashable, Sendable, Decodable {
  case null
  case bool(Bool)
  case number(Double)
  case text(String)
  case list([JSONValue])
  case members([String: JSONValue])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .text(value)
    } else if let value = try? container.decode([JSONValue].self) {
      self = .list(value)
    } else {
      self = .members(try container.decode([String: JSONValue].self))
    }
  }

  /// Null where there is no such member.
  subscript(name: String) -> JSONValue {
    guard case .members(let members) = self else { return .null }
    return members[name] ?? .null
  }

  var text: String? {
    guard case .text(let text) = self else { return nil }
    return text
  }

  var number: Int? {
    guard case .number(let number) = self else { return nil }
    return Int(exactly: number)
  }

  /// Empty for anything but a list.
  var items: [JSONValue] {
    guard case .list(let items) = self else { return [] }
    return items
  }

  /// Empty for anything but an object.
  var members: [String: JSONValue] {
    guard case .members(let members) = self else { return [:] }
    return members
  }

  /// With the members `grant` cut to the 16 digits that operators have seen since there are short names: those of a grant
  /// that is older are the first of its name.
  var withShortNames: JSONValue {
    switch self {
    case .list(let items): .list(items.map(\.withShortNames))
    case .members(let members):
      .members(
        Dictionary(
          uniqueKeysWithValues: members.map { name, value in
            (name, name == "grant" ? .text(String((value.text ?? "").prefix(16))) : value.withShortNames)
          }))
    default: self
    }
  }

  /// Returns the document without the order of an agent's lists, and with its paths from `directory` on: since they are absolute, downloads
  /// come the newest first, and one that was cancelled holds no bytes.
  func aligned(in directory: String) -> JSONValue {
    switch self {
    case .list(let items):
      let items = items.map { $0.aligned(in: directory) }
      return .list(items.sorted { ($0["id"].text ?? "") < ($1["id"].text ?? "") })
    case .members(var members):
      if members["state"]?.text == "cancelled" {
        (members["bytesVerified"], members["progress"]) = (nil, nil)
      }
      return .members(members.mapValues { $0.aligned(in: directory) })
    case .text(let text) where text.hasPrefix("\(directory)/"):
      return .text(String(text.dropFirst(directory.utf8.count + 1)))
    default: return self
    }
  }

  /// Where this is not what `expected` says. Members that `expected` does not have are no difference: a later version may
  /// tell more.
  func differences(from expected: JSONValue, at path: String = "$") -> [String] {
    switch (self, expected) {
    case (.members(let now), .members(let before)):
      before.sorted { $0.key < $1.key }.flatMap { name, value in
        (now[name] ?? .null).differences(from: value, at: "\(path).\(name)")
      }
    case (.list(let now), .list(let before)) where now.count == before.count:
      zip(now, before).enumerated().flatMap { index, pair in
        pair.0.differences(from: pair.1, at: "\(path)[\(index)]")
      }
    default:
      self == expected ? [] : ["\(path): \(self), where it was \(expected)"]
    }
  }
}
