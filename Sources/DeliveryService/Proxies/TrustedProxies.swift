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

/// Who asked, and how they call this server.
struct RequestOrigin: Hashable, Sendable {
  var client: PeerAddress
  /// `http` or `https`, where a proxy said so.
  var scheme: String?
  /// As the client calls the server, with a port where that is not the scheme's.
  var host: String?

  /// What the client puts before paths; nil where no proxy said both.
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

  /// Whether it can stand in a URL as host and port: nothing that would end it or begin something else.
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
