/// Names a transaction within its store: 1 to 64 characters of `A-Z a-z 0-9 . _ -` (digits at Apple and in the sandbox,
/// dotted at Google).
public struct TransactionIdentifier: Hashable, Sendable {
  public let text: String

  /// Nil when `text` is not such a name.
  public init?(_ text: String) {
    guard Identifier.isValid(text, maximumLength: 64) else { return nil }
    self.text = text
  }
}

extension TransactionIdentifier: CustomStringConvertible {
  public var description: String { text }
}

extension TransactionIdentifier: TextCodable {}
