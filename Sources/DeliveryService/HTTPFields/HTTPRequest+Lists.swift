import HTTPServer
import PullboxAPI
import PullboxAPIServer

/// The query of a request for a list.
extension HTTPRequest {
  /// The cursor at which the page before ended; nil for the first page. Throws `request-malformed` if `make` does
  /// not know the text.
  func cursor<Value>(_ name: String, _ make: (String) -> Value?) throws(Problem) -> Value? {
    guard let text = queryValue(name) else { return nil }
    guard let value = make(text) else {
      throw Problem(.requestMalformed, "\(name) is the next of the page before")
    }
    return value
  }

  /// The value that the list is narrowed to; nil without one. Throws `request-malformed` if `make` does not know
  /// the text.
  func filter<Value>(_ name: String, _ make: (String) -> Value?) throws(Problem) -> Value? {
    guard let text = queryValue(name) else { return nil }
    guard let value = make(text) else { throw Problem(.requestMalformed, "\(name) cannot be '\(text)'") }
    return value
  }
}
