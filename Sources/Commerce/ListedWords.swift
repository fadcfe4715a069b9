/// A value that is one of a closed list of words. Another word is refused with the list.
public protocol ListedWords: RawRepresentable, CaseIterable, Codable where RawValue == String {}

extension ListedWords {
  /// Reads the word. Throws `DecodingError` for another one, which names those that may stand there.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let value = Self(rawValue: text) else {
      let words = Self.allCases.map(\.rawValue).joined(separator: ", ")
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "'\(text.prefix(100))' is none of \(words)")
    }
    self = value
  }
}
