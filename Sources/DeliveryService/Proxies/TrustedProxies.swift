import HTTPServer

/// The proxies whose fields about the client are believed; those of any other peer are not.
struct TrustedProxies: Sendable {
  /// Addresses and blocks of addresses; `unix` is every peer that comes through a Unix socket.
  var networks: [PeerNetwork] = []

  func contains(_ peer: PeerAddress) -> Bool { networks.contains { $0.contains(peer) } }

  /// The client of a request that `peer` sent with these fields: `peer` itself unless it is a trusted proxy and the
  /// fields are well formed.
  ///
  /// Each proxy adds the address that sent it the request. From the last entry back, an entry is believed while a
  /// trusted proxy wrote it: the first one that names another peer names the client, and the entries before it are
  /// the client's own claim.
  func origin(of peer: PeerAddress, _ fields: ForwardingFields) -> RequestOrigin {
    var origin = RequestOrigin(client: peer)
    guard contains(peer) else { return origin }
    for hop in fields.hops.reversed() {
      origin.scheme = hop.scheme.flatMap { ["http", "https"].contains($0) ? $0 : nil } ?? origin.scheme
      origin.host = hop.host.flatMap { RequestOrigin.isHost($0) ? $0 : nil } ?? origin.host
      // A hidden or unknown client has no address here; the proxy that hides it stands for it.
      guard let client = hop.client.flatMap(RequestOrigin.address) else { return origin }
      origin.client = client
      guard contains(client) else { return origin }
    }
    return origin
  }
}

/// The client of a request, and the address by which it called this server.
struct RequestOrigin: Hashable, Sendable {
  var client: PeerAddress
  /// `http` or `https`, if a proxy said so.
  var scheme: String?
  /// The host by which the client called the server, with a port unless it is the scheme's.
  var host: String?

  /// What the client puts before paths; nil unless a proxy said both.
  var base: String? {
    guard let scheme, let host else { return nil }
    return "\(scheme)://\(host)"
  }

  /// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`; nil for anything else.
  static func address(_ text: String) -> PeerAddress? {
    if let address = PeerAddress(host: text) { return address }
    guard let colon = text.lastIndex(of: ":") ?? text.indices.last else { return nil }
    if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
      let rest = text[text.index(after: end)...]
      guard rest.isEmpty || isPort(rest) else { return nil }
      return PeerAddress(
        host: String(text[text.index(after: text.startIndex)..<end]), port: UInt16(rest.dropFirst()) ?? 0)
    }
    guard isPort(text[colon...]) else { return nil }
    return PeerAddress(host: String(text[..<colon]), port: UInt16(text[colon...].dropFirst()) ?? 0)
  }

  /// Whether it can be host and port of a URL: without a byte that would end them or begin another component.
  static func isHost(_ text: String) -> Bool {
    (1...260).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x3A, 0x41...0x5B, 0x5D, 0x5F, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."): true
        default: false
        }
      }
  }

  private static func isPort(_ text: Substring) -> Bool {
    text.first == ":" && text.dropFirst().allSatisfy { $0.isASCII && $0.isNumber }
      && UInt16(text.dropFirst()) != nil
  }
}
