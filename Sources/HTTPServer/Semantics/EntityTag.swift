/// An entity tag as it stands in a field (RFC 9110 §8.8.3).
public struct EntityTag: Hashable, Sendable {
  public let isWeak: Bool
  /// Without the quotes.
  public let opaque: [UInt8]

  public init(_ opaque: String, isWeak: Bool = false) {
    self.isWeak = isWeak
    self.opaque = Array(opaque.utf8)
  }
}
