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
