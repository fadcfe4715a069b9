package import HTTPServer
package import PullboxAPIServer

/// Takes the routes that need no operator's key. What a request must prove instead, a ticket for example, its responder checks.
package protocol PublicRoutes {
  /// Adds a route. With `query`, parameters of other names are refused, and so is one that occurs twice and is not among
  /// `repeatable`; without, they are the responder's to read.
  mutating func `public`(
    _ method: HTTPMethod, _ pattern: String, query: Set<String>?, repeatable: Set<String>,
    use responder: @escaping APIRoutes.Responder)
}

extension PublicRoutes {
  /// Adds a route that takes each parameter once, or whose responder reads what it knows of the query.
  package mutating func `public`(
    _ method: HTTPMethod, _ pattern: String, query: Set<String>? = nil,
    use responder: @escaping APIRoutes.Responder
  ) {
    self.public(method, pattern, query: query, repeatable: [], use: responder)
  }
}
