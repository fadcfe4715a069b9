/// The `Idempotency-Key` of an operator's request. Two operator keys may use the same text for different requests.
package struct IdempotencyKey: Hashable, Sendable {
  /// The name of the operator key.
  package var actor: String
  /// The text that the client made up, without quotation marks.
  package var text: String

  /// `text` is what the field holds between its quotation marks.
  package init(actor: String, text: String) {
    self.actor = actor
    self.text = text
  }
}
