import CoreTypes

/// The value of a field of a log line.
public enum LogValue: Hashable, Sendable {
  case text(String)
  case integer(Int64)
  case number(Double)
  case boolean(Bool)
  case null
}

extension LogValue {
  public init(_ text: String) { self = .text(text) }
  public init(_ text: String?) { self = text.map { .text($0) } ?? .null }
  public init(_ value: some BinaryInteger) { self = .integer(Int64(clamping: value)) }
  public init(_ value: Double) { self = .number(value) }
  public init(_ value: Bool) { self = .boolean(value) }
  public init(_ error: any Error) { self = .text("\(error)") }
  /// Seconds with milliseconds.
  public init(_ duration: Duration) { self = .number(Double(duration.milliseconds) / 1000) }
  public init(_ value: some CustomStringConvertible) { self = .text(value.description) }
}

extension LogValue: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
  public init(stringLiteral value: String) { self = .text(value) }
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(floatLiteral value: Double) { self = .number(value) }
  public init(booleanLiteral value: Bool) { self = .boolean(value) }
  public init(nilLiteral: ()) { self = .null }
}
