import CoreTypes
import HTTPClient
import HTTPServer
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentDelivery
@testable import DeliveryService
@testable import RouteAccess

@Suite("Diagnostic routes", .timeLimit(.minutes(2)))
struct DiagnosticRouteTests {
  private func get(
    _ target: String, _ headers: [(String, String)] = [], method: String = "GET", from server: ServerHarness
  ) async throws -> ClientResponse {
    try await server.client.send(
      ClientRequest(method: method, url: server.api.url(target), headers: headers))
  }

  @Test("a body has ranges and conditions as content has", arguments: ["body?length=262144", "file"])
  func ranges(name: String) async throws {
    try await ServerHarness.run { server in
      let target = "/v1/diagnostics/\(name)"
      let tag = DiagnosticContent.entityTag(length: 262_144)
      let whole = try await get(target, from: server)
      #expect(whole.status == 200)
      #expect(whole.headers["ETag"] == tag)
      #expect(whole.body == DiagnosticContent.bytes(in: 0..<262_144))
      for (range, expected) in [
        ("bytes=65530-65545", 65_530..<65_546), ("bytes=262000-", 262_000..<262_144),
        ("bytes=-10", 262_134..<262_144),
      ] as [(String, Range<Int64>)] {
        let part = try await get(target, [("Range", range), ("If-Range", tag)], from: server)
        #expect(part.status == 206)
        #expect(part.head.contentRange == ContentRange(range: expected, completeLength: 262_144))
        #expect(part.body == DiagnosticContent.bytes(in: expected))
      }
      #expect(
        try await get(target, [("Range", "bytes=0-9"), ("If-Range", "\"x\"")], from: server).body
          == whole.body)
      let beyond = try await get(target, [("Range", "bytes=262144-")], from: server)
      #expect(beyond.status == 416)
      #expect(beyond.headers["Content-Range"] == "bytes */262144")
      #expect(try await get(target, [("If-None-Match", tag)], from: server).status == 304)
      #expect(try await get(target, [("If-Match", "\"x\"")], from: server).status == 412)
      let head = try await get(target, method: "HEAD", from: server)
      #expect(head.headers["Content-Length"] == "262144")
    }
  }

  @Test("a body holds 8 GiB, and no more")
  func lengths() async throws {
    try await ServerHarness.run { server in
      let longest = "/v1/diagnostics/body?length=8589934592"
      let head = try await get(longest, method: "HEAD", from: server)
      #expect(head.headers["Content-Length"] == "8589934592")
      let end = try await get(longest, [("Range", "bytes=-100")], from: server)
      #expect(end.body == DiagnosticContent.bytes(in: 8_589_934_492..<8_589_934_592))
      for refused in ["length=8589934593", "length=-1", "pause=181", "pauseAfter=x", "lenght=1"] {
        #expect(try await get("/v1/diagnostics/body?\(refused)", from: server).status == 400, "\(refused)")
      }
    }
  }

  @Test("a server without diagnostics has none of the routes")
  func off() async throws {
    try await ServerHarness.run(options: ["--diagnostics", "no"]) { server in
      for path in ["/v1/diagnostics", "/v1/diagnostics/body", "/v1/diagnostics/file"] {
        let response = try await get(path, from: server)
        #expect(response.status == 404)
      }
    }
  }
}
