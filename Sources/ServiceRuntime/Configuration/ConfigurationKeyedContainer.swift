struct ConfigurationKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let members: [String: ConfigurationValue]
  let codingPath: [any CodingKey]
  let record: ConsumedKeys

  var allKeys: [Key] { members.keys.sorted().compactMap(Key.init(stringValue:)) }

  func contains(_ key: Key) -> Bool {
    record.note(asked: ConfigurationDecoder.name(codingPath, key.stringValue))
    return members[key.stringValue] != nil
  }

  func decodeNil(forKey key: Key) throws -> Bool {
    try value(key) == .null
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
    ConfigurationDecoder(value: .table(members), codingPath: codingPath, record: record)
  }

  func superDecoder(forKey key: Key) throws -> any Decoder {
    try decoder(key)
  }

  private func value(_ key: Key) throws -> ConfigurationValue {
    let name = ConfigurationDecoder.name(codingPath, key.stringValue)
    record.note(asked: name)
    guard let value = members[key.stringValue] else {
      throw ConfigurationError(subject: name, message: "is missing")
    }
    return value
  }

  private func decoder(_ key: Key) throws -> ConfigurationDecoder {
    ConfigurationDecoder(value: try value(key), codingPath: codingPath + [key], record: record)
  }
}
