import HTTPServer

/// The fields in which proxies speak of their clients. `Forwarded` counts alone where it is there and well formed.
struct ForwardingFields: Sendable {
  var forwarded: [String] = []
  var forwardedFor: [String] = []
  var forwardedScheme: [String] = []
  var forwardedHost: [String] = []

  init(forwarded: [String] = [], for addresses: [String] = [], scheme: [String] = [], host: [String] = []) {
    self.forwarded = forwarded
    forwardedFor = addresses
    forwardedScheme = scheme
    forwardedHost = host
  }

  init(_ request: HTTPRequest) {
    self.init(
      forwarded: request.headers.values(of: "Forwarded"), for: request.headers.values(of: "X-Forwarded-For"),
      scheme: request.headers.values(of: "X-Forwarded-Proto"),
      host: request.headers.values(of: "X-Forwarded-Host"))
  }

  /// In the order in which they were added; none where a `Forwarded` field is there and malformed.
  var hops: [ForwardedElement] {
    if !forwarded.isEmpty { return ForwardedElement.parse(forwarded) ?? [] }
    // These three say nothing of how they belong together: scheme and host are what the last proxy added.
    let scheme = Self.parts(forwardedScheme).last?.lowercased()
    let host = Self.parts(forwardedHost).last
    let clients = Self.parts(forwardedFor)
    guard !clients.isEmpty else {
      return scheme == nil && host == nil ? [] : [ForwardedElement(scheme: scheme, host: host)]
    }
    return clients.map { ForwardedElement(client: $0, scheme: scheme, host: host) }
  }

  private static func parts(_ lines: [String]) -> [String] {
    lines.flatMap { $0.split(separator: ",") }.map { part in
      String(part.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }.filter { !$0.isEmpty }
  }
}
