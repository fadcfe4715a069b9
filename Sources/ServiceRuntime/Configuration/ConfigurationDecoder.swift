/// Decodes a ``ConfigurationValue``. Text from variables and options is read as whatever type is asked for;
/// whole numbers may end in `KiB`, `MiB` or `GiB`.
struct ConfigurationDecoder: Decoder {
  let value: ConfigurationValue
  let codingPath: [any CodingKey]
  let record: ConsumedKeys
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .table(let members) = value else { throw mismatch("a table") }
    record.note(present: members.keys.map { Self.name(codingPath, $0) })
    return KeyedDecodingContainer(
      ConfigurationKeyedContainer<Key>(members: members, codingPath: codingPath, record: record))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    switch value {
    case .list(let elements):
      return ConfigurationListContainer(elements: elements, codingPath: codingPath, record: record)
    case .text(let text, let origin):
      let elements = ParsedArguments.parts(of: text).map { ConfigurationValue.text($0, origin: origin) }
      return ConfigurationListContainer(elements: elements, codingPath: codingPath, record: record)
    default: throw mismatch("a list")
    }
  }

  func singleValueContainer() -> any SingleValueDecodingContainer {
    ConfigurationSingleContainer(decoder: self)
  }

  func mismatch(_ expected: String) -> ConfigurationError {
    ConfigurationError(
      subject: Self.name(codingPath), message: "\(expected) is expected here, not \(value.kind)")
  }

  static func name(_ path: [any CodingKey], _ last: String? = nil) -> String {
    let parts = path.map { $0.intValue.map(String.init) ?? $0.stringValue } + (last.map { [$0] } ?? [])
    return parts.isEmpty ? "the whole" : parts.joined(separator: ".")
  }

  /// For errors that the types being decoded throw themselves.
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

  static func explanation(of error: DecodingError) -> String {
    switch error {
    case .keyNotFound: "is missing"
    case .typeMismatch(_, let context), .valueNotFound(_, let context): context.debugDescription
    case .dataCorrupted(let context):
      context.underlyingError.map { "\(context.debugDescription) \($0)" } ?? context.debugDescription
    @unknown default: "\(error)"
    }
  }
}
