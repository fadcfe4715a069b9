/// Names a publisher's signing key: the SHA-256 of the raw Ed25519 public key, 64 lower-case hexadecimal digits.
public struct PublisherKeyIdentifier: Hashable, Sendable {
  public let text: String

  /// Nil when `text` is not such a name.
  public init?(_ text: String) {
    let isDigit: (UInt8) -> Bool = { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    guard text.utf8.count == 64, text.utf8.allSatisfy(isDigit) else { return nil }
    self.text = text
  }
}

extension PublisherKeyIdentifier: Comparable {
  public static func < (left: PublisherKeyIdentifier, right: PublisherKeyIdentifier) -> Bool {
    left.text < right.text
  }
}

extension PublisherKeyIdentifier: CustomStringConvertible {
  public var description: String { text }
}

extension PublisherKeyIdentifier: TextCodable {}
