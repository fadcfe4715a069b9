import HTTPServer

/// The proxies whose word on the client counts; nobody else's does.
struct TrustedProxies: Sendable {
  /// Addresses and blocks of addresses; `unix` is whoever comes through a Unix socket.
  var networks: [PeerNetwork] = []

  func contains(_ peer: PeerAddress) -> Bool { networks.contains { $0.contains(peer) } }

  /// What is known of the client of a request that `peer` sent with these fields. Nothing but `peer` where that is no
  /// proxy, or where the fields make no sense.
  ///
  /// Each proxy adds who sent it the request. From the last entry back, entries count as long as a trusted proxy wrote
  /// them: the first that names somebody else names the client, whatever stands before it was the client's own invention.
  func origin(of peer: PeerAddress, _ fields: ForwardingFields) -> RequestOrigin {
    var origin = RequestOrigin(client: peer)
    guard contains(peer) else { return origin }
    for hop in fields.hops.reversed() {
      origin.scheme = hop.scheme.flatMap { ["http", "https"].contains($0) ? $0 : nil } ?? origin.scheme
      origin.host = hop.host.flatMap { RequestOrigin.isHost($0) ? $0 : nil } ?? origin.host
      // A hidden or unknown client is nobody's address; the proxy that hides it stands for it.
      guard let client = hop.client.flatMap(RequestOrigin.address) else { return origin }
      origin.client = client
      guard contains(client) else { return origin }
    }
    return origin
  }
}

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
