import Commerce

/// A value read so that every refusal has the place of what is refused, and, unless they are passed over, members that the
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
      guard PassedOver(decoder) == .membersAndWords, error.isOfUnknownWord,
        let known = try Self.withoutUnknownWords(from: decoder)
      else { throw error }
      value = known
    } catch {
      // Foundation's own error for a number that its type cannot hold, or that is none in JSON (`01`), which would reach
      // the caller without a place.
      throw DecodingError.dataCorrupted(
        DecodingError.Context(
          codingPath: decoder.codingPath, debugDescription: "not a number that fits", underlyingError: error)
      )
    }
  }

  /// The word that stands for an unknown one, or a list without the elements that have one; nil for a value that cannot be without it.
  private static func withoutUnknownWords(from decoder: any Decoder) throws -> Value? {
    if let words = Value.self as? any ListedWords.Type { return words.fallback as? Value }
    guard let list = Value.self as? any PartlyReadable.Type else { return nil }
    return try list.known(from: decoder) as? Value
  }
}

/// The things of later versions that are passed over, in a decoder's `userInfo`; nothing is without it.
enum PassedOver {
  case members
  case membersAndWords

  static let key: CodingUserInfoKey = {
    guard let key = CodingUserInfoKey(rawValue: "passedOver") else {
      preconditionFailure("any text is a key")
    }
    return key
  }()

  init?(_ decoder: any Decoder) {
    guard let value = decoder.userInfo[Self.key] as? PassedOver else { return nil }
    self = value
  }
}

extension DecodingError {
  /// Whether it refuses a word that may be one of a later version.
  var isOfUnknownWord: Bool {
    guard case .dataCorrupted(let context) = self else { return false }
    return context.underlyingError is UnknownWord
  }
}

/// A list that is read without the elements that have unknown words.
private protocol PartlyReadable {
  static func known(from decoder: any Decoder) throws -> Self
}

extension Array: PartlyReadable where Element: Decodable {
  fileprivate static func known(from decoder: any Decoder) throws -> [Element] {
    var (found, list) = ([Element](), try decoder.unkeyedContainer())
    while !list.isAtEnd {
      do {
        found.append(try list.decode(TracedMembers<Element>.self).value)
      } catch let error as DecodingError where error.isOfUnknownWord {
        _ = try list.decode(PassedOverElement.self)
      }
    }
    return found
  }
}

/// Takes the place of an element of whatever kind.
private struct PassedOverElement: Decodable {
  init(from decoder: any Decoder) throws {}
}

private struct MemberTracingDecoder: Decoder {
  let base: any Decoder

  var codingPath: [any CodingKey] { base.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { base.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    if PassedOver(base) == nil {
      let members = try base.container(keyedBy: MemberName.self).allKeys
      let unknown = members.filter { Key(stringValue: $0.stringValue) == nil }
      if let first = unknown.min(by: { $0.stringValue < $1.stringValue }) {
        throw DecodingError.dataCorrupted(
          DecodingError.Context(codingPath: codingPath + [first], debugDescription: "there is no such member")
        )
      }
    }
    return KeyedDecodingContainer(
      MemberTracingContainer(
        base: try base.container(keyedBy: type), leavesOutWords: PassedOver(base) == .membersAndWords))
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
  /// Whether a member that may be absent is taken for absent where it has an unknown word.
  let leavesOutWords: Bool

  var codingPath: [any CodingKey] { base.codingPath }
  var allKeys: [Key] { base.allKeys }

  func contains(_ key: Key) -> Bool { base.contains(key) }

  func decodeNil(forKey key: Key) throws -> Bool { try base.decodeNil(forKey: key) }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try base.decode(TracedMembers<Value>.self, forKey: key).value
  }

  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    guard contains(key), try !decodeNil(forKey: key) else { return nil }
    do {
      return try decode(type, forKey: key)
    } catch let error as DecodingError where leavesOutWords && error.isOfUnknownWord {
      return nil
    }
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
