import HTTPServer
import Testing

@testable import ContentDelivery

@Suite("Forwarding fields of proxies")
struct ForwardingTests {
  private func peer(_ text: String) throws -> PeerAddress { try #require(PeerAddress(host: text)) }

  private func trusting(_ networks: String...) throws -> TrustedProxies {
    TrustedProxies(networks: try networks.map { try #require(PeerNetwork($0)) })
  }

  @Test("the examples of RFC 7239 §4 are read as it explains them")
  func examples() {
    #expect(ForwardedElement.parse(["for=\"_gazonk\""]) == [ForwardedElement(client: "_gazonk")])
    #expect(
      ForwardedElement.parse(["For=\"[2001:db8:cafe::17]:4711\""])
        == [ForwardedElement(client: "[2001:db8:cafe::17]:4711")])
    #expect(
      ForwardedElement.parse(["for=192.0.2.60;proto=http;by=203.0.113.43"])
        == [ForwardedElement(client: "192.0.2.60", scheme: "http")])
    #expect(
      ForwardedElement.parse(["for=192.0.2.43, for=198.51.100.17"])
        == [ForwardedElement(client: "192.0.2.43"), ForwardedElement(client: "198.51.100.17")])
    #expect(
      ForwardedElement.parse(["for=192.0.2.43", "for=\"[2001:db8:cafe::17]\";host=example.com"])?.count == 2)
  }

  @Test(
    "a field that breaks the grammar is ignored",
    arguments: [
      "", "for", "for=", "for=1.2.3.4;for=5.6.7.8", "for=[2001:db8::1]", "for=\"1.2.3.4", "for=a b", "=a",
      "for = 1.2.3.4", "for=1.2.3.4 for=5.6.7.8", ";;",
    ])
  func malformed(field: String) {
    #expect(ForwardedElement.parse([field]) == nil)
  }

  @Test("a peer that is no trusted proxy is the client, whatever its fields say")
  func untrusted() throws {
    let proxies = try trusting("10.0.0.0/8")
    let fields = ForwardingFields(forwarded: ["for=1.2.3.4;proto=https;host=evil.example"])
    let origin = proxies.origin(of: try peer("192.0.2.1"), fields)
    #expect(origin == RequestOrigin(client: try peer("192.0.2.1")))
    #expect(origin.base == nil)
  }

  @Test("the last address that no trusted proxy has is the client; the entries before it are not believed")
  func rightmostUntrusted() throws {
    let proxies = try trusting("10.0.0.0/8", "unix")
    let fields = ForwardingFields(
      for: ["6.6.6.6, 192.0.2.9", "10.1.1.1"], scheme: ["https"], host: ["pull.example:8443"])
    for proxy in [try peer("10.2.2.2"), .unix] {
      let origin = proxies.origin(of: proxy, fields)
      #expect(origin.client == (try peer("192.0.2.9")))
      #expect(origin.base == "https://pull.example:8443")
    }
  }

  @Test("Forwarded is used alone; malformed, it hides the other fields too")
  func precedence() throws {
    let proxies = try trusting("10.0.0.0/8")
    let proxy = try peer("10.2.2.2")
    let both = ForwardingFields(forwarded: ["for=192.0.2.9"], for: ["192.0.2.8"])
    #expect(proxies.origin(of: proxy, both).client == (try peer("192.0.2.9")))
    let broken = ForwardingFields(forwarded: ["for=\"192.0.2.9"], for: ["192.0.2.8"])
    #expect(proxies.origin(of: proxy, broken).client == proxy)
  }

  @Test("a hidden client is replaced by its proxy; an invalid scheme or host is left out")
  func hidden() throws {
    let proxies = try trusting("10.0.0.0/8")
    let proxy = try peer("10.2.2.2")
    for client in ["unknown", "_hidden", "\"nonsense:99999\""] {
      let origin = proxies.origin(
        of: proxy,
        ForwardingFields(forwarded: ["for=\(client);proto=gopher;host=\"a/../b?\""]))
      #expect(origin == RequestOrigin(client: proxy))
    }
  }

  @Test(
    "addresses with and without ports are read",
    arguments: [
      ("192.0.2.1", "192.0.2.1:0"), ("192.0.2.1:80", "192.0.2.1:80"), ("2001:db8::1", "[2001:db8::1]:0"),
      ("[2001:db8::1]", "[2001:db8::1]:0"), ("[2001:db8::1]:443", "[2001:db8::1]:443"),
      ("::ffff:192.0.2.1", "192.0.2.1:0"),
    ])
  func addresses(text: String, expected: String) {
    #expect(RequestOrigin.address(text)?.description == expected)
  }

  @Test("a loop reads the client out of the bytes as everything else reads it out of the fields")
  func bytes() throws {
    let proxies = try trusting("10.0.0.0/8", "2001:db8::/32", "unix")
    let entries = [
      "192.0.2.9", "10.1.1.1", " 10.2.2.2 ", "\t10.3.3.3:80", "[2001:db8::1]:443", "2001:db8::2", "unknown",
      "", " ",
      "::ffff:10.0.0.1", "_hidden", "198.51.100.7:65536",
    ]
    var lines: [[String]] = [[], [""]]
    for first in entries {
      lines.append([first])
      for second in entries {
        lines += [["\(first),\(second)"], [first, second]]
        for third in entries { lines += [["\(first), \(second)", third], [first, "\(second),\(third)"]] }
      }
    }
    for peer in [try peer("10.9.9.9"), .unix] {
      for lines in lines {
        var chain = ForwardedChain(peer: peer)
        for line in lines.reversed() {
          guard chain.follow(line.utf8.span, trusting: proxies) else { break }
        }
        #expect(chain.client == proxies.origin(of: peer, ForwardingFields(for: lines)).client, "\(lines)")
      }
    }
  }

  @Test(
    "anything else is no address",
    arguments: [
      "", ":", "unix", "example.com", "1.2.3", "1.2.3.4:", "1.2.3.4:70000", "[::1", "[::1]x", "10.0.0.0/8",
    ])
  func noAddresses(text: String) {
    #expect(RequestOrigin.address(text) == nil)
  }
}
