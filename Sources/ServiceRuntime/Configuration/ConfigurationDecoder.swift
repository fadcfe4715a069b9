/// Decodes a ``ConfigurationValue``. Text from variables and options is read as whatever type is asked for;
/// whole numbers may end in `KiB`, `MiB` or `GiB`.
struct ConfigurationDecoder: Decoder {
  /// The value to be decoded.
  let value: ConfigurationValue
  /// The keys that lead to the value.
  let codingPath: [any CodingKey]
  /// The record of the keys that are asked for, shared by the whole decoding.
  let record: ConsumedKeys
  /// Always empty.
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  /// The members of a table. Throws ``ConfigurationError`` for any other value.
  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard let members = value.members else { throw mismatch("a table") }
    record.note(present: members.keys.map { Self.name(codingPath, appending: $0) })
    return KeyedDecodingContainer(
      ConfigurationKeyedContainer<Key>(members: members, codingPath: codingPath, record: record))
  }

  /// The elements of a list, or the parts of a text between commas. Throws ``ConfigurationError`` for any other value.
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    switch value.content {
    case .list(let elements):
      return ConfigurationListContainer(elements: elements, codingPath: codingPath, record: record)
    case .text(let text):
      let elements = ParsedArguments.parts(of: text).map {
        ConfigurationValue(.text($0), origin: value.origin)
      }
      return ConfigurationListContainer(elements: elements, codingPath: codingPath, record: record)
    default: throw mismatch("a list")
    }
  }

  /// The value itself; the type is decided at decoding.
  func singleValueContainer() -> any SingleValueDecodingContainer {
    ConfigurationSingleContainer(decoder: self)
  }

  /// The error for a value of another type. It tells nothing of a secret's value.
  func mismatch(_ expected: String) -> ConfigurationError {
    let subject = Self.name(codingPath)
    return ConfigurationError(
      subject: subject,
      message: "\(expected) is expected here" + (record.isSecret(subject) ? "" : ", not \(value.kind)"),
      origin: value.origin)
  }

  /// The message for a key that is not there.
  static let missing = "is missing"

  /// The name for people: keys and positions with dots between.
  static func name(_ path: [any CodingKey], appending last: String? = nil) -> String {
    let parts = path.map { $0.intValue.map(String.init) ?? $0.stringValue } + (last.map { [$0] } ?? [])
    return parts.isEmpty ? "the whole" : parts.joined(separator: ".")
  }

  /// Translates an error that a type being decoded has thrown itself.
  static func translated(_ error: any Error) -> ConfigurationError {
    guard let error = error as? DecodingError else {
      return ConfigurationError(subject: name([]), message: "\(error)")
    }
    let path: [any CodingKey] =
      switch error {
      case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
        context.codingPath
      case .keyNotFound(let key, let context): context.codingPath + [key]
      @unknown default: []
      }
    return ConfigurationError(subject: name(path), message: explanation(of: error))
  }

  /// The words for an error of a type that was being decoded.
  static func explanation(of error: DecodingError) -> String {
    switch error {
    case .keyNotFound: missing
    case .typeMismatch(_, let context), .valueNotFound(_, let context): context.debugDescription
    case .dataCorrupted(let context):
      context.underlyingError.map { "\(context.debugDescription) \($0)" } ?? context.debugDescription
    @unknown default: "\(error)"
    }
  }
}

/// The members of a table, each of which is noted when it is asked for.
struct ConfigurationKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  /// The values by their keys.
  let members: [String: ConfigurationValue]
  /// The keys that lead to the table.
  let codingPath: [any CodingKey]
  /// The record of the keys that are asked for.
  let record: ConsumedKeys

  /// The keys that the type knows, by the alphabet.
  var allKeys: [Key] { members.keys.sorted().compactMap(Key.init(stringValue:)) }

  /// Whether the key is there. It counts as asked for either way.
  func contains(_ key: Key) -> Bool {
    record.note(asked: ConfigurationDecoder.name(codingPath, appending: key.stringValue))
    return members[key.stringValue] != nil
  }

  /// Whether the value is null. Throws ``ConfigurationError`` where the key is not there.
  func decodeNil(forKey key: Key) throws -> Bool {
    try value(key).isNull
  }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try ConfigurationSingleContainer(decoder: decoder(key)).decode(type)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try decoder(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder {
    ConfigurationDecoder(
      value: ConfigurationValue(.table(members)), codingPath: codingPath, record: record)
  }

  func superDecoder(forKey key: Key) throws -> any Decoder {
    try decoder(key)
  }

  /// The value of a key, which is noted as asked for. Throws ``ConfigurationError`` where it is not there.
  private func value(_ key: Key) throws -> ConfigurationValue {
    let name = ConfigurationDecoder.name(codingPath, appending: key.stringValue)
    record.note(asked: name)
    guard let value = members[key.stringValue] else {
      throw ConfigurationError(subject: name, message: ConfigurationDecoder.missing)
    }
    return value
  }

  /// The decoder of a key's value.
  private func decoder(_ key: Key) throws -> ConfigurationDecoder {
    ConfigurationDecoder(value: try value(key), codingPath: codingPath + [key], record: record)
  }
}

/// The elements of a list. Those that a higher source left out are passed over.
struct ConfigurationListContainer: UnkeyedDecodingContainer {
  /// A position as a key, counted from 0.
  private struct Position: CodingKey {
    /// The position.
    let intValue: Int?
    var stringValue: String { intValue.map(String.init) ?? "" }
    init(_ position: Int) { intValue = position }
    init?(intValue: Int) { self.init(intValue) }
    init?(stringValue: String) { nil }
  }

  /// With their positions in the configuration.
  private let elements: [(offset: Int, element: ConfigurationValue)]
  /// The keys that lead to the list.
  let codingPath: [any CodingKey]
  /// The record of the keys that are asked for.
  private let record: ConsumedKeys
  /// The number of elements that were decoded.
  private(set) var currentIndex = 0

  init(elements: [ConfigurationValue], codingPath: [any CodingKey], record: ConsumedKeys) {
    self.elements = elements.enumerated().filter { !$0.element.isOmitted }
    self.codingPath = codingPath
    self.record = record
  }

  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex == elements.count }

  mutating func decodeNil() throws -> Bool {
    guard !isAtEnd, elements[currentIndex].element.isNull else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try ConfigurationSingleContainer(decoder: next()).decode(type)
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try next().container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try next().unkeyedContainer()
  }

  mutating func superDecoder() throws -> any Decoder {
    try next()
  }

  /// The decoder of the next element. Throws ``ConfigurationError`` at the end of the list.
  private mutating func next() throws -> ConfigurationDecoder {
    guard !isAtEnd else {
      let path = codingPath + [Position(currentIndex)]
      throw ConfigurationError(
        subject: ConfigurationDecoder.name(path), message: ConfigurationDecoder.missing)
    }
    defer { currentIndex += 1 }
    let (offset, element) = elements[currentIndex]
    return ConfigurationDecoder(value: element, codingPath: codingPath + [Position(offset)], record: record)
  }
}

/// Remembers which keys of a configuration there are and which were asked for. Used by one decoding, on one
/// thread.
final class ConsumedKeys {
  /// The keys that the configuration has.
  private var present: Set<String> = []
  /// The keys that its type has asked for.
  private var asked: Set<String> = []
  /// The keys whose values no error shows.
  private let secrets: Set<String>

  /// Creates a record without keys. Errors do not show the values of the keys in `secrets`.
  init(secrets: Set<String> = []) {
    self.secrets = secrets
  }

  /// Notes keys that are there, with all parts of their names.
  func note(present keys: some Sequence<String>) {
    present.formUnion(keys)
  }

  /// Notes a key that the type asks for, whether it is there or not.
  func note(asked key: String) {
    asked.insert(key)
  }

  /// Whether the key is one of the secrets, or lies within one.
  func isSecret(_ key: String) -> Bool {
    secrets.contains { key == $0 || key.hasPrefix($0 + ".") }
  }

  /// The keys that the configuration's type did not ask for, by the alphabet, each with the one that may be meant: one that
  /// was asked for and is not there, or is in `missing`.
  func unknown(missing: Set<String> = []) -> [(key: String, meant: String?)] {
    let candidates = asked.subtracting(present).union(missing)
    return present.subtracting(asked).sorted().map { key in
      (key, EditDistance.nearest(to: key, among: candidates.sorted()))
    }
  }
}
