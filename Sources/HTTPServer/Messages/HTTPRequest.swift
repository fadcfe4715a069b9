public import HTTPParsing

/// A request as an ``AsyncHandler`` sees it: its head checked and decoded, its body still to be read.
///
/// The head has passed the ``RequestParser``; path and query are percent-decoded into ``pathSegments`` and
/// ``query``, which are what a handler should look at. The ``body`` arrives while it is read. Tests of
/// handlers make requests themselves:
///
/// ```swift
/// let request = try HTTPRequest(
///   method: .put, rawTarget: "/v1/products/tea?dry-run=1", headers: ["Content-Type": "application/json"],
///   body: RequestBody(Array("{}".utf8)))
/// request.pathSegments  // ["v1", "products", "tea"]
/// request.queryValue("dry-run")  // "1"
/// ```
public struct HTTPRequest: Sendable {
  /// The method; any token.
  public var method: HTTPMethod
  /// The target as received: origin-form, percent-encoded, with its query. An absolute-form
  /// target is cut to what follows its authority.
  public var rawTarget: String
  /// The path of the target, still percent-encoded; starts with `/` (or is `*` with `OPTIONS`).
  public var path: String
  /// The parts of the path between slashes, percent-decoded. A part that decodes to bytes that are not UTF-8,
  /// to a control character or to a slash never gets here: such a request is answered 400. Below one of
  /// ``HTTPServerConfiguration/undividedPaths`` the rest is one part, which may have slashes.
  public var pathSegments: [String]
  /// The parameters of the query in order, `+` read as a space and percent-decoded.
  public var query: [QueryParameter]
  /// The header fields as received.
  public var headers: HTTPFields
  /// The content; read it at most once.
  public var body: RequestBody
  /// Where the request came from; ``PeerAddress/unix`` for a request that no connection brought.
  public var peer = PeerAddress.unix
  /// The process that sent the request over a Unix socket. Nil unless
  /// ``HTTPServerConfiguration/readsPeerCredentials`` asks for it, and for other sockets.
  public var credentials: PeerCredentials?
  /// Whether it came over TLS.
  public var isSecure = false
  /// Unique within the life of the process; put it into logs.
  public var id: String
  /// The postponement that the handler answered with before, when it is asked again.
  public var postponement: (any ResponsePostponement)?
  /// Its way back to the connection; nil for a request that no connection brought.
  var exchange: Exchange?

  /// A request that no connection brought. Throws ``RequestTargetError`` when `rawTarget` does not start with
  /// a slash or does not decode. `undividedPaths` are those of the server that is to answer it.
  public init(
    method: HTTPMethod, rawTarget: String, headers: HTTPFields = [:], body: RequestBody = .empty,
    id: String = "0", undividedPaths: [String] = []
  ) throws(RequestTargetError) {
    let target = try RequestTarget(rawTarget, undividedPaths: undividedPaths)
    self.method = method
    self.rawTarget = rawTarget
    self.path = target.path
    self.pathSegments = target.segments
    self.query = target.query
    self.headers = headers
    self.body = body
    self.id = id
  }

  /// Sends an interim response (RFC 9110 §15.2) at once: 102 to 199. Does nothing for an HTTP/1.0 client,
  /// once a response was returned, when the peer is gone, or when it takes so little that interim responses
  /// pile up. The engine sends 100 by itself when a body is read.
  public func sendInterim(_ status: HTTPStatus, headers: HTTPFields = [:]) async {
    precondition(
      (102...199).contains(status.rawValue), "\(status) is not an interim response for a handler to send")
    exchange?.sendInterim(EncodedResponseHead.interim(status, headers: headers))
  }

  /// The first parameter of that name in the query.
  public func queryValue(_ name: String) -> String? {
    query.first { $0.name == name }?.value
  }

  /// Every parameter of that name in the query, in order.
  public func queryValues(_ name: String) -> [String] {
    query.filter { $0.name == name }.map(\.value)
  }
}
