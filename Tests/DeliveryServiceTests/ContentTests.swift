import CoreTypes
import Crypto
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentDelivery
@testable import DeliveryService

@Suite("Gated content")
struct ContentTests {
  private static let package = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 17 >> 2) }
  let package = Self.package

  private func problem(_ response: ClientResponse) throws -> ProblemCode? {
    #expect(response.headers["Content-Type"] == "application/problem+json")
    return try APIJSON.decode(Problem.self, from: response.body).code
  }

  @Test("the head has the fields of RFC 9110, RFC 9530 and the contract")
  func head() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      for _ in 0..<2 {
        let response = try await server.fetch(grant)
        let digest = SHA256Digest.of(package)
        #expect(response.headers["ETag"] == "\"\(digest)\"")
        #expect(response.headers["Repr-Digest"] == "sha-256=:\(Base64.encode(digest.array)):")
        #expect(response.headers["Accept-Ranges"] == "bytes")
        #expect(response.headers["Content-Length"] == "200000")
        #expect(response.headers["Cache-Control"] == "private, max-age=31536000, immutable")
        #expect(response.headers["X-Accel-Buffering"] == "no")
        #expect(response.headers["Content-Encoding"] == nil)
      }
    }
  }

  @Test(
    "a range is answered by exactly its bytes, first request and kept-alive alike",
    arguments: [
      ("bytes=0-0", 0..<1), ("bytes=100-199", 100..<200), ("bytes=199999-", 199_999..<200_000),
      ("bytes=-500", 199_500..<200_000), ("bytes=150000-99999999999999999999", 150_000..<200_000),
      ("bytes=-99999999999999999999", 0..<200_000),
    ])
  func ranges(range: String, expected: Range<Int>) async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      for _ in 0..<2 {
        let response = try await server.fetch(grant, headers: [("Range", range)])
        #expect(response.status == 206)
        #expect(
          response.headers["Content-Range"]
            == "bytes \(expected.lowerBound)-\(expected.upperBound - 1)/200000")
        #expect(response.body == Array(package[expected]))
      }
    }
  }

  @Test("a range past the end is 416 and tells the length")
  func unsatisfiable() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      let response = try await server.fetch(grant, headers: [("Range", "bytes=200000-")])
      #expect(response.status == 416)
      #expect(response.headers["Content-Range"] == "bytes */200000")
    }
  }

  @Test(
    "an answer that is not about the content's bytes is kept by no cache, and claims no digest of them",
    arguments: [
      (416, [("Range", "bytes=200000-")]), (412, [("If-Match", "\"other\"")]),
      (416, [("Range", "bytes=200000-"), ("Want-Repr-Digest", "sha-256=10"), ("Want-Digest", "sha-256")]),
      (412, [("If-Match", "\"other\""), ("Want-Repr-Digest", "sha-256=10"), ("Want-Digest", "sha-256")]),
    ])
  func refusalsOfConditions(status: Int, headers: [(String, String)]) async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      for _ in 0..<2 {
        let response = try await server.fetch(grant, headers: headers)
        #expect(response.status == status)
        // RFC 9111 §3 lets a cache keep any answer that says for how long, and §4 use it for requests without a range.
        #expect(response.headers["Cache-Control"] == "no-store")
        // RFC 9530 §3: a refusal's digest is that of the refusal's own content.
        #expect(response.headers["Repr-Digest"] == nil)
        #expect(response.headers["Digest"] == nil)
        #expect(response.headers["ETag"] == "\"\(grant.download.digest)\"")
        #expect(response.headers["Accept-Ranges"] == "bytes")
      }
    }
  }

  @Test("If-Range with the content's tag gives the part, with another tag the whole")
  func ifRange() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      let tag = "\"\(grant.download.digest)\""
      let same = try await server.fetch(grant, headers: [("Range", "bytes=0-9"), ("If-Range", tag)])
      #expect(same.status == 206)
      for other in ["\"\(SHA256Digest.of([]))\"", "W/" + tag, "Sun, 06 Nov 1994 08:49:37 GMT"] {
        let whole = try await server.fetch(grant, headers: [("Range", "bytes=0-9"), ("If-Range", other)])
        #expect(whole.status == 200)
        #expect(whole.body == package)
      }
    }
  }

  @Test("several ranges come as parts")
  func severalRanges() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      let response = try await server.fetch(grant, headers: [("Range", "bytes=0-9,1000-1009")])
      #expect(response.status == 206)
      let type = try #require(response.headers["Content-Type"])
      #expect(type.hasPrefix("multipart/byteranges; boundary="))
      #expect(response.headers["Content-Range"] == nil)
      let text = String(decoding: response.body, as: UTF8.self)
      #expect(text.contains("Content-Range: bytes 0-9/200000"))
      #expect(text.contains("Content-Range: bytes 1000-1009/200000"))
    }
  }

  @Test("authorization comes before conditions: a request without a valid ticket never gets 304")
  func authorizationFirst() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      let condition = [("If-None-Match", "\"\(grant.download.digest)\"")]
      #expect(try await server.fetch(grant, headers: condition).status == 304)
      let refused = try await server.fetch(grant, ticket: "nonsense", headers: condition)
      #expect(try problem(refused) == .ticketInvalid)
    }
  }

  @Test("no ticket is 401, a ticket that was tampered with or is for other content 403")
  func tickets() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      try await server.publish(package + [0], as: "com.example.issue2")
      let grant = try await server.grantForPurchase()
      let missing = try await server.client.send(
        ClientRequest(method: "GET", url: server.api.url(grant.download.contentURL)))
      #expect(missing.status == 401)
      #expect(try problem(missing) == .ticketMissing)
      var text = Array(grant.download.ticket.utf8)
      text[30] = text[30] == 0x41 ? 0x42 : 0x41
      let tampered = try await server.fetch(grant, ticket: String(decoding: text, as: UTF8.self))
      #expect(tampered.status == 403)
      #expect(try problem(tampered) == .ticketInvalid)
      let other = SHA256Digest.of(package + [0])
      let url = server.api.url("/v1/content/\(other)", query: [("ticket", grant.download.ticket)])
      #expect(
        try problem(try await server.client.send(ClientRequest(method: "GET", url: url))) == .ticketInvalid)
    }
  }

  @Test("a ticket that was verified on a connection expires there too")
  func expiryOnKeptConnection() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      for _ in 0..<3 { #expect(try await server.fetch(grant).status == 200) }
      server.clock.advance(by: .seconds(16 * 60))
      #expect(try problem(try await server.fetch(grant)) == .ticketExpired)
    }
  }

  @Test("the manifest is the one that the grant's digest names")
  func manifest() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      let url = server.api.url(grant.download.manifestURL, query: [("ticket", grant.download.ticket)])
      let response = try await server.client.send(ClientRequest(method: "GET", url: url))
      #expect(SHA256Digest.of(response.body) == grant.download.manifestDigest)
      let gated = try await server.client.send(
        ClientRequest(method: "GET", url: server.api.url(grant.download.manifestURL)))
      #expect(gated.status == 401)
    }
  }

  @Test("every body byte sent is counted for its grant")
  func counting() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      _ = try await server.fetch(grant, headers: [("Range", "bytes=0-99")])
      _ = try await server.fetch(grant, headers: [("Range", "bytes=0-99")])
      _ = try await server.fetch(grant, headers: [("Range", "bytes=1000-1999,5000-5999")])
      let status = try await server.status(grant)
      // The heads of the parts are bytes of the body as well, so at least the content's.
      #expect(status.bytesDelivered >= ByteCount(200 + 2000))
      #expect(status.bytesDelivered < ByteCount(200 + 2000 + 1000))
    }
  }
}
