/// A secret: a key, a token, a receipt. However it is printed, logged, dumped or interpolated, it says
/// `<redacted>`.
public struct Redacted<Value: Sendable>: Sendable {
  /// The secret itself.
  public let revealed: Value

  /// Wraps a secret.
  public init(_ value: Value) {
    revealed = value
  }
}

extension Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// `<redacted>`.
  public var description: String { "<redacted>" }
  /// `<redacted>`.
  public var debugDescription: String { "<redacted>" }
  /// A mirror without children, so that dump(_:) shows nothing either.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Redacted: Equatable where Value: Equatable {}
extension Redacted: Hashable where Value: Hashable {}

extension Redacted: Decodable where Value: Decodable {
  /// Decodes the secret itself; there is no encoding.
  public init(from decoder: any Decoder) throws {
    revealed = try Value(from: decoder)
  }
}
