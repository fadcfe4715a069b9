public import Commerce

/// Names a download on one device: 1 to 64 characters of `A-Z a-z 0-9 _ -`, so that it can be a part of an address and the
/// name of a folder. The agent makes 16 hexadecimal digits; clients take them as they are.
public struct DownloadIdentifier: Hashable, Sendable, Comparable, TextCodable, CustomStringConvertible {
  public let text: String

  /// Nil when `text` is not such a name.
  public init?(_ text: String) {
    guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else { return nil }
    self.text = text
  }

  public var description: String { text }

  public static func < (left: DownloadIdentifier, right: DownloadIdentifier) -> Bool {
    left.text < right.text
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
    default: false
    }
  }
}
