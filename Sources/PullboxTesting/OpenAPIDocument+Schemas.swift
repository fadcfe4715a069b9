internal import CoreTypes
internal import Foundation

/// Any JSON, as a document's schemas see it.
public indirect enum JSONTree: Hashable, Sendable, Decodable {
  /// `null`.
  case null
  /// `true` or `false`.
  case truth(Bool)
  /// A number without a fraction, of 64 bits.
  case integer(Int64)
  /// Any other number.
  case number(Double)
  /// A string.
  case text(String)
  /// An array.
  case list([JSONTree])
  /// An object.
  case members([String: JSONTree])

  /// Reads a document, also one that is no object. Throws `DecodingError`.
  public init(_ document: [UInt8]) throws {
    self =
      try JSONDocumentReader.value(JSONTree.self, in: document)
      ?? JSONDecoder().decode(JSONTree.self, from: Data(document))
  }

  /// Tries what is frequent first: a failure costs more than a value.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(String.self) {
      self = .text(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .integer(value)
    } else if let value = try? container.decode([String: JSONTree].self) {
      self = .members(value)
    } else if let value = try? container.decode([JSONTree].self) {
      self = .list(value)
    } else if let value = try? container.decode(Bool.self) {
      self = .truth(value)
    } else {
      self = .number(try container.decode(Double.self))
    }
  }
}

// The part of JSON Schema that the documents are written in.
extension OpenAPIDocument {
  private static let date = #"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"#

  /// Where a value is not what its schema says, each place with a sentence. A member that the schema does not name is a fault, also where
  /// clients are to ignore it.
  public func faults(in value: JSONTree, by schema: YAMLDocument, at path: String = "$") -> [String] {
    guard let schema = follow(schema) else { return ["\(path): a reference to nothing"] }
    if let word = schema["const"]?.text {
      let isSame =
        switch value {
        case .text(let text): text == word
        case .integer(let number): "\(number)" == word
        default: false
        }
      return isSame ? [] : ["\(path): not \(word)"]
    }
    if let words = schema["enum"]?.texts, case .text(let text) = value {
      return words.contains(text) ? [] : ["\(path): \(text) is none of \(words)"]
    }
    if let choices = schema["anyOf"]?.items, let first = choices.first {
      let fits = choices.contains { faults(in: value, by: $0, at: path).isEmpty }
      return fits ? [] : faults(in: value, by: first, at: path)
    }
    let types = schema["type"].map { type in type.text.map { [$0] } ?? type.texts } ?? []
    if value == .null, types.contains("null") { return [] }
    switch types.first {
    case "object": return object(value, schema, path)
    case "array":
      guard case .list(let items) = value, let schema = schema["items"] else { return ["\(path): no array"] }
      return items.enumerated().flatMap { faults(in: $1, by: schema, at: "\(path)[\($0)]") }
    case "string": return string(value, schema, path)
    case "integer":
      guard case .integer(let number) = value else { return ["\(path): no integer"] }
      return range(Double(number), schema, path)
    case "number":
      switch value {
      case .integer(let number): return range(Double(number), schema, path)
      case .number(let number): return range(number, schema, path)
      default: return ["\(path): no number"]
      }
    case "boolean":
      if case .truth = value { return [] }
      return ["\(path): no truth value"]
    case let type: return ["\(path): \(type ?? "no type") is none that this check knows"]
    }
  }

  private func object(_ value: JSONTree, _ schema: YAMLDocument, _ path: String) -> [String] {
    guard case .members(let members) = value else { return ["\(path): no object"] }
    let properties = schema["properties"]?.members ?? []
    // The schema of a table's values.
    let table = schema["additionalProperties"].flatMap { $0.text == nil ? $0 : nil }
    let missing = (schema["required"]?.texts ?? []).filter { members[$0] == nil }
    return missing.map { "\(path).\($0): missing" }
      + members.sorted { $0.key < $1.key }.flatMap { name, inner in
        guard let property = properties.first(where: { $0.key == name })?.value ?? table else {
          return ["\(path).\(name): unknown"]
        }
        return faults(in: inner, by: property, at: "\(path).\(name)")
      }
  }

  private func string(_ value: JSONTree, _ schema: YAMLDocument, _ path: String) -> [String] {
    guard case .text(let text) = value else { return ["\(path): no string"] }
    let shortest = schema["minLength"]?.text.flatMap { Int($0) } ?? 0
    let longest = schema["maxLength"]?.text.flatMap { Int($0) } ?? .max
    guard (shortest...longest).contains(text.unicodeScalars.count) else {
      return ["\(path): \(text) is shorter or longer than it may be"]
    }
    guard
      let pattern = schema["pattern"]?.text ?? (schema["format"]?.text == "date-time" ? Self.date : nil)
    else { return [] }
    let isRight = text.range(of: pattern, options: .regularExpression) != nil
    return isRight ? [] : ["\(path): \(text) is not \(pattern)"]
  }

  private func range(_ number: Double, _ schema: YAMLDocument, _ path: String) -> [String] {
    let minimum = schema["minimum"]?.text.flatMap { Double($0) } ?? -.infinity
    let maximum = schema["maximum"]?.text.flatMap { Double($0) } ?? .infinity
    return (minimum...maximum).contains(number) ? [] : ["\(path): \(number) is out of range"]
  }
}
