public import CoreTypes

/// A value as SQLite stores it: what is bound to a `?`, and what a column holds.
public enum SQLValue: Hashable, Sendable {
  /// No value.
  case null
  /// A signed integer of up to eight bytes.
  case integer(Int64)
  /// An IEEE double.
  case real(Double)
  /// Text, stored as UTF-8; it may hold zero bytes.
  case text(String)
  /// Bytes as they are.
  case blob([UInt8])

  /// An integer of Swift's usual width.
  public static func integer(_ value: Int) -> SQLValue { .integer(Int64(value)) }

  /// 0 or 1.
  public static func boolean(_ value: Bool) -> SQLValue { .integer(value ? Int64(1) : Int64(0)) }

  /// Milliseconds since the epoch.
  public static func timestamp(_ value: Timestamp) -> SQLValue { .integer(value.millisecondsSinceEpoch) }

  /// The number of bytes.
  public static func byteCount(_ value: ByteCount) -> SQLValue { .integer(value.rawValue) }

  /// NULL for nil, else what `make` makes: `.optional(expires, SQLValue.timestamp)`.
  public static func optional<Value>(_ value: Value?, _ make: (Value) -> SQLValue) -> SQLValue {
    value.map(make) ?? .null
  }

  /// Text, or NULL for nil.
  public static func optional(_ value: String?) -> SQLValue { value.map { .text($0) } ?? .null }
  /// A blob, or NULL for nil.
  public static func optional(_ value: [UInt8]?) -> SQLValue { value.map { .blob($0) } ?? .null }
  /// An integer, or NULL for nil.
  public static func optional(_ value: Int64?) -> SQLValue { value.map { .integer($0) } ?? .null }
  /// Milliseconds since the epoch, or NULL for nil.
  public static func optional(_ value: Timestamp?) -> SQLValue { value.map { .timestamp($0) } ?? .null }
}

extension SQLValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
  /// Text.
  public init(stringLiteral value: String) { self = .text(value) }
}

extension SQLValue: ExpressibleByIntegerLiteral {
  /// An integer.
  public init(integerLiteral value: Int64) { self = .integer(value) }
}

extension SQLValue: ExpressibleByFloatLiteral {
  /// A real.
  public init(floatLiteral value: Double) { self = .real(value) }
}

extension SQLValue: ExpressibleByBooleanLiteral {
  /// 0 or 1.
  public init(booleanLiteral value: Bool) { self = .boolean(value) }
}

extension SQLValue: ExpressibleByNilLiteral {
  /// NULL.
  public init(nilLiteral: ()) { self = .null }
}
