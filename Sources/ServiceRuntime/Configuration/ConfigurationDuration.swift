/// A duration in a configuration: a number of seconds, or a text such as `250ms`, `30s`, `5m`, `2h`, `7d`.
public struct ConfigurationDuration: Hashable, Sendable, Decodable {
  /// Zero or more.
  public var duration: Duration

  /// A duration that is known already.
  public init(_ duration: Duration) {
    self.duration = duration
  }

  /// Nil when `text` is not a duration, or a negative one.
  public init?(_ text: String) {
    let digits = text.prefix { $0.isNumber || $0 == "." || $0 == "-" }
    guard let value = Double(digits), value >= 0, value < 1e9 else { return nil }
    switch text.dropFirst(digits.count).drop(while: { $0 == " " }) {
    case "ms": duration = .seconds(value / 1000)
    case "s", "": duration = .seconds(value)
    case "m", "min": duration = .seconds(value * 60)
    case "h": duration = .seconds(value * 3600)
    case "d": duration = .seconds(value * 86_400)
    default: return nil
    }
  }

  /// Reads a number of seconds or a text with a unit; throws `DecodingError` for anything else.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    // A number is tried first; whether a text is one is then decided here.
    if let seconds = try? container.decode(Double.self), seconds >= 0, seconds < 1e9 {
      duration = .seconds(seconds)
      return
    }
    let text = try container.decode(String.self)
    guard let value = ConfigurationDuration(text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "a duration such as 30s is expected here, not '\(text)'")
    }
    self = value
  }
}
