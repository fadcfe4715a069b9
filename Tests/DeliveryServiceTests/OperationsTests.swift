import Commerce
import CoreTypes
import Files
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

@testable import ContentDelivery
@testable import DeliveryService

@Suite("Metrics and access log")
struct OperationsTests {
  private static let package = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 17 >> 2) }
  let package = Self.package

  private func metrics(_ server: ServerHarness) async throws -> [String: Double] {
    let response = try await server.client.send(ClientRequest(method: "GET", url: server.api.url("/metrics")))
    #expect(response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
    return try PrometheusPage(String(decoding: response.body, as: UTF8.self)).samples
  }

  @Test("the page follows the format, and counts what was asked")
  func page() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      for _ in 0..<3 {
        _ = try await server.fetch(grant, headers: [("Range", "bytes=0-999")])
      }
      _ = try await server.fetch(grant, ticket: "nonsense")
      _ = try await server.renew(grant)
      let samples = try await metrics(server)
      let content = "pullbox_http_requests_total{route=\"/v1/content/{digest}\",code="
      #expect(samples[content + "\"206\"}"] == 3)
      #expect(samples[content + "\"403\"}"] == 1)
      #expect(samples["pullbox_problems_total{code=\"ticket-invalid\"}"] == 1)
      #expect(samples["pullbox_tickets_total{kind=\"issued\"}"] == 1)
      #expect(samples["pullbox_tickets_total{kind=\"renewed\"}"] == 1)
      #expect(samples["pullbox_delivered_bytes_total"] == 3000)
      #expect(samples["pullbox_grants{state=\"granted\",environment=\"Sandbox\"}"] == 1)
      #expect(samples["pullbox_outbox_depth{store=\"sandbox\",kind=\"finish\"}"] == 0)
      #expect((samples["pullbox_http_responses_total{code=\"206\"}"] ?? 0) == 3)
      let count = try #require(samples["pullbox_http_time_to_first_byte_seconds_count"])
      #expect(count > 0)
      #expect(samples["pullbox_http_time_to_first_byte_seconds_bucket{le=\"+Inf\"}"] == count)
    }
  }

  @Test("a refusal names its request in the document and in X-Request-Id")
  func requestIdentifiers() async throws {
    try await ServerHarness.run { server in
      let refused = try await server.client.send(
        ClientRequest(method: "GET", url: server.api.url("/v1/content/nonsense")))
      let id = try #require(refused.headers["X-Request-Id"])
      let problem = try APIJSON.decode(Problem.self, from: refused.body)
      #expect(problem.instance == "urn:pullbox:request:\(id)")
      let nowhere = try await server.client.send(
        ClientRequest(method: "GET", url: server.api.url("/nowhere")))
      #expect(nowhere.headers["X-Request-Id"] != id)
    }
  }

  private struct Line: Decodable {
    var id: String
    var remote: String
    var method: String
    var path: String
    var status: Int
    var sent: Int
    var complete: Bool
  }

  @Test("the access log has a line of JSON for each request, and nothing in it opens content")
  func accessLog() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/access.log"
    let secrets = Locked<[String]>([])
    let refusedID = Locked("")
    try await ServerHarness.run(
      options: ["--access-log", path, "--trusted-proxy", "127.0.0.1"]
    ) { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      _ = try await server.fetch(grant, headers: [("Range", "bytes=0-999")])
      _ = try await server.fetch(
        grant, headers: [("Range", "bytes=0-9"), ("X-Forwarded-For", "192.0.2.77")])
      _ = try await server.renew(grant)
      let refused = try await server.client.send(
        ClientRequest(
          method: "GET", url: server.api.url(grant.download.contentURL + "/" + grant.download.ticket),
          headers: [("Forwarded", "for=\"[2001:db8::7]:4711\"")]))
      #expect(refused.status == 404)
      refusedID.withLock { $0 = refused.headers["X-Request-Id"] ?? "" }
      secrets.withLock {
        $0 = [grant.download.ticket, grant.grant.description, server.device.id.description]
      }
    }
    let text = String(decoding: try FileSystem.read(path, upTo: .mebibytes(1)), as: UTF8.self)
    for secret in secrets.current { #expect(!text.contains(secret)) }
    #expect(!text.contains("ticket="))
    let lines = try text.split(separator: "\n").map { try APIJSON.decode(Line.self, from: Array($0.utf8)) }
    let ranges = lines.filter { $0.status == 206 }
    try #require(ranges.map(\.sent) == [1000, 10])
    #expect(ranges.allSatisfy { $0.method == "GET" && $0.complete })
    #expect(ranges[0].remote.hasPrefix("127.0.0.1:"))
    #expect(ranges[1].remote == "192.0.2.77:0")
    let refusal = try #require(lines.first { $0.id == refusedID.current })
    #expect(refusal.status == 404)
    #expect(refusal.remote == "[2001:db8::7]:4711")
    #expect(Set(lines.map(\.id)).count == lines.count)
  }

  @Test("what could open content is cut out of paths, digests stay")
  func redaction() throws {
    let digest = String(repeating: "a1", count: 32)
    let ticket = String(repeating: "x", count: 72)
    #expect(AccessLine.redacted("/v1/content/\(digest)") == "/v1/content/\(digest)")
    #expect(AccessLine.redacted("/v1/content/\(digest).meta4") == "/v1/content/\(digest).meta4")
    #expect(AccessLine.redacted("/v1/content/\(ticket)/x") == "/v1/content/…/x")
    let grant = "0123456789abcdef0123456789abcdef"
    #expect(AccessLine.redacted("/v1/grants/\(grant)/tickets") == "/v1/grants/…/tickets")
    // A name that is no grant's, and one as a client may spell a grant's.
    #expect(AccessLine.redacted("/v1/grants/\(grant)x") == "/v1/grants/…")
    #expect(AccessLine.redacted("/v1/grants/x\(grant)") == "/v1/grants/…")
    #expect(AccessLine.redacted("/v1/grants/%30\(grant.dropFirst())/tickets") == "/v1/grants/…/tickets")
    // A UUID, a URN, digits that lack some, and what is put in two parts.
    let uuid = "01234567-89ab-cdef-0123-456789abcdef"
    for name in [
      uuid, "urn:uuid:\(uuid)", "{\(uuid)}", String(grant.dropLast()), "0123/\(grant.dropFirst(4))",
    ] {
      let path = AccessLine.redacted("/v1/grants/\(name)/tickets")
      #expect(path.replacing("…/…", with: "…") == "/v1/grants/…/tickets", "\(name)")
      let elsewhere = AccessLine.redacted("/v1/elsewhere/\(name)")
      #expect(!elsewhere.contains("89ab") && elsewhere.hasSuffix("…"), "\(elsewhere)")
    }
    #expect(
      AccessLine.redacted("/v1/operator/grants/0123456789abcdef/revoke")
        == "/v1/operator/grants/0123456789abcdef/revoke")
    #expect(AccessLine.redacted("/v1/content/%61\(digest.dropFirst())") == "/v1/content/…")
    #expect(
      AccessLine.redacted("/v1/products/com.example.kestrelstation.issue1")
        == "/v1/products/com.example.kestrelstation.issue1")
  }
}
