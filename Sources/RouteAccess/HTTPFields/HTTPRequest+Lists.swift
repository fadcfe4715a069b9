import CoreTypes
import HTTPParsing
package import HTTPServer
package import PullboxAPI
import PullboxAPIServer

/// The query of a request for a list.
extension HTTPRequest {
  /// Entries of a page, at most.
  static let maximumPage = 200
  /// The parameters that every list in pages has.
  package static let pageQuery: Set<String> = ["limit", "after"]

  /// How many entries the page is to have: `limit`, 50 without it.
  package func pageLimit() throws(Problem) -> Int {
    try number("limit", in: 1...Self.maximumPage, default: 50)
  }

  /// The cursor at which the page before ended; nil for the first page. Throws `request-malformed` if `make` does
  /// not know the text.
  package func cursor<Value>(_ name: String, _ make: (String) -> Value?) throws(Problem) -> Value? {
    guard let text = queryValue(name) else { return nil }
    guard let value = make(text) else { throw Problem.unknownCursor }
    return value
  }

  /// The value that the list is narrowed to; nil without one. Throws `request-malformed` if `make` does not know
  /// the text.
  package func filter<Value>(_ name: String, _ make: (String) -> Value?) throws(Problem) -> Value? {
    guard let text = queryValue(name) else { return nil }
    guard let value = make(text) else { throw Problem(.requestMalformed, "\(name) cannot be '\(text)'") }
    return value
  }
}

extension Problem {
  /// The answer to a list's `after` at which no page can have ended.
  package static let unknownCursor = Problem(.requestMalformed, "after is the next of the page before")
}

extension HTTPResponse {
  /// One page of a list, with `Link: <…>; rel="next"` (RFC 8288) where another follows: the address of `request` with
  /// another `after`. Throws what the encoder throws.
  package static func page<Item>(_ page: Page<Item>, of request: HTTPRequest) throws -> HTTPResponse {
    var response = try json(page)
    if let next = page.next {
      let parameters =
        request.query.filter { $0.name != "after" } + [QueryParameter(name: "after", value: next)]
      let query = parameters.map { "\($0.name.percentEncoded)=\($0.value.percentEncoded)" }
      response.headers["Link"] = "<\(request.path)?\(query.joined(separator: "&"))>; rel=\"next\""
    }
    return response
  }
}
