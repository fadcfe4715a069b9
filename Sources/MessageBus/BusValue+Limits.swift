/// The bounds of a message's values, for what comes and what is sent.
public struct BusLimits: Hashable, Sendable {
  /// Bytes of all values: of a text its length, of another basic value its width.
  public var bytes: Int
  /// Values of all kinds.
  public var values: Int
  /// Containers in one another.
  public var depth: Int

  /// Bounds from their numbers.
  public init(bytes: Int, values: Int, depth: Int) {
    self.bytes = bytes
    self.values = values
    self.depth = depth
  }

  /// Answers that are read, signals, and calls that are made: 1 MiB, 65,536 values, 16 containers in one another.
  public static let message = BusLimits(bytes: 1 << 20, values: 1 << 16, depth: 16)
  /// Answers that a service gives: 4 MiB, 262,144 values, 16 containers in one another.
  public static let answer = BusLimits(bytes: 4 << 20, values: 1 << 18, depth: 16)
  /// Calls of others: 64 KiB, 4,096 values, 8 containers in one another.
  public static let request = BusLimits(bytes: 1 << 16, values: 1 << 12, depth: 8)
}

/// The part of a message's bounds that is left while its values are counted.
struct BusAllowance {
  private(set) var bytes: Int
  private(set) var values: Int
  let depth: Int

  init(_ limits: BusLimits) {
    bytes = limits.bytes
    values = limits.values
    depth = limits.depth
  }

  /// Takes one value of so many bytes. Throws `tooLarge`.
  mutating func take(bytes count: Int, depth: Int) throws(BusError) {
    guard count <= bytes, values > 0, depth <= self.depth else {
      throw BusError(.tooLarge, "a message is longer or deeper than what is taken")
    }
    bytes -= count
    values -= 1
  }
}

extension BusValue {
  /// Returns the bytes of the value as ``BusLimits`` counts them. Throws `invalidValue` for a value that no message can hold, and
  /// `tooLarge`.
  static func length(of values: [BusValue], within limits: BusLimits) throws(BusError) -> Int {
    var allowance = BusAllowance(limits)
    for value in values { try value.count(into: &allowance, depth: 0) }
    return limits.bytes - allowance.bytes
  }

  private func count(into allowance: inout BusAllowance, depth: Int) throws(BusError) {
    switch self {
    case .byte: try allowance.take(bytes: 1, depth: depth)
    case .int16, .uint16: try allowance.take(bytes: 2, depth: depth)
    case .boolean, .int32, .uint32, .descriptor: try allowance.take(bytes: 4, depth: depth)
    case .int64, .uint64, .double: try allowance.take(bytes: 8, depth: depth)
    case .string(let text):
      try allowance.take(bytes: text.utf8.count, depth: depth)
      guard !text.utf8.contains(0) else { throw BusError(.invalidValue, "a text has a zero byte") }
    case .path(let path): try allowance.take(bytes: path.description.utf8.count, depth: depth)
    case .signature(let text):
      try allowance.take(bytes: text.utf8.count, depth: depth)
      guard BusType.list(text) != nil else { throw BusError(.invalidValue, "\(text) is no signature") }
    case .bytes(let bytes): try allowance.take(bytes: bytes.count, depth: depth)
    case .array(let type, let elements):
      try allowance.take(bytes: 4, depth: depth)
      for element in elements {
        try element.count(into: &allowance, depth: depth + 1)
        try element.check(is: type)
      }
    case .structure(let members):
      try allowance.take(bytes: 0, depth: depth)
      guard !members.isEmpty else { throw BusError(.invalidValue, "a structure has no member") }
      for member in members { try member.count(into: &allowance, depth: depth + 1) }
    case .dictionary(let key, let value, let entries):
      try allowance.take(bytes: 4, depth: depth)
      for entry in entries {
        try entry.key.count(into: &allowance, depth: depth + 1)
        try entry.value.count(into: &allowance, depth: depth + 1)
        try entry.key.check(is: key)
        try entry.value.check(is: value)
      }
      guard BusType("a{\(key)\(value)}") != nil else {
        throw BusError(.invalidValue, "\(key) is no type of a key")
      }
    case .variant(let value):
      try allowance.take(bytes: 4, depth: depth)
      try value.count(into: &allowance, depth: depth + 1)
    }
  }

  private func check(is type: BusType) throws(BusError) {
    guard self.type == type else {
      throw BusError(.invalidValue, "a value of type \(self.type) is among those of type \(type)")
    }
  }
}
