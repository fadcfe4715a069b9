/// A value that is one of a closed list of words. Another word is refused with the list.
public protocol ListedWords: RawRepresentable, CaseIterable, Codable where RawValue == String {
  /// The word that a client takes for one that only a later service has; nil where none does.
  static var fallback: Self? { get }
}

extension ListedWords {
  /// None: the member is left out, or what cannot be without it.
  public static var fallback: Self? { nil }

  /// Reads the word. Throws `DecodingError` for another one, which names those that may stand there and has an ``UnknownWord`` behind it.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let value = Self(rawValue: text) else {
      let words = Self.allCases.map(\.rawValue).joined(separator: ", ")
      throw DecodingError.dataCorrupted(
        DecodingError.Context(
          codingPath: container.codingPath, debugDescription: "'\(text.prefix(100))' is none of \(words)",
          underlyingError: UnknownWord()))
    }
    self = value
  }
}

/// The cause of a decoding error: a word that is none of its list, and may be one of a later version.
public struct UnknownWord: Error {
  /// Says no more than that.
  public init() {}
}
