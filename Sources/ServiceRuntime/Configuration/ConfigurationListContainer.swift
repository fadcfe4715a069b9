struct ConfigurationListContainer: UnkeyedDecodingContainer {
  private struct Position: CodingKey {
    let intValue: Int?
    var stringValue: String { intValue.map(String.init) ?? "" }
    init(_ position: Int) { intValue = position }
    init?(intValue: Int) { self.init(intValue) }
    init?(stringValue: String) { nil }
  }

  let elements: [ConfigurationValue]
  let codingPath: [any CodingKey]
  let record: ConsumedKeys
  private(set) var currentIndex = 0

  init(elements: [ConfigurationValue], codingPath: [any CodingKey], record: ConsumedKeys) {
    self.elements = elements
    self.codingPath = codingPath
    self.record = record
  }

  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex == elements.count }

  mutating func decodeNil() throws -> Bool {
    guard !isAtEnd, elements[currentIndex] == .null else { return false }
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

  private mutating func next() throws -> ConfigurationDecoder {
    let path = codingPath + [Position(currentIndex)]
    guard !isAtEnd else {
      throw ConfigurationError(subject: ConfigurationDecoder.name(path), message: "is missing")
    }
    defer { currentIndex += 1 }
    return ConfigurationDecoder(value: elements[currentIndex], codingPath: path, record: record)
  }
}
