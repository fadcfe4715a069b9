public import Commerce

/// A gift or promotional code, which a store redeems: letters, digits and hyphens, in capitals. The store knows what it is good for.
public struct GiftCode: Hashable, Sendable, LosslessStringCodable {
  /// Characters, at most.
  public static let maximumLength = 64

  /// The code as the store writes it.
  public let description: String

  /// Takes small letters for capitals, as people type them. Nil for another character, for none, and for more than ``maximumLength``.
  public init?(_ text: String) {
    guard (1...Self.maximumLength).contains(text.utf8.count),
      text.utf8.allSatisfy({ byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
          || byte == 0x2D
      })
    else { return nil }
    description = text.uppercased()
  }
}
