/// A value that is one JSON string, read strictly.
public protocol TextCodable: Codable {
  var text: String { get }
  /// Nil when `text` is no such value.
  init?(_ text: String)
}

extension TextCodable {
  /// Reads the text. Throws `DecodingError` when it is none of this type.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let value = Self(text) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a \(Self.self): \(text)")
    }
    self = value
  }

  /// Writes the text as a JSON string.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}
