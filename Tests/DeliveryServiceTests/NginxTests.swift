import CoreTypes
import Crypto
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

@testable import ContentDelivery
@testable import DeliveryService

/// With the real nginx and the configuration that operators get, `deploy/nginx/pullbox.conf`.
@Suite("Behind nginx", .timeLimit(.minutes(10)))
struct NginxTests {
  let large = [UInt8](repeating: 7, count: 24 << 20)
  private static let small = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 13 >> 2) }
  let small = Self.small

  private static let trusting = ["--trusted-proxy", "127.0.0.1"]
  private static let handingOff = trusting + ["--accel-redirect-prefix", "/pullbox-blobs/"]

  /// Runs `body` with nginx in front of the server; its socket is `nginx.path`.
  private func run(
    _ options: [String], _ body: (ServerHarness, Nginx) async throws -> Void
  ) async throws {
    try await ServerHarness.run(options: options) { server in
      let nginx = try await Nginx(in: server)
      do {
        try await body(server, nginx)
      } catch {
        Issue.record(error)
      }
      #expect(await nginx.process.terminateAndWait() == .exited(0))
    }
  }

  private func fetch(
    _ grant: GrantResponse, _ server: ServerHarness, _ nginx: Nginx, _ headers: [(String, String)] = [],
    method: String = "GET"
  ) async throws -> ClientResponse {
    var request = ClientRequest(
      method: method, url: "http://pull.example\(grant.download.path)?ticket=\(grant.download.ticket)",
      headers: headers)
    request.unixSocketPath = nginx.path
    request.maximumResponseLength = .mebibytes(32)
    return try await server.client.send(request)
  }

  @Test(
    "ranges, conditions and refusals pass through nginx, as a proxy and with X-Accel-Redirect",
    arguments: [trusting, handingOff])
  func answers(options: [String]) async throws {
    try await run(options) { server, nginx in
      try await server.publish(small)
      let grant = try await server.grantForPurchase()
      let tag = "\"\(grant.download.digest)\""
      let digest = "sha-256=:\(Base64.encode(grant.download.digest.array)):"
      let whole = try await fetch(grant, server, nginx)
      #expect(whole.status == 200)
      #expect(whole.body == small)
      #expect(whole.headers["ETag"] == tag)
      #expect(whole.headers["Repr-Digest"] == digest)
      #expect(whole.headers["Content-Length"] == "200000")
      #expect(whole.headers["X-Accel-Redirect"] == nil)
      #expect(whole.headers.values(of: "Accept-Ranges") == ["bytes"])
      // The file's own time is that of its upload, and no validator.
      #expect(whole.headers["Last-Modified"] == nil)
      for (range, expected) in [
        ("bytes=100-199", 100..<200), ("bytes=199000-", 199_000..<200_000), ("bytes=-10", 199_990..<200_000),
        ("bytes=199990-99999999999999999999999", 199_990..<200_000),
      ] {
        let part = try await fetch(grant, server, nginx, [("Range", range), ("If-Range", tag)])
        #expect(part.status == 206, "\(range)")
        #expect(part.body == Array(small[expected]))
        #expect(
          part.headers["Content-Range"]
            == "bytes \(expected.lowerBound)-\(expected.upperBound - 1)/200000")
        #expect(part.headers["ETag"] == tag)
        #expect(part.headers.values(of: "Accept-Ranges") == ["bytes"])
        #expect(part.headers["Last-Modified"] == nil)
      }
      let other = [("Range", "bytes=0-9"), ("If-Range", "\"other\"")]
      #expect(try await fetch(grant, server, nginx, other).body == small)
      // A range that nginx would refuse, RFC 9110 has ignored.
      #expect(try await fetch(grant, server, nginx, [("Range", "bytes=9-3")]).body == small)
      #expect(try await fetch(grant, server, nginx, [("Range", "bytes=200000-")]).status == 416)
      #expect(try await fetch(grant, server, nginx, [("If-None-Match", tag)]).status == 304)
      #expect(try await fetch(grant, server, nginx, [("If-Match", tag)]).body == small)
      #expect(try await fetch(grant, server, nginx, [("If-Match", "\"other\"")]).status == 412)
      let head = try await fetch(grant, server, nginx, method: "HEAD")
      #expect(head.headers["Content-Length"] == "200000")
      server.server.revocations.revoke(grant: try server.handle(of: grant))
      #expect(try await fetch(grant, server, nginx).status == 403)
    }
  }

  @Test("what nginx was told to send counts as delivered, so that a completion passes")
  func counting() async throws {
    try await run(Self.handingOff) { server, nginx in
      try await server.publish(small)
      let grant = try await server.grantForPurchase()
      _ = try await fetch(grant, server, nginx)
      #expect(try await server.status(grant).bytesDelivered == ByteCount(small.count))
      #expect(try await server.complete(grant).value.state == .finished)
    }
  }

  @Test("bodies beyond the bound of the redirect are sent by the server, where a revocation ends them")
  func longest() async throws {
    try await run(Self.handingOff + ["--accel-redirect-longest", "1MiB"]) { server, nginx in
      try await server.publish(large)
      let grant = try await server.grantForPurchase()
      func isRedirected(_ headers: [(String, String)]) async throws -> Bool {
        let ticket = grant.download.ticket
        let url = server.api.url(grant.download.contentURL, query: [("ticket", ticket)])
        var request = ClientRequest(
          method: "GET", url: url, headers: headers + [("X-Forwarded-For", "192.0.2.7")])
        request.maximumResponseLength = .mebibytes(2)
        return try await server.client.send(request).headers["X-Accel-Redirect"] != nil
      }
      #expect(try await isRedirected([("Range", "bytes=0-1048575")]))
      #expect(try await !isRedirected([("Range", "bytes=0-1048576")]))
      #expect(try await fetch(grant, server, nginx).body == large)
      let part = try await fetch(grant, server, nginx, [("Range", "bytes=5-1048580")])
      #expect(part.body.count == 1 << 20)
      let reader = try RawConnection.unix(path: nginx.path)
      try await reader.send(
        "GET \(grant.download.path)?ticket=\(grant.download.ticket) HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = try await reader.receive(through: "\r\n\r\n")
      server.server.revocations.revoke(grant: try server.handle(of: grant))
      var rest = 0
      while let bytes = try? await reader.receive(), !bytes.isEmpty { rest += bytes.count }
      #expect(rest < large.count)
    }
  }

  @Test("only a trusted proxy is told to send a body")
  func untrusted() async throws {
    try await ServerHarness.run(options: ["--accel-redirect-prefix", "/pullbox-blobs/"]) { server in
      try await server.publish(small)
      let grant = try await server.grantForPurchase()
      let response = try await server.fetch(grant)
      #expect(response.body == small)
      #expect(response.headers["X-Accel-Redirect"] == nil)
    }
  }

  @Test("a request that no proxy passed on gets its body, also from the address of a trusted proxy")
  func direct() async throws {
    try await ServerHarness.run(options: Self.handingOff) { server in
      try await server.publish(small)
      let grant = try await server.grantForPurchase()
      let response = try await server.fetch(grant)
      #expect(response.body == small)
      #expect(response.headers["X-Accel-Redirect"] == nil)
      #expect(try await server.status(grant).bytesDelivered == ByteCount(small.count))
      let forwarded = try await server.fetch(grant, headers: [("X-Forwarded-For", "192.0.2.7")])
      #expect(forwarded.headers["X-Accel-Redirect"] != nil && forwarded.body.isEmpty)
    }
  }

  @Test(
    "metrics and the routes of operators are denied to the world, however their paths are written",
    arguments: [
      "/metrics", "/v1/operator", "/v1/operator/products", "/v1/operator/uploads/a",
      "/v1/%6fperator/products",
      "/v1/x/../operator/products", "//v1//operator/products", "/v1/./operator/products", "/%6Detrics",
    ])
  func denied(path: String) async throws {
    try await run(Self.trusting) { server, nginx in
      let connection = try RawConnection.unix(path: nginx.path)
      try await connection.send(
        "GET \(path) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer operator\r\n\r\n")
      let denied = try await connection.receiveResponse()
      #expect(denied.status == 403)
      #expect(denied["X-Request-Id"] == nil)
      let open = try RawConnection.unix(path: nginx.path)
      try await open.send("GET /v1/products HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(try await open.receiveResponse().status == 200)
    }
  }

  @Test("nginx buffers no body that its client does not read, and a revocation reaches through it")
  func buffering() async throws {
    try await run(Self.trusting) { server, nginx in
      try await server.publish(large)
      let grant = try await server.grantForPurchase()
      let reader = try RawConnection.unix(path: nginx.path)
      try await reader.send(
        "GET \(grant.download.path)?ticket=\(grant.download.ticket) HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = try await reader.receive(through: "\r\n\r\n")
      // Twice the same count: everything that takes something without its client has taken it.
      var before = ByteCount(-1)
      var now = try await server.status(grant).bytesDelivered
      while now != before {
        before = now
        for _ in 0..<20 { now = try await server.status(grant).bytesDelivered }
      }
      #expect(now < ByteCount(16 << 20))
      server.server.revocations.revoke(grant: try server.handle(of: grant))
      var rest = 0
      while let bytes = try? await reader.receive(), !bytes.isEmpty { rest += bytes.count }
      #expect(rest < large.count)
    }
  }
}

extension DownloadTerms {
  /// The content's path on any server.
  fileprivate var path: String { "/v1/content/\(digest)" }
}
