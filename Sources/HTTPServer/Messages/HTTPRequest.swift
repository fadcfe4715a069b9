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

/// One `name=value` of a query, decoded. `name` alone has an empty value.
public struct QueryParameter: Sendable, Hashable {
  /// The part before the first `=`, decoded.
  public var name: String
  /// The part after the first `=`, decoded; empty without one.
  public var value: String

  /// A parameter that is decoded already.
  public init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}

/// Path and query of an origin-form target, decoded.
struct RequestTarget {
  let path: String
  let segments: [String]
  let query: [QueryParameter]

  init(_ target: String, undividedPaths: [String] = []) throws(RequestTargetError) {
    let parts = target.utf8.split(separator: ASCII.question, maxSplits: 1, omittingEmptySubsequences: false)
    let rawPath = parts.first.map(Array.init) ?? []
    path = String(decoding: rawPath, as: UTF8.self)
    var segments: [String] = []
    if path != "*" {
      guard rawPath.first == ASCII.slash else { throw RequestTargetError() }
      let undivided = undividedPaths.first { rawPath.starts(with: $0.utf8) }
      var divided = rawPath[...]
      if let undivided { divided = rawPath.prefix(undivided.utf8.count - 1) }
      for part in divided.dropFirst().split(separator: ASCII.slash, omittingEmptySubsequences: false) {
        segments.append(try RequestTarget.segment(part, mayHaveSlashes: false))
      }
      if let undivided {
        segments.append(
          try RequestTarget.segment(rawPath.dropFirst(undivided.utf8.count), mayHaveSlashes: true))
      }
    }
    self.segments = segments
    var query: [QueryParameter] = []
    if parts.count > 1 {
      for pair in parts[1].split(separator: UInt8(ascii: "&")) {
        let sides = pair.split(separator: ASCII.equals, maxSplits: 1, omittingEmptySubsequences: false)
        query.append(
          QueryParameter(
            name: try RequestTarget.decode(sides[0], plusIsSpace: true),
            value: sides.count > 1 ? try RequestTarget.decode(sides[1], plusIsSpace: true) : ""))
      }
    }
    self.query = query
  }

  /// A control character, or a slash between segments, that hid behind an escape would mean two things to two readers.
  private static func segment(
    _ bytes: some Collection<UInt8>, mayHaveSlashes: Bool
  ) throws(RequestTargetError) -> String {
    let segment = try decode(bytes, plusIsSpace: false)
    let isUnambiguous = segment.utf8.allSatisfy { byte in
      byte >= ASCII.space && byte != 0x7F && (mayHaveSlashes || byte != ASCII.slash)
    }
    guard isUnambiguous else { throw RequestTargetError() }
    return segment
  }

  private static func decode(
    _ bytes: some Collection<UInt8>, plusIsSpace: Bool
  ) throws(RequestTargetError) -> String {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(bytes.count)
    var iterator = bytes.makeIterator()
    while let byte = iterator.next() {
      if byte == ASCII.percent {
        guard let high = iterator.next().flatMap(ASCII.hexadecimalValue),
          let low = iterator.next().flatMap(ASCII.hexadecimalValue)
        else { throw RequestTargetError() }
        decoded.append(high << 4 | low)
      } else {
        decoded.append(byte == ASCII.plus && plusIsSpace ? ASCII.space : byte)
      }
    }
    guard let text = String(validating: decoded, as: UTF8.self) else { throw RequestTargetError() }
    return text
  }
}

/// A request target that does not decode to text.
public struct RequestTargetError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A sentence without a full stop.
  public var description: String { "the request target does not decode to text" }
}
