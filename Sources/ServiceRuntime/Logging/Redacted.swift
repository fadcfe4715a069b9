/// A secret: a key, a token, a receipt. However it is printed, logged, dumped or interpolated, it says
/// `<redacted>`.
public struct Redacted<Value: Sendable>: Sendable {
  /// The secret itself; for the one place that needs it.
  public let revealed: Value

  public init(_ value: Value) {
    revealed = value
  }
}

extension Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "<redacted>" }
  public var debugDescription: String { "<redacted>" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Redacted: Equatable where Value: Equatable {}
extension Redacted: Hashable where Value: Hashable {}

extension Redacted: Decodable where Value: Decodable {
  public init(from decoder: any Decoder) throws {
    revealed = try Value(from: decoder)
  }
}
