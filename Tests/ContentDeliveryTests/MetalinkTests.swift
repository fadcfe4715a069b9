import Crypto
import HTTPServer
import PullboxAPI
import Testing

@testable import ContentDelivery

/// RFC 5854.
@Suite("Metalink documents")
struct MetalinkTests {
  /// Three pieces, the last one short.
  private static let content = (0..<2_500_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }

  private func document(
    _ fixture: ContentFixture, _ fields: [(name: String, value: String)] = [], peer: PeerAddress = .unix
  ) async throws -> ContentResponse {
    try await fixture.offLoop(
      ContentRequest(
        target: "\(fixture.path).meta4?ticket=\(fixture.ticket)", fields: fields, peer: peer))
  }

  @Test("the document has length, digest, a digest for each 1 MiB and an absolute URL with the ticket")
  func metalink() async throws {
    let fixture = try ContentFixture(Self.content)
    let response = try await document(fixture)
    #expect(response.status == 200)
    #expect(response["Content-Type"] == "application/metalink4+xml")
    // The ticket in it is one client's.
    #expect(response["Cache-Control"] == "no-store")
    #expect(response["Content-Disposition"] == #"attachment; filename="issue.pdf.meta4""#)
    let text = String(decoding: response.body, as: UTF8.self)
    #expect(text.contains("<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\">"))
    #expect(text.contains("<file name=\"issue.pdf\">"))
    #expect(text.contains("<size>2500000</size>"))
    #expect(text.contains("<hash type=\"sha-256\">\(SHA256Digest.of(Self.content))</hash>"))
    let pieces = stride(from: 0, to: Self.content.count, by: 1 << 20).map { start in
      let piece = SHA256Digest.of(Self.content[start..<min(start + 1 << 20, Self.content.count)])
      return "      <hash>\(piece)</hash>\n"
    }
    #expect(pieces.count == 3)
    #expect(
      text.contains("<pieces length=\"1048576\" type=\"sha-256\">\n\(pieces.joined())    </pieces>"))
    #expect(
      text.contains("<url priority=\"1\">http://pull.example\(fixture.path)?ticket=\(fixture.ticket)</url>"))
  }

  @Test("it needs the same ticket as the content")
  func gated() async throws {
    let fixture = try ContentFixture()
    let refused = try await fixture.offLoop(ContentRequest(target: "\(fixture.path).meta4"))
    #expect(refused.status == 401)
    #expect(refused["WWW-Authenticate"] == "Bearer")
    fixture.revocations.revoke(grant: ContentFixture.handle)
    #expect(try await document(fixture).status == 403)
  }

  @Test("the URL is what a trusted proxy says the client asked, and no other peer is believed")
  func forwarded() async throws {
    let fixture = try ContentFixture(
      proxies: TrustedProxies(networks: [try #require(PeerNetwork("10.0.0.0/8"))]))
    let fields = [("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "shop.example")]
    for (peer, base) in [("10.1.2.3", "https://shop.example/v1/"), ("192.0.2.1", "http://pull.example/v1/")] {
      let response = try await document(fixture, fields, peer: try #require(PeerAddress(host: peer)))
      let text = String(decoding: response.body, as: UTF8.self)
      #expect(text.contains("<url priority=\"1\">\(base)"), "\(peer)")
    }
  }

  @Test("the server's public address comes before what a request says")
  func publicURL() async throws {
    let fixture = try ContentFixture(publicURL: "https://comics.example")
    let text = String(decoding: try await document(fixture).body, as: UTF8.self)
    #expect(text.contains("<url priority=\"1\">https://comics.example/v1/content/"))
  }

  @Test("what XML gives a meaning to is escaped, also where a mark makes one character with it")
  func escaped() {
    let text = Metalink.escaped("<\u{338}>\u{338}&\u{301}\"\u{301}a")
    #expect(
      text.unicodeScalars.elementsEqual(
        "&lt;\u{338}&gt;\u{338}&amp;\u{301}&quot;\u{301}a".unicodeScalars))
  }
}
