import CoreTypes
import Crypto
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Testing

@testable import ContentDelivery
@testable import DeliveryService

@Suite("Digest fields and Metalink")
struct MetalinkTests {
  /// Three pieces, the last one short.
  let package = (0..<2_500_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }

  private func document(
    _ server: ServerHarness, _ grant: GrantResponse, headers: [(String, String)] = []
  ) async throws -> ClientResponse {
    let url = server.api.url(
      grant.download.contentURL + ".meta4", query: [("ticket", grant.download.ticket)])
    return try await server.client.send(ClientRequest(method: "GET", url: url, headers: headers))
  }

  @Test("the document has length, digest, a digest for each 1 MiB and an absolute URL with the ticket")
  func metalink() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      let response = try await document(server, grant)
      #expect(response.status == 200)
      #expect(response.headers["Content-Type"] == "application/metalink4+xml")
      let text = String(decoding: response.body, as: UTF8.self)
      #expect(text.contains("<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\">"))
      #expect(text.contains("<size>2500000</size>"))
      #expect(text.contains("<hash type=\"sha-256\">\(SHA256Digest.of(package))</hash>"))
      #expect(text.contains("<pieces length=\"1048576\" type=\"sha-256\">"))
      for start in stride(from: 0, to: package.count, by: 1 << 20) {
        let piece = SHA256Digest.of(package[start..<min(start + 1 << 20, package.count)])
        #expect(text.contains("<hash>\(piece)</hash>"))
      }
      #expect(text.contains("<file name=\"issue.cbz\">"))
      let url = "\(server.api.url(grant.download.contentURL))?ticket=\(grant.download.ticket)"
      #expect(text.contains("<url priority=\"1\">\(url)</url>"))
    }
  }

  @Test("it needs the same ticket as the content")
  func gated() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      let url = server.api.url(grant.download.contentURL + ".meta4")
      let refused = try await server.client.send(ClientRequest(method: "GET", url: url))
      #expect(refused.status == 401)
      #expect(refused.headers["WWW-Authenticate"] == "Bearer")
      server.server.revocations.revoke(grant: try server.handle(of: grant))
      #expect(try await document(server, grant).status == 403)
    }
  }

  @Test("the URL is what a trusted proxy says the client asked, and no other peer is believed")
  func forwarded() async throws {
    let fields = [("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "pull.example")]
    for (options, base) in [
      (["--trusted-proxy", "127.0.0.0/8"], "https://pull.example/v1/"),
      (["--trusted-proxy", "10.0.0.0/8"], "http://127.0.0.1:"),
    ] {
      try await ServerHarness.run(options: options) { server in
        try await server.publish(package)
        let grant = try await server.grantForPurchase()
        let response = try await document(server, grant, headers: fields)
        #expect(String(decoding: response.body, as: UTF8.self).contains("<url priority=\"1\">\(base)"))
      }
    }
  }

  @Test(
    "Repr-Digest is there unless sha-256 is unwanted, the older Digest where it is asked for",
    arguments: [
      ([], true, false), ([("Want-Repr-Digest", "sha-256=0")], false, false),
      ([("Want-Repr-Digest", "sha-512=10, sha-256=1")], true, false),
      ([("Want-Repr-Digest", "sha-256=0, broken=")], true, false),
      ([("Want-Digest", "SHA-512;q=1, SHA-256;q=1, SHA;q=0.1")], true, true),
      ([("Want-Digest", "sha-256;q=0")], true, false), ([("Want-Digest", "SHA-512")], true, false),
    ] as [([(String, String)], Bool, Bool)])
  func digests(fields: [(String, String)], repr: Bool, old: Bool) async throws {
    try await ServerHarness.run { server in
      try await server.publish([1, 2, 3, 4])
      let grant = try await server.grantForPurchase()
      let digest = Base64.encode(SHA256Digest.of([1, 2, 3, 4] as [UInt8]).array)
      for _ in 0..<2 {
        let response = try await server.fetch(grant, headers: fields)
        #expect(response.status == 200)
        #expect(response.headers["Repr-Digest"] == (repr ? "sha-256=:\(digest):" : nil))
        #expect(response.headers["Digest"] == (old ? "SHA-256=\(digest)" : nil))
      }
    }
  }
}
