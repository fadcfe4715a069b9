/// Names a product (`com.example.heroes.issue42`): 1 to 255 characters of `A-Z a-z 0-9 . _ -`, not starting with a dot,
/// so that it is also safe as a path segment and in a URL.
public struct ProductIdentifier: Hashable, Comparable, Sendable {
  public let text: String

  /// Nil when `text` is not such a name.
  public init?(_ text: String) {
    guard Identifier.isValid(text, maximumLength: 255) else { return nil }
    self.text = text
  }

  public static func < (left: ProductIdentifier, right: ProductIdentifier) -> Bool { left.text < right.text }
}

extension ProductIdentifier: CustomStringConvertible {
  public var description: String { text }
}

extension ProductIdentifier: TextCodable {}
