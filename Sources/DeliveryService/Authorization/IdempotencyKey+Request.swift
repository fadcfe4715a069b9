import DeliveryRecords
import HTTPServer
import PullboxAPI
import PullboxAPIServer

extension IdempotencyKey {
  static let field = HTTPRequest.idempotencyKeyField

  /// Nil for a request without the field. Throws `request-malformed` for what is not one key.
  init?(_ request: HTTPRequest, of actor: String) throws(Problem) {
    guard let text = try request.idempotencyKey() else { return nil }
    self.init(actor: actor, text: text)
  }
}
