import CoreTypes
import Crypto
import HTTPClient
import ObjectStore
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import StorageTesting
import SystemCalls
import Testing

@testable import ContentDelivery
@testable import DeliveryService

/// With the real nginx and `deploy/nginx/pullbox-edge.conf`, before an object store in memory and, where the environment names one, before that.
@Suite("An edge that reads from the object store", .timeLimit(.minutes(10)))
struct EdgeTests {
  enum Kind: CaseIterable {
    case memory
    case environment

    static var allCases: [Kind] { StoreUnderTest.present == nil ? [.memory] : [.memory, .environment] }
  }

  /// A server, nginx, and the store, to which the test has a client of its own.
  struct Edge {
    let server: ServerHarness
    let nginx: Nginx
    let store: ObjectStore
    let tested: TestedStore

    func fetch(
      _ grant: GrantResponse, _ headers: [(String, String)] = [], method: String = "GET"
    ) async throws -> ClientResponse {
      var request = ClientRequest(
        method: method,
        url:
          "http://pull.example/v1/content/\(grant.download.digest)?ticket=\(grant.download.ticket)",
        headers: headers)
      request.unixSocketPath = nginx.path
      request.maximumResponseLength = .mebibytes(8)
      return try await server.client.send(request)
    }

    /// The location to which the server sends a proxy.
    func redirect(_ grant: GrantResponse, _ headers: [(String, String)] = []) async throws -> String? {
      try await server.fetch(grant, headers: headers + [("X-Forwarded-For", "192.0.2.7")])
        .headers["X-Accel-Redirect"]
    }

    func forget(_ digest: SHA256Digest) async throws {
      let name = digest.hexadecimal
      try await store.delete(
        ObjectKey("packages/\(name.prefix(2))/\(name.dropFirst(2))"), within: .seconds(60))
    }
  }

  /// Three mebibytes and a bit: four slices.
  private static let bytes = (0..<3_300_000).map { UInt8(truncatingIfNeeded: $0 &* 29 >> 3) }
  private let bytes = Self.bytes

  private func run(
    _ kind: Kind, options: [String] = [], _ body: (Edge) async throws -> Void
  ) async throws {
    let tested = try TestedStore(kind == .memory)
    let client = try HTTPClient()
    let store = try tested.store(client)
    let address = store.address
    try await ServerHarness.run(
      options: tested.options + [
        "--trusted-proxy", "127.0.0.1", "--accel-redirect-prefix", "/pullbox-store/",
      ] + options
    ) { server in
      let directory = server.directory.path
      let nginx = try await Nginx(
        in: server, configuration: "pullbox-edge.conf",
        changes: [
          ("server STORE.EXAMPLE:443;", "server \(address.host);"),
          ("proxy_set_header Host STORE.EXAMPLE;", "proxy_set_header Host \(address.host);"),
          ("https://pullbox_store/BUCKET/PREFIX/", "http://pullbox_store\(tested.path)/"),
          ("server 127.0.0.1:8079", "server unix:\(directory)/reader.sock"),
          ("listen 127.0.0.1:8079", "listen unix:\(directory)/reader.sock"),
          ("/var/cache/nginx/pullbox", "\(directory)/nginx-cache"),
        ])
      do {
        try await body(Edge(server: server, nginx: nginx, store: store, tested: tested))
      } catch {
        Issue.record(error)
      }
      #expect(await nginx.process.terminateAndWait() == .exited(0))
    }
    for object in try await store.list(within: .seconds(60)).objects {
      try await store.delete(object.key, within: .seconds(60))
    }
    client.shutDown()
    await tested.memory?.stop()
  }

  @Test(
    "ranges, conditions and refusals are those of the server, with its fields and no others",
    arguments: Kind.allCases)
  func answers(kind: Kind) async throws {
    try await run(kind) { edge in
      try await edge.server.publish(bytes)
      let grant = try await edge.server.grantForPurchase()
      let tag = "\"\(grant.download.digest)\""
      // The second time from what nginx has kept.
      for _ in 0..<2 {
        let whole = try await edge.fetch(grant)
        #expect(whole.status == 200)
        #expect(whole.body.hasSameBytes(as: bytes))
        #expect(whole.headers["Content-Length"] == "\(bytes.count)")
        try check(whole, tag: tag, of: grant)
        for (range, expected) in ranges {
          for condition in [[], [("If-Range", tag)]] {
            let part = try await edge.fetch(grant, [("Range", range)] + condition)
            #expect(part.status == 206, "\(range)")
            #expect(part.body.hasSameBytes(as: Array(bytes[expected])), "\(range)")
            let content = "bytes \(expected.lowerBound)-\(expected.upperBound - 1)/\(bytes.count)"
            #expect(part.headers["Content-Range"] == content)
            try check(part, tag: tag, of: grant)
          }
        }
      }
      let several = try await edge.fetch(grant, [("Range", "bytes=0-9,2000000-2000009")])
      #expect(several.status == 206)
      #expect(several.headers["Content-Type"]?.hasPrefix("multipart/byteranges") == true)
      let other = [("Range", "bytes=0-9"), ("If-Range", "\"other\"")]
      #expect(try await edge.fetch(grant, other).body.hasSameBytes(as: bytes))
      #expect(try await edge.fetch(grant, [("Range", "bytes=9-3")]).body.hasSameBytes(as: bytes))
      let past = try await edge.fetch(grant, [("Range", "bytes=\(bytes.count)-")])
      #expect(past.status == 416)
      #expect(past.headers["Content-Range"] == "bytes */\(bytes.count)")
      #expect(try await edge.fetch(grant, [("If-None-Match", tag)]).status == 304)
      #expect(try await edge.fetch(grant, [("If-Match", tag)]).body.hasSameBytes(as: bytes))
      #expect(try await edge.fetch(grant, [("If-Match", "\"other\"")]).status == 412)
      let head = try await edge.fetch(grant, method: "HEAD")
      #expect(head.headers["Content-Length"] == "\(bytes.count)")
      let name = try edge.server.shortName(of: grant)
      _ = try await edge.server.operatorAPI.call(
        "POST", "/v1/operator/grants/\(name)/revoke", body: ReasonBody(), as: OperatorGrant.self)
      #expect(try await edge.fetch(grant).status == 403)
    }
  }

  /// First, middle, last; within a slice, at its edges, and across several of them.
  private let ranges = [
    ("bytes=0-0", 0..<1), ("bytes=0-499", 0..<500), ("bytes=1048570-1048580", 1_048_570..<1_048_581),
    ("bytes=1048576-2097151", 1_048_576..<2_097_152), ("bytes=500000-3200000", 500_000..<3_200_001),
    ("bytes=3299990-", 3_299_990..<3_300_000), ("bytes=-10", 3_299_990..<3_300_000),
    ("bytes=-2000000", 1_300_000..<3_300_000), ("bytes=3299000-99999999", 3_299_000..<3_300_000),
  ]

  /// The fields are the server's, once each; nothing tells of the store.
  private func check(_ response: ClientResponse, tag: String, of grant: GrantResponse) throws {
    let digest = "sha-256=:\(Base64.encode(grant.download.digest.array)):"
    #expect(response.headers.values(of: "ETag") == [tag])
    #expect(response.headers.values(of: "Repr-Digest") == [digest])
    #expect(response.headers.values(of: "Accept-Ranges") == ["bytes"])
    #expect(response.headers.values(of: "Content-Type") == ["application/vnd.comicbook+zip"])
    #expect(response.headers.values(of: "Cache-Control") == ["private, max-age=31536000, immutable"])
    for name in ["Last-Modified", "X-Accel-Redirect", "x-amz-request-id", "Expires", "Set-Cookie"] {
      #expect(response.headers[name] == nil, "\(name)")
    }
    #expect(!"\(response.headers)".contains("X-Amz-"))
  }

  @Test(
    "Authorization does not reach the store, which refuses what is signed in two ways",
    arguments: Kind.allCases)
  func bearer(kind: Kind) async throws {
    try await run(kind) { edge in
      try await edge.server.publish(bytes)
      let grant = try await edge.server.grantForPurchase()
      var request = ClientRequest(
        method: "GET", url: "http://pull.example/v1/content/\(grant.download.digest)",
        headers: [("Authorization", "Bearer \(grant.download.ticket)"), ("Cookie", "a=b")])
      request.unixSocketPath = edge.nginx.path
      request.maximumResponseLength = .mebibytes(8)
      let response = try await edge.server.client.send(request)
      #expect(response.status == 200)
      #expect(response.body.hasSameBytes(as: bytes))
    }
  }

  @Test(
    "what nginx has kept needs no store any more; what it lacks is answered 503, without a word of the store's",
    arguments: Kind.allCases)
  func kept(kind: Kind) async throws {
    try await run(kind) { edge in
      try await edge.server.publish(bytes)
      let grant = try await edge.server.grantForPurchase()
      let part = [("Range", "bytes=1048576-2097151")]
      #expect(try await edge.fetch(grant, part).status == 206)
      try await edge.forget(grant.download.digest)
      let again = try await edge.fetch(grant, part)
      #expect(again.status == 206)
      #expect(again.body.hasSameBytes(as: Array(bytes[1_048_576..<2_097_152])))
      let missing = try await edge.fetch(grant, [("Range", "bytes=0-9")])
      #expect(missing.status == 503)
      #expect(missing.headers["Retry-After"] == "2")
      #expect(missing.headers["Content-Type"] == "application/problem+json")
      let problem = try APIJSON.decode(Problem.self, from: missing.body)
      #expect(problem.code == .unavailable && problem.title == ProblemCode.unavailable.title)
      // Not kept as an answer: the package is there again.
      try await edge.server.publish(bytes, as: "com.example.again")
      #expect(try await edge.fetch(grant, [("Range", "bytes=0-9")]).status == 206)
    }
  }

  @Test(
    "each slice is read once, however many want it, and an address that is over opens nothing that was not kept"
  )
  func once() async throws {
    try await run(.memory) { edge in
      let memory = try #require(edge.tested.memory)
      try await edge.server.publish(bytes)
      let grant = try await edge.server.grantForPurchase()
      _ = memory.takeCalls()
      try await withThrowingTaskGroup(of: ClientResponse.self) { group in
        for _ in 0..<8 { group.addTask { try await edge.fetch(grant) } }
        for try await response in group { #expect(response.body.hasSameBytes(as: bytes)) }
      }
      let ranges = memory.takeCalls().map(\.range)
      #expect(
        ranges.compactMap { $0 }.sorted() == [
          "bytes=0-1048575", "bytes=1048576-2097151", "bytes=2097152-3145727", "bytes=3145728-4194303",
        ])
      // To the store each address is of an hour ago.
      memory.advance(by: .seconds(3600))
      #expect(try await edge.fetch(grant).body.hasSameBytes(as: bytes))
      #expect(memory.takeCalls().isEmpty)
      try await edge.server.publish([1] + bytes, as: "com.example.other")
      let receipt = try edge.server.store.receipt(
        of: [edge.server.purchase(of: "com.example.other", id: "2000000000000002")],
        device: edge.server.device.id)
      let other = try await edge.server.grant("com.example.other", receipt: receipt).value
      #expect(try await edge.fetch(other).status == 503)
    }
  }

  @Test(
    "the address counts for a minute, is for the store's host, and is told to a proxy alone; what nginx was told to send counts"
  )
  func address() async throws {
    try await run(.memory) { edge in
      try await edge.server.publish(bytes)
      let grant = try await edge.server.grantForPurchase()
      let location = try #require(try await edge.redirect(grant))
      let name = grant.download.digest.hexadecimal
      #expect(location.hasPrefix("/pullbox-store/\(name.prefix(2))/\(name.dropFirst(2))?X-Amz-Algorithm="))
      #expect(location.contains("&X-Amz-Expires=60&"))
      #expect(try await edge.server.fetch(grant).headers["X-Accel-Redirect"] == nil)
      // nginx follows no such address for a client.
      var request = ClientRequest(method: "GET", url: "http://pull.example\(location)")
      request.unixSocketPath = edge.nginx.path
      let direct = try await edge.server.client.send(request)
      #expect(direct.status == 503 && direct.headers["ETag"] == nil)
      _ = try await edge.fetch(grant)
      #expect(try await edge.server.complete(grant).value.state == .finished)
    }
  }
}
