/// A value of a document, as the decoder of whatever is read from it.
struct JSONNodeDecoder: Decoder {
  let document: JSONDocument
  let index: Int

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    try require(.object)
    return KeyedDecodingContainer(JSONObjectReader<Key>(document: document, index: index))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try require(.list)
    return JSONListReader(document: document, index: index)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  fileprivate func require(_ kind: JSONDocument.Node.Kind) throws {
    guard document.nodes[index].kind == kind else { throw isNull ? Self.null : Self.mismatch }
  }

  fileprivate var isNull: Bool { document.nodes[index].kind == .null }

  // Made once: readers of several spellings try one after the other, and no sentence is made of these.
  fileprivate static let mismatch: any Error = DecodingError.typeMismatch(
    Any.self, DecodingError.Context(codingPath: [], debugDescription: "another type of value"))
  fileprivate static let null: any Error = DecodingError.valueNotFound(
    Any.self, DecodingError.Context(codingPath: [], debugDescription: "null"))
}

extension JSONNodeDecoder: SingleValueDecodingContainer {
  func decodeNil() -> Bool { isNull }

  func decode(_ type: String.Type) throws -> String {
    guard let text = document.text(index) else { throw isNull ? Self.null : Self.mismatch }
    return text
  }

  func decode(_ type: Bool.Type) throws -> Bool {
    switch document.nodes[index].kind {
    case .true: true
    case .false: false
    case .null: throw Self.null
    default: throw Self.mismatch
    }
  }

  func decode(_ type: Double.Type) throws -> Double { Double(try decode(Int64.self)) }

  func decode(_ type: Float.Type) throws -> Float { Float(try decode(Int64.self)) }

  func decode<Value: FixedWidthInteger & Decodable>(_ type: Value.Type) throws -> Value {
    guard let integer = document.integer(index), let value = Value(exactly: integer) else {
      throw isNull ? Self.null : Self.mismatch
    }
    return value
  }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try Value(from: self) }
}

private struct JSONObjectReader<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let document: JSONDocument
  let index: Int

  var codingPath: [any CodingKey] { [] }

  var allKeys: [Key] {
    var keys: [Key] = []
    var child = index + 1
    for _ in 0..<document.nodes[index].count {
      if let key = Key(stringValue: document.name(of: child)) { keys.append(key) }
      child = Int(document.nodes[child].next)
    }
    return keys
  }

  func contains(_ key: Key) -> Bool { document.member(key.stringValue, of: index) != nil }

  private func value(_ key: Key) throws -> JSONNodeDecoder {
    guard let child = document.member(key.stringValue, of: index) else {
      throw DecodingError.keyNotFound(
        key, DecodingError.Context(codingPath: [], debugDescription: "no such member"))
    }
    return JSONNodeDecoder(document: document, index: child)
  }

  /// Nil where the member is not there, or null.
  private func present(_ key: Key) -> JSONNodeDecoder? {
    guard let child = document.member(key.stringValue, of: index) else { return nil }
    let value = JSONNodeDecoder(document: document, index: child)
    return value.isNull ? nil : value
  }

  func decodeNil(forKey key: Key) throws -> Bool { try value(key).isNull }

  func decode(_ type: String.Type, forKey key: Key) throws -> String { try value(key).decode(type) }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try value(key).decode(type) }

  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try value(key).decode(type) }

  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try value(key).decode(type) }

  func decode<Value: FixedWidthInteger & Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try value(key).decode(type)
  }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try Value(from: try value(key))
  }

  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    try present(key)?.decode(type)
  }

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    try present(key)?.decode(type)
  }

  func decodeIfPresent<Value: FixedWidthInteger & Decodable>(
    _ type: Value.Type, forKey key: Key
  ) throws -> Value? {
    try present(key)?.decode(type)
  }

  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    try present(key).map { try Value(from: $0) }
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try value(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try value(key).unkeyedContainer()
  }

  /// No type that is read has one; Foundation's answers for a member that is not there as if it were null.
  func superDecoder() throws -> any Decoder { throw JSONNodeDecoder.mismatch }

  func superDecoder(forKey key: Key) throws -> any Decoder { throw JSONNodeDecoder.mismatch }
}

private struct JSONListReader: UnkeyedDecodingContainer {
  let document: JSONDocument
  private(set) var currentIndex = 0
  private let length: Int
  private var next: Int

  init(document: JSONDocument, index: Int) {
    self.document = document
    length = Int(document.nodes[index].count)
    next = index + 1
  }

  var codingPath: [any CodingKey] { [] }
  var count: Int? { length }
  var isAtEnd: Bool { currentIndex == length }

  private var value: JSONNodeDecoder {
    get throws {
      guard !isAtEnd else { throw JSONNodeDecoder.null }
      return JSONNodeDecoder(document: document, index: next)
    }
  }

  private mutating func advance() {
    currentIndex += 1
    next = Int(document.nodes[next].next)
  }

  /// Stays where it is unless there is null.
  mutating func decodeNil() throws -> Bool {
    guard try value.isNull else { return false }
    advance()
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let decoded = try Value(from: try value)
    advance()
    return decoded
  }

  mutating func nestedContainer<Key: CodingKey>(
    keyedBy type: Key.Type
  ) throws -> KeyedDecodingContainer<Key> {
    let container = try value.container(keyedBy: type)
    advance()
    return container
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let container = try value.unkeyedContainer()
    advance()
    return container
  }

  mutating func superDecoder() throws -> any Decoder { throw JSONNodeDecoder.mismatch }
}
