import HTTPServer
import PullboxAPI
import PullboxAPIServer

/// The `Idempotency-Key` of an operator's request. Two operator keys may use the same text for different requests.
struct IdempotencyKey: Hashable, Sendable {
  static let field = HTTPRequest.idempotencyKeyField

  /// The name of the operator key.
  var actor: String
  /// What the client made up, without quotation marks.
  var text: String

  /// Nil for a request without the field. Throws `request-malformed` for what is not one key.
  init?(_ request: HTTPRequest, of actor: String) throws(Problem) {
    guard let text = try request.idempotencyKey() else { return nil }
    self.actor = actor
    self.text = text
  }
}
