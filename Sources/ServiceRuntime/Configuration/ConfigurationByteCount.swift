public import Measures

/// A number of bytes in a configuration: a whole number, or a text such as `512KiB`, `64MiB`, `1.5GiB`, `10MB`.
public struct ConfigurationByteCount: Hashable, Sendable, Decodable {
  public var bytes: ByteCount

  public init(_ bytes: ByteCount) {
    self.bytes = bytes
  }

  /// Nil when `text` is no number of bytes, a negative one, or one past a few exabytes.
  public init?(_ text: String) {
    let digits = text.prefix { $0.isNumber || $0 == "." }
    let unit: Double
    switch text.dropFirst(digits.count).drop(while: { $0 == " " }) {
    case "", "B": unit = 1
    case "KiB": unit = 1024
    case "MiB": unit = 1_048_576
    case "GiB": unit = 1_073_741_824
    case "TiB": unit = 1_099_511_627_776
    case "kB": unit = 1000
    case "MB": unit = 1_000_000
    case "GB": unit = 1_000_000_000
    case "TB": unit = 1_000_000_000_000
    default: return nil
    }
    guard let number = Double(digits), number * unit < 9e18 else { return nil }
    bytes = ByteCount(Int64(number * unit))
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    // A number is tried first; whether a text is one is then decided here.
    if let number = try? container.decode(Int64.self), number >= 0 {
      bytes = ByteCount(number)
      return
    }
    let text = try container.decode(String.self)
    guard let value = ConfigurationByteCount(text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "a number of bytes such as 64MiB is expected here, not '\(text)'")
    }
    self = value
  }
}
