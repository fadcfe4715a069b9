import PullboxAPI

/// A value with its JSON, as tables keep it. It is encoded before the write that keeps it, which may have a hundred thousand of them:
/// other writes wait meanwhile.
package struct EncodedDocument<Value: Encodable & Sendable>: Sendable {
  /// The value that ``text`` spells.
  package let value: Value
  /// The JSON, in the form of ``APIJSON``.
  package let text: String

  /// Encodes the value. Throws `EncodingError`.
  package init(_ value: Value) throws {
    self.value = value
    text = String(decoding: try APIJSON.encode(value), as: UTF8.self)
  }

  /// `text` is what ``init(_:)`` made of the same value before.
  package init(_ value: Value, written text: String) {
    self.value = value
    self.text = text
  }
}

extension EncodedDocument where Value: Decodable {
  /// `text` has to be what ``init(_:)`` made. Throws `DecodingError` for what is no such value.
  package init(decoding text: String) throws {
    value = try APIJSON.decode(Value.self, from: Array(text.utf8))
    self.text = text
  }
}
