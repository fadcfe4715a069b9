public import Commerce

/// Names the app that asked for something, so that an app that starts finds its own: 1 to 64 characters of `A-Z a-z 0-9 . _ -`, such as
/// `org.example.Reader`. The app chooses it; it gives no right to anything.
public struct SessionName: Hashable, Sendable, LosslessStringCodable {
  /// The name.
  public let description: String

  /// Nil when `text` is not such a name.
  public init?(_ text: String) {
    guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else { return nil }
    description = text
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
    default: false
    }
  }
}
