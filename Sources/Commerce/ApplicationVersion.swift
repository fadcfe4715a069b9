/// The version of an application as its receipts have it: integers between dots, of any length and also with zeros in front
/// (`2024.01.05`), compared one by one as numbers. What is missing at the end counts as zero.
public struct ApplicationVersion: Sendable, CustomStringConvertible {
  /// The text that it was read from.
  public let description: String
  /// The digits of each number without zeros in front; none for zero. None of the last ones is zero.
  private let numbers: [[UInt8]]

  /// Nil for anything else, and for more than 64 characters.
  public init?(_ text: String) {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard text.utf8.count <= 64, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(digits.contains) }) else {
      return nil
    }
    description = text
    var numbers = parts.map { Array($0.drop { $0 == UInt8(ascii: "0") }) }
    while numbers.last?.isEmpty == true { numbers.removeLast() }
    self.numbers = numbers
  }
}

extension ApplicationVersion: Comparable, Hashable {
  /// `1.0`, `1` and `01` are one version.
  public static func == (a: ApplicationVersion, b: ApplicationVersion) -> Bool { a.numbers == b.numbers }

  /// By numbers: `1.9` comes before `1.10`.
  public static func < (a: ApplicationVersion, b: ApplicationVersion) -> Bool {
    a.numbers.lexicographicallyPrecedes(b.numbers) { left, right in
      left.count == right.count ? left.lexicographicallyPrecedes(right) : left.count < right.count
    }
  }

  /// Equal versions have one hash value, however they are written.
  public func hash(into hasher: inout Hasher) { hasher.combine(numbers) }
}

extension ApplicationVersion: Codable {
  /// Reads the text. Throws `DecodingError` for anything but a version.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let version = ApplicationVersion(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container,
        debugDescription: "a version of an application has numbers between dots, 64 characters at most")
    }
    self = version
  }

  /// Writes the text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
