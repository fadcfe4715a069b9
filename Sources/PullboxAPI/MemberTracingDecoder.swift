/// A value read so that every refusal has the place of what is refused, and, unless they are ignored, members that the
/// value's type or a type within it does not have are refused. A type's coding keys say what its members are; a
/// dictionary's are all known.
///
/// Holds for types that read their members from one container, as synthesized conformances do.
struct TracedMembers<Value: Decodable>: Decodable {
  let value: Value

  init(from decoder: any Decoder) throws {
    do {
      value = try Value(from: MemberTracingDecoder(base: decoder))
    } catch let error as DecodingError {
      throw error
    } catch {
      // Foundation's own error for a number that its type cannot hold, or that is none in JSON (`01`), which would reach
      // the caller without a place.
      throw DecodingError.dataCorrupted(
        DecodingError.Context(
          codingPath: decoder.codingPath, debugDescription: "not a number that fits", underlyingError: error)
      )
    }
  }
}

/// Whether unknown members are ignored, in a decoder's `userInfo`.
enum UnknownMembers {
  case ignored
  case refused

  static let key: CodingUserInfoKey = {
    guard let key = CodingUserInfoKey(rawValue: "unknownMembers") else {
      preconditionFailure("any text is a key")
    }
    return key
  }()
}

private struct MemberTracingDecoder: Decoder {
  let base: any Decoder

  var codingPath: [any CodingKey] { base.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { base.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    if userInfo[UnknownMembers.key] as? UnknownMembers != .ignored {
      let members = try base.container(keyedBy: MemberName.self).allKeys
      let unknown = members.filter { Key(stringValue: $0.stringValue) == nil }
      if let first = unknown.min(by: { $0.stringValue < $1.stringValue }) {
        throw DecodingError.dataCorrupted(
          DecodingError.Context(codingPath: codingPath + [first], debugDescription: "there is no such member")
        )
      }
    }
    return KeyedDecodingContainer(MemberTracingContainer(base: try base.container(keyedBy: type)))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    MemberTracingList(base: try base.unkeyedContainer())
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    // A string, a number or null: there are no members in it.
    try base.singleValueContainer()
  }
}

private struct MemberTracingContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let base: KeyedDecodingContainer<Key>

  var codingPath: [any CodingKey] { base.codingPath }
  var allKeys: [Key] { base.allKeys }

  func contains(_ key: Key) -> Bool { base.contains(key) }

  func decodeNil(forKey key: Key) throws -> Bool { try base.decodeNil(forKey: key) }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try base.decode(TracedMembers<Value>.self, forKey: key).value
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try superDecoder(forKey: key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try superDecoder(forKey: key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { MemberTracingDecoder(base: try base.superDecoder()) }

  func superDecoder(forKey key: Key) throws -> any Decoder {
    MemberTracingDecoder(base: try base.superDecoder(forKey: key))
  }
}

private struct MemberTracingList: UnkeyedDecodingContainer {
  var base: any UnkeyedDecodingContainer

  var codingPath: [any CodingKey] { base.codingPath }
  var count: Int? { base.count }
  var isAtEnd: Bool { base.isAtEnd }
  var currentIndex: Int { base.currentIndex }

  mutating func decodeNil() throws -> Bool { try base.decodeNil() }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try base.decode(TracedMembers<Value>.self).value
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try superDecoder().container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try superDecoder().unkeyedContainer()
  }

  mutating func superDecoder() throws -> any Decoder { MemberTracingDecoder(base: try base.superDecoder()) }
}

/// Any member's name.
private struct MemberName: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }

  init?(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}
