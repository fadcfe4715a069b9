import PullboxAPIServer
import HTTPServer
import PullboxAPI

/// What requests for lists carry in their query.
extension HTTPRequest {
  /// Where the page before ended; nil for the first page. Throws `request-malformed` for what no page's `next` says.
  func cursor<Value>(_ name: String, _ make: (String) -> Value?) throws(Problem) -> Value? {
    guard let text = queryValue(name) else { return nil }
    guard let value = make(text) else {
      throw Problem(.requestMalformed, "\(name) is the next of the page before")
    }
    return value
  }

  /// What the list is narrowed to; nil where it is not. Throws `request-malformed` for a value that there cannot be.
  func filter<Value>(_ name: String, _ make: (String) -> Value?) throws(Problem) -> Value? {
    guard let text = queryValue(name) else { return nil }
    guard let value = make(text) else { throw Problem(.requestMalformed, "\(name) cannot be '\(text)'") }
    return value
  }
}
