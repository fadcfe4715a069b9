package import HTTPParsing
package import HTTPServer

/// The proxies whose fields about the client are believed; those of any other peer are not.
package struct TrustedProxies: Sendable {
  /// Addresses and blocks of addresses; `unix` is every peer that comes through a Unix socket.
  package var networks: [PeerNetwork] = []

  package init(networks: [PeerNetwork] = []) {
    self.networks = networks
  }

  package func contains(_ peer: PeerAddress) -> Bool { networks.contains { $0.contains(peer) } }

  /// The client of a request that `peer` sent with these fields: `peer` itself unless it is a trusted proxy and the
  /// fields are well formed.
  ///
  /// Each proxy adds the address that sent it the request. From the last entry back, an entry is believed while a
  /// trusted proxy wrote it: the first one that names another peer names the client, and the entries before it are
  /// the client's own claim.
  package func origin(of peer: PeerAddress, _ fields: ForwardingFields) -> RequestOrigin {
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

  /// The client alone, with the fields where a loop has them. `X-Forwarded-For`, which most proxies send, is read where it
  /// stands, without a text; a `Forwarded` field costs as much as in ``origin(of:_:)``, with the same result.
  package func client(of peer: PeerAddress, head: borrowing RequestHead, bytes: Span<UInt8>) -> PeerAddress {
    guard contains(peer) else { return peer }
    if head.hasField("forwarded", in: bytes) {
      return origin(of: peer, ForwardingFields(forwarded: head.values(of: "forwarded", in: bytes))).client
    }
    var chain = ForwardedChain(peer: peer)
    // Of several lines the last was added last.
    var index = head.fieldCount
    while index > 0 {
      index -= 1
      guard head.isNamed("x-forwarded-for", at: index, in: bytes) else { continue }
      guard chain.follow(bytes.extracting(head.field(at: index).value), trusting: self) else { break }
    }
    return chain.client
  }
}

/// Follows lines of `X-Forwarded-For` back from the last one, as long as trusted proxies wrote them.
///
///     var chain = ForwardedChain(peer: proxy)
///     chain.follow("6.6.6.6, 192.0.2.9, 10.1.1.1".utf8.span, trusting: proxies)  // false: earlier lines do not count
///     chain.client  // 192.0.2.9
struct ForwardedChain {
  /// The client, as far as it is known.
  package private(set) var client: PeerAddress

  /// `peer` is a trusted proxy.
  package init(peer: PeerAddress) {
    client = peer
  }

  /// Whether the line before this one is to be believed as well.
  package mutating func follow(_ line: Span<UInt8>, trusting proxies: TrustedProxies) -> Bool {
    var end = line.count
    while true {
      var start = end
      while start > 0, line[start - 1] != UInt8(ascii: ",") { start -= 1 }
      var first = start
      while first < end, Self.isBlank(line[first]) { first += 1 }
      while first < end, Self.isBlank(line[end - 1]) { end -= 1 }
      if first < end {
        // A hidden or unknown client has no address here; the proxy that hides it stands for it.
        guard let address = RequestOrigin.address(line.extracting(first..<end)) else { return false }
        client = address
        guard proxies.contains(address) else { return false }
      }
      guard start > 0 else { return true }
      end = start - 1
    }
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}

/// The client of a request, and the address by which it called this server.
package struct RequestOrigin: Hashable, Sendable {
  package var client: PeerAddress
  /// `http` or `https`, if a proxy said so.
  package var scheme: String?
  /// The host by which the client called the server, with a port unless it is the scheme's.
  package var host: String?

  /// The base URL by which the client called this server, without a slash at its end; nil unless a proxy named both the
  /// scheme and the host.
  package var base: String? {
    guard let scheme, let host else { return nil }
    return "\(scheme)://\(host)"
  }

  /// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`; nil for anything else.
  package static func address(_ text: String) -> PeerAddress? { address(text.utf8.span) }

  package static func address(_ text: Span<UInt8>) -> PeerAddress? {
    if let address = PeerAddress(host: text) { return address }
    guard !text.isEmpty else { return nil }
    if text[0] == UInt8(ascii: "["), let end = position(of: "]", in: text) {
      let host = text.extracting(1..<end)
      if end + 1 == text.count { return PeerAddress(host: host) }
      guard let port = portNumber(text.extracting((end + 1)...)) else { return nil }
      return PeerAddress(host: host, port: port)
    }
    guard let colon = lastColon(in: text), let port = portNumber(text.extracting(colon...)) else {
      return nil
    }
    return PeerAddress(host: text.extracting(..<colon), port: port)
  }

  private static func position(of character: Unicode.Scalar, in text: Span<UInt8>) -> Int? {
    for index in text.indices where text[index] == UInt8(ascii: character) { return index }
    return nil
  }

  private static func lastColon(in text: Span<UInt8>) -> Int? {
    var index = text.count
    while index > 0 {
      index -= 1
      if text[index] == UInt8(ascii: ":") { return index }
    }
    return nil
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

  /// A colon and at least one digit.
  private static func portNumber(_ text: Span<UInt8>) -> UInt16? {
    guard text.count > 1, text[0] == UInt8(ascii: ":") else { return nil }
    var port = 0
    for index in 1..<text.count {
      guard (0x30...0x39).contains(text[index]) else { return nil }
      port = port * 10 + Int(text[index] - 0x30)
      guard port <= UInt16.max else { return nil }
    }
    return UInt16(port)
  }
}
