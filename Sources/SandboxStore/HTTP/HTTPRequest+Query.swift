import Commerce
import HTTPServer
import PullboxAPI

extension HTTPRequest {
  /// `true` or `false`; false when it is not there.
  func flag(_ name: String) throws(Problem) -> Bool {
    switch queryValue(name) {
    case nil, "false": return false
    case "true": return true
    default: throw Problem(.requestMalformed, "\(name) is true or false")
    }
  }

  /// Nil when it is not there.
  func transaction(_ name: String) throws(Problem) -> TransactionIdentifier? {
    guard let text = queryValue(name) else { return nil }
    guard let identifier = TransactionIdentifier(text) else {
      throw Problem(.requestMalformed, "\(name) names a transaction")
    }
    return identifier
  }
}
