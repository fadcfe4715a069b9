public import CoreTypes

/// A number of bytes in a configuration: a whole number, or a text such as `64MiB`, `500GB`, `1.5TiB`.
public struct ConfigurationSize: Hashable, Sendable, Decodable {
  /// The factors of units. Decimal ones are multiples of 1000, the others of 1024.
  private static let units: [String: Double] = [
    "": 1, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 0x1p10, "MiB": 0x1p20, "GiB": 0x1p30,
    "TiB": 0x1p40,
  ]

  /// The number of bytes.
  public var bytes: ByteCount

  /// A size that is known already.
  public init(_ bytes: ByteCount) {
    self.bytes = bytes
  }

  /// Nil when `text` is not a size, or one beyond what an Int64 holds.
  public init?(_ text: String) {
    let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    let unit = text.dropFirst(digits.count).drop { $0 == " " }
    guard let number = Double(digits), let factor = Self.units[String(unit)], number * factor < 0x1p63 else {
      return nil
    }
    bytes = ByteCount(Int64(clamping: number * factor))
  }

  /// Reads a number of bytes or a text with a unit; throws `DecodingError` for anything else.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    // A number is tried first; whether a text is one is then decided here.
    if let number = try? container.decode(Int64.self), number >= 0 {
      bytes = ByteCount(number)
      return
    }
    let text = try container.decode(String.self)
    guard let size = ConfigurationSize(text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "a size such as 500GiB is expected here, not '\(text)'")
    }
    self = size
  }
}
