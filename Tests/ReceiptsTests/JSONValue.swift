import FoundationEssentials

/// A JSON text as a value that can be compared: a number is not the string of its digits.
enum JSONValue: Hashable, Decodable {
  case null
  case flag(Bool)
  case number(Int64)
  case text(String)
  case list([JSONValue])
  case object([String: JSONValue])

  /// Empty for what is no object.
  var members: [String: JSONValue] {
    if case .object(let members) = self { members } else { [:] }
  }

  var text: String? {
    if case .text(let text) = self { text } else { nil }
  }

  init(_ text: String) throws {
    self = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
  }

  init(written value: some Encodable) throws {
    self = try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(value))
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let flag = try? container.decode(Bool.self) {  // each failed try means another kind
      self = .flag(flag)
    } else if let number = try? container.decode(Int64.self) {
      self = .number(number)
    } else if let text = try? container.decode(String.self) {
      self = .text(text)
    } else if let list = try? container.decode([JSONValue].self) {
      self = .list(list)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }
}
