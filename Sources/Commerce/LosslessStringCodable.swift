/// A value that is one JSON string, read strictly: what `description` writes, `init(_:)` reads, and nothing else.
///
/// ```swift
/// let product = ProductIdentifier("com.example.issue-7")  // nil when the text is no such name
/// let json = try JSONEncoder().encode(product)            // "com.example.issue-7"
/// ```
public protocol LosslessStringCodable: LosslessStringConvertible, Codable {}

extension LosslessStringCodable {
  /// Reads the text. Throws `DecodingError` when it is none of this type.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let value = Self(text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "\(Self.refusal): \(text.prefix(100))")
    }
    self = value
  }

  /// The beginning of a refusal: the type's name in words.
  private static var refusal: String {
    let name = "\(Self.self)"
    let words = name.map { $0.isUppercase ? " \($0.lowercased())" : "\($0)" }.joined()
    return (name.first.map("AEIOU".contains) == true ? "not an" : "not a") + words
  }

  /// Writes the text as a JSON string.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
