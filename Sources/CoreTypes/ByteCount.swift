/// A number of bytes: a length, an offset, a limit.
///
/// It keeps bytes apart from other integers, and its factories make units visible. Never negative when it
/// comes from a parser of this project; a difference may be. In JSON it is a plain number.
///
/// ```swift
/// let limit = ByteCount.mebibytes(64)
/// let rest = limit - ByteCount(bytes.count)
/// print(rest)  // 63.2 MiB
/// ```
public struct ByteCount: RawRepresentable, Hashable, Comparable, Sendable, Codable {
  /// The number of bytes.
  public var rawValue: Int64

  /// A count from its number.
  public init(rawValue: Int64) {
    self.rawValue = rawValue
  }

  /// A count from any integer; traps beyond an `Int64`.
  public init(_ value: some BinaryInteger) {
    rawValue = Int64(value)
  }

  /// No bytes.
  public static let zero = ByteCount(0)

  /// `count` × 1024 bytes.
  public static func kibibytes(_ count: Int64) -> ByteCount { ByteCount(count << 10) }

  /// `count` × 1,048,576 bytes.
  public static func mebibytes(_ count: Int64) -> ByteCount { ByteCount(count << 20) }

  /// `count` × 1,073,741,824 bytes.
  public static func gibibytes(_ count: Int64) -> ByteCount { ByteCount(count << 30) }

  /// Compares the numbers.
  public static func < (left: ByteCount, right: ByteCount) -> Bool { left.rawValue < right.rawValue }
  /// Traps on overflow.
  public static func + (left: ByteCount, right: ByteCount) -> ByteCount {
    ByteCount(left.rawValue + right.rawValue)
  }
  /// Traps on overflow; may be negative.
  public static func - (left: ByteCount, right: ByteCount) -> ByteCount {
    ByteCount(left.rawValue - right.rawValue)
  }
  /// Traps on overflow.
  public static func += (left: inout ByteCount, right: ByteCount) { left.rawValue += right.rawValue }

  /// Reads a JSON number.
  public init(from decoder: any Decoder) throws {
    rawValue = try decoder.singleValueContainer().decode(Int64.self)
  }

  /// Writes a JSON number.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}

extension ByteCount: CustomStringConvertible {
  /// For people: `17 B`, `3.2 KiB`, `1.9 GiB`; one decimal, binary units.
  public var description: String {
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB"]
    let magnitude = rawValue.magnitude
    guard magnitude >= 1024 else { return "\(rawValue) B" }
    var unit = 0
    var divisor: UInt64 = 1024
    // The comparison is with what would be printed as 1024.0 of the smaller unit.
    while unit < units.count - 1, magnitude >= divisor * 1024 - divisor / 20 {
      divisor *= 1024
      unit += 1
    }
    let tenths = (magnitude / divisor) * 10 + ((magnitude % divisor) * 10 + divisor / 2) / divisor
    return "\(rawValue < 0 ? "-" : "")\(tenths / 10).\(tenths % 10) \(units[unit])"
  }
}
