/// Names a payment store (`sandbox`, `apple`, `google`): 1 to 64 characters of `A-Z a-z 0-9 . _ -`.
public struct StoreIdentifier: Hashable, Sendable {
  public let text: String

  public static let sandbox = StoreIdentifier(known: "sandbox")
  public static let apple = StoreIdentifier(known: "apple")
  public static let google = StoreIdentifier(known: "google")

  /// Nil when `text` is not such a name.
  public init?(_ text: String) {
    guard Identifier.isValid(text, maximumLength: 64) else { return nil }
    self.text = text
  }

  private init(known text: String) {
    self.text = text
  }
}

extension StoreIdentifier: CustomStringConvertible {
  public var description: String { text }
}

extension StoreIdentifier: TextCodable {}
