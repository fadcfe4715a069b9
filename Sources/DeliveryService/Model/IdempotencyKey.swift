import HTTPServer
import PullboxAPI

/// The `Idempotency-Key` of an operator's request (draft-ietf-httpapi-idempotency-key-header). Two operator keys may use
/// the same text for different requests.
struct IdempotencyKey: Hashable, Sendable {
  static let field = "Idempotency-Key"
  static let maximumLength = 255

  /// The name of the operator key.
  var actor: String
  /// What the client made up, without quotation marks.
  var text: String

  /// Nil for a request without the field. Throws `request-malformed` for one with two of them, or for what is neither a
  /// string of RFC 9651 nor the same without its quotation marks.
  init?(_ request: HTTPRequest, of actor: String) throws(Problem) {
    let values = request.headers.values(of: Self.field)
    guard let value = values.first else { return nil }
    let isQuoted = value.utf8.count >= 2 && value.hasPrefix("\"") && value.hasSuffix("\"")
    let text = isQuoted ? String(value.dropFirst().dropLast()) : value
    // Visible characters of ASCII, but for the two that a string of RFC 9651 escapes.
    let isText = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
    guard values.count == 1, isText, (1...Self.maximumLength).contains(text.utf8.count) else {
      throw Problem(
        .requestMalformed, "\(Self.field) is one string of 1 to \(Self.maximumLength) visible characters")
    }
    self.actor = actor
    self.text = text
  }
}
