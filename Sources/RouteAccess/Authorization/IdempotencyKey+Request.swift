import DeliveryModel
import DeliveryRecords
package import HTTPServer
package import PullboxAPI
import PullboxAPIServer

extension IdempotencyKey {
  package static let field = HTTPRequest.idempotencyKeyField

  /// Nil for a request without the field. Throws `request-malformed` for what is not one key.
  package init?(_ request: HTTPRequest, of actor: String) throws(Problem) {
    guard let text = try request.idempotencyKey() else { return nil }
    self.init(actor: actor, text: text)
  }
}
