import Commerce
import CoreTypes
import DeliveryTesting
import Files
import HTTPClient
import HTTPServer
import PullboxAPI
import PullboxAPIClient
import PullboxAPIServer
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import Synchronization
import SystemCalls
import Testing

@testable import ContentDelivery
@testable import DeliveryService
@testable import RouteAccess

@Suite("Admission before the routes")
struct RouteAdmissionTests {
  /// The answer to a grant of a product that is not there: 404, once it is admitted.
  private func ask(
    _ server: ServerHarness, device: String = "device-of-the-reader", from address: String? = nil
  ) async throws -> ClientResponse {
    let request = GrantRequest(
      proof: Proof(store: "sandbox", receipt: "AAAA"), product: try #require(.init("com.example.issue1")),
      device: Device(id: try #require(.init(device))))
    var call = ClientRequest(
      method: "POST", url: server.api.url("/v1/grants"),
      headers: [("Content-Type", "application/json")] + (address.map { [("X-Forwarded-For", $0)] } ?? []))
    call.body = .bytes(try APIJSON.encode(request))
    return try await server.client.send(call)
  }

  private func statuses(_ count: Int, _ body: () async throws -> ClientResponse) async throws -> [Int] {
    var statuses: [Int] = []
    for _ in 0..<count { statuses.append(try await body().status) }
    return statuses
  }

  @Test("each route has the class that it should have, and a new public one must be put here")
  func classes() async throws {
    try await ServerHarness.run { server in
      for declaration in server.server.routeDeclarations {
        let route = "\(declaration.method.rawValue) \(declaration.pattern)"
        let expected: AdmissionClass?
        switch (declaration.access, route) {
        case (.byRequest, _): expected = .upload
        case (.key, _): expected = .operator
        case (.open, "GET /healthz"), (.open, "GET /readyz"): expected = nil
        case (.open, "GET /v1/content/{digest}"), (.open, "GET /v1/content/{digest}/manifest"):
          expected = nil
        case (.open, "GET /metrics"): expected = .operator
        case (.open, "POST /v1/entitlements"), (.open, "POST /v1/grants"), (.open, "POST /v1/readers"),
          (.open, "POST /v1/readers/list"), (.open, "POST /v1/readers/{name}/remove"):
          expected = .store
        case (.open, "GET /v1/grants/{grant}"), (.open, "POST /v1/grants/{grant}/tickets"),
          (.open, "GET /v1/grants/{grant}/progress"), (.open, "PUT /v1/grants/{grant}/progress"):
          expected = .ticket
        case (.open, "POST /v1/grants/{grant}/completion"), (.open, "POST /v1/grants/{grant}/failure"):
          expected = .completion
        case (.open, "GET /v1/feed"), (.open, "GET /v1/license"): expected = .feed
        default: expected = .catalog
        }
        #expect(AdmissionClass(of: declaration) == expected, "\(route)")
        // A store's own servers post what they tell, from few addresses; applications put how far was read, with a reader's key, and sign in.
        let mayWrite =
          route.hasPrefix("POST /v1/notifications/") || route.hasPrefix("PUT /opds/")
          || route.hasPrefix("POST /opds/oauth/")
        if expected == .catalog, !mayWrite {
          #expect(declaration.method == .get, "\(route)")
        }
      }
    }
  }

  @Test("a device beyond its rate is answered 429 with a time to come back, and another is served")
  func devices() async throws {
    let limit = "{class: 'store', ratePerClient: 1, burstPerClient: 5}"
    try await ServerHarness.run(options: ["--admission-class", limit], timer: ManualMonotonicClock()) {
      server in
      let answers = try await statuses(9) { try await ask(server) }
      #expect(answers.filter { $0 == 429 }.count >= 3)
      let refusal = try await ask(server)
      #expect(refusal.status == 429)
      let seconds = try #require(refusal.headers["Retry-After"].flatMap { Int($0) })
      #expect((1...20).contains(seconds))
      guard case .problem(let problem) = APIClient.refusal(refusal) else {
        Issue.record("a refusal is a problem document")
        return
      }
      #expect(problem.code == .tooManyRequests)
      #expect(problem.retryAfterSeconds == seconds)
      #expect(try await ask(server, device: "device-of-another").status == 404)
    }
  }

  @Test("the client's address counts, as a trusted proxy names it; that of another peer's field does not")
  func forwarded() async throws {
    let limit = "{class: 'store', ratePerAddress: 1, burstPerAddress: 5, ratePerClient: 0}"
    let options = ["--admission-class", limit, "--trusted-proxy", "127.0.0.1"]
    try await ServerHarness.run(options: options, timer: ManualMonotonicClock()) { server in
      let answers = try await statuses(9) { try await ask(server, from: "192.0.2.1") }
      #expect(answers.contains(429))
      #expect(try await ask(server, from: "192.0.2.2").status == 404)
      // The proxy itself stands for many.
      let unnamed = try await statuses(9) { try await ask(server) }
      #expect(unnamed == [Int](repeating: 404, count: 9))
    }
    let untrusted = Array(options.prefix(2))
    try await ServerHarness.run(options: untrusted, timer: ManualMonotonicClock()) { server in
      let answers = try await statuses(9) {
        try await ask(server, from: "192.0.2.\(Int.random(in: 1...250))")
      }
      #expect(answers.contains(429))
    }
    try await ServerHarness.run(
      options: untrusted + ["--unlimited-address", "127.0.0.0/8"], timer: ManualMonotonicClock()
    ) { server in
      let answers = try await statuses(9) { try await ask(server) }
      #expect(answers == [Int](repeating: 404, count: 9))
    }
  }

  @Test("each proof of a request counts for its address, also where names of devices are invented")
  func proofs() async throws {
    let limit = "{class: 'store', ratePerAddress: 1, burstPerAddress: 10, ratePerClient: 0}"
    try await ServerHarness.run(options: ["--admission-class", limit], timer: ManualMonotonicClock()) {
      server in
      var answers: [Int] = []
      for number in 1...3 {
        var request = EntitlementsRequest(
          proof: Proof(), device: Device(id: try #require(.init("device-\(number)"))))
        request.proofs = try #require(
          ProofList(Array(repeating: Proof(store: "sandbox", receipt: "AAAA"), count: 8)))
        var call = ClientRequest(
          method: "POST", url: server.api.url("/v1/entitlements"),
          headers: [("Content-Type", "application/json")])
        call.body = .bytes(try APIJSON.encode(request))
        answers.append(try await server.client.send(call).status)
      }
      #expect(answers[0] != 429 && answers[1] == 429 && answers[2] == 429)
    }
  }

  @Test(
    "requests whose bodies are held back keep no other out, and have a place only when their bodies are whole"
  )
  func heldBack() async throws {
    let options = ["--admission-class", "{class: 'store', inProgress: 1}"]
    let timer = ManualMonotonicClock()
    try await ServerHarness.run(options: options, timer: timer) { server in
      let port = try #require(
        server.server.addresses.first?.split(separator: ":").last.flatMap { UInt16($0) })
      var connections: [RawConnection] = []
      for _ in 0..<8 {
        let connection = try RawConnection.tcp(port: port)
        try await connection.send(
          "POST /v1/grants HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        // The responder is reading.
        #expect(try await connection.receive(through: "\r\n\r\n").hasPrefix("HTTP/1.1 100 "))
        try await connection.send("{")
        connections.append(connection)
      }
      #expect(try await ask(server).status == 404)
      try await connections[0].send("}")
      #expect(try await connections[0].receiveResponse().head.status == 400)
      let admission = server.server.components.admission
      #expect(try admission.admit(.store, from: .unix, client: nil) == .now)
      try await connections[1].send("}")
      async let another = ask(server).status
      while admission.counts[.store]?.waiting != 2 { await Task.yield() }
      timer.advance(by: .seconds(2))
      admission.sweep()
      let refusal = try await connections[1].receiveResponse()
      #expect(refusal.head.status == 503)
      #expect(refusal.head["Retry-After"] != nil)
      #expect(try await another == 503)
      try await connections[2].send("}")
      while admission.counts[.store]?.waiting != 1 { await Task.yield() }
      admission.didAnswer(.store)
      #expect(try await connections[2].receiveResponse().head.status == 400)
      #expect(try await ask(server).status == 404)
    }
  }

  @Test(
    "a client that knows a grant's name uses up what its own network may ask about it, not what the owner may"
  )
  func grants() async throws {
    let options = [
      "--admission-class", "{class: 'ticket', ratePerClient: 1, burstPerClient: 5}",
      "--admission-class", "{class: 'completion', ratePerClient: 1, burstPerClient: 5}",
      "--trusted-proxy", "127.0.0.1",
    ]
    try await ServerHarness.run(options: options, timer: ManualMonotonicClock()) { server in
      func status(_ method: String, _ suffix: String, from address: String) async throws -> Int {
        let url = server.api.url("/v1/grants/00000000000000000000000000000000" + suffix)
        return try await server.client.send(
          ClientRequest(method: method, url: url, headers: [("X-Forwarded-For", address)])
        ).status
      }
      for (method, suffix) in [("GET", ""), ("POST", "/completion")] {
        var answers: [Int] = []
        for _ in 0..<9 { answers.append(try await status(method, suffix, from: "192.0.2.1")) }
        #expect(answers.last == 429)
        #expect(try await status(method, suffix, from: "192.0.2.2") != 429)
      }
    }
  }

  @Test(
    "a request that is cancelled is no fault to report and counts as 499; where only its work was, it counts as 503",
    arguments: [false, true])
  func cancelled(isRequest: Bool) async throws {
    var routes = APIRoutes()
    routes.on(.get, "/abandoned") { _, _ in throw CancellationError() }
    let observed = Locked<[Int]>([])
    let router = routes.router(
      reporting: { _, error in Issue.record(error) },
      observing: { _, _, response, problem, _ in
        #expect((problem == nil) == isRequest)
        observed.withLock { $0.append(response.status.rawValue) }
      })
    let request = try HTTPRequest(method: .get, rawTarget: "/abandoned")
    let response = await Task {
      if isRequest { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
      return await router.respond(to: request)
    }.value
    #expect(observed.current == [isRequest ? 499 : 503])
    #expect(response.isAbandonment == isRequest)
    #expect(response.status.rawValue == 503)
    #expect(response.headers["X-Request-Id"] != nil)
    #expect(response.headers["Retry-After"] == "1")
    guard case .bytes(let body) = response.body else {
      Issue.record("a refusal is a problem document")
      return
    }
    #expect(try APIJSON.decode(Problem.self, from: body).code == .unavailable)
  }

  @Test("a client that ends its side with its request gets the answer of a server that has room")
  func halfClosed() async throws {
    try await ServerHarness.run { server in
      let port = try #require(
        server.server.addresses.first?.split(separator: ":").last.flatMap { UInt16($0) })
      let body = #"{"type":"consumable"}"#
      let key = "Authorization: Bearer \(ServerHarness.operatorKey)\r\n"
      for number in 0..<50 {
        for request in [
          "GET /v1/operator/products HTTP/1.1\r\nHost: h\r\n\(key)\r\n",
          "GET /v1/publications HTTP/1.1\r\nHost: h\r\n\r\n",
          "PUT /v1/operator/products/com.example.p\(number) HTTP/1.1\r\nHost: h\r\n\(key)"
            + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)",
        ] {
          let connection = try RawConnection.tcp(port: port)
          try await connection.send(request)
          connection.endSending()
          let text = String(decoding: try await connection.receiveToEnd(), as: UTF8.self)
          #expect(text.hasPrefix("HTTP/1.1 20"), "\(request.prefix(30)): \(text)")
        }
      }
    }
  }

  @Test("a client that hangs up while its store is asked is no server's failure")
  func hungUp() async throws {
    try await ServerHarness.run { server in
      try await server.publish([1, 2, 3])
      let (asked, asking) = AsyncStream.makeStream(of: Void.self)
      let (answered, answering) = AsyncStream.makeStream(of: Void.self)
      server.store.state.withLock { state in
        state.duringVerification = {
          asking.finish()
          for await _ in answered {}
        }
      }
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      let body = try APIJSON.encode(
        GrantRequest(
          proof: Proof(store: "sandbox", receipt: receipt),
          product: try #require(.init("com.example.issue1")), device: server.device))
      let port = try #require(
        server.server.addresses.first?.split(separator: ":").last.flatMap { UInt16($0) })
      let connection = try RawConnection.tcp(port: port)
      try await connection.send(
        "POST /v1/grants HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
          + "Content-Length: \(body.count)\r\n\r\n" + String(decoding: body, as: UTF8.self))
      for await _ in asked {}
      connection.reset()
      var page = ""
      while !page.contains("pullbox_http_requests_total{route=\"/v1/grants\",code=\"499\"} 1") {
        page = String(
          decoding: try await server.client.send(
            ClientRequest(method: "GET", url: server.api.url("/metrics"))
          ).body, as: UTF8.self)
      }
      answering.finish()
      #expect(!page.contains("pullbox_http_responses_total{code=\"503\"}"))
      #expect(page.contains("pullbox_admission_in_progress{class=\"store\"} 0"))
      // Whoever asks next is served.
      #expect(try await server.grant(receipt: receipt).status == 201)
    }
  }

  @Test("content and health are asked without end")
  func exempt() async throws {
    let limits = AdmissionClass.allCases.flatMap {
      ["--admission-class", "{class: '\($0.rawValue)', ratePerAddress: 1, burstPerAddress: 30}"]
    }
    try await ServerHarness.run(options: limits, timer: ManualMonotonicClock()) { server in
      try await server.publish([1, 2, 3])
      let grant = try await server.grantForPurchase()
      for _ in 0..<100 {
        #expect(try await server.fetch(grant).status == 200)
        #expect(try await server.api.exchange("GET", "/healthz").status == 200)
      }
      let url = server.api.url("/v1/products")
      let answers = try await statuses(60) {
        try await server.client.send(ClientRequest(method: "GET", url: url))
      }
      #expect(answers.contains(429))
    }
  }

  @Test("an operator's key and a grant have buckets of their own")
  func clients() async throws {
    let limits = [
      "--admission-class", "{class: 'operator', ratePerClient: 1, burstPerClient: 40}",
      "--admission-class", "{class: 'ticket', ratePerClient: 1, burstPerClient: 5}",
    ]
    try await ServerHarness.run(options: limits, timer: ManualMonotonicClock()) { server in
      try await server.publish([1, 2, 3])
      let grant = try await server.grantForPurchase()
      func status(_ path: String, _ key: String?) async throws -> Int {
        try await server.client.send(
          ClientRequest(
            method: "GET", url: server.api.url(path),
            headers: key.map { [("Authorization", "Bearer \($0)")] } ?? [])
        ).status
      }
      var answers: [Int] = []
      for _ in 0..<60 { answers.append(try await status("/v1/operator/products", ServerHarness.operatorKey)) }
      #expect(answers.first == 200 && answers.last == 429)
      #expect(try await status("/v1/operator/products", "wrong") == 401)
      answers = []
      for _ in 0..<9 { answers.append(try await status("/v1/grants/\(grant.grant)", nil)) }
      #expect(answers.last == 429)
      #expect(try await status("/v1/grants/00000000000000000000000000000000", nil) == 404)
    }
  }

  @Test("a reload takes other limits, and limits that make no sense are refused")
  func reload() async throws {
    try await ServerHarness.run(timer: ManualMonotonicClock()) { server in
      let before = try await statuses(30) { try await ask(server) }
      #expect(before == [Int](repeating: 404, count: 30))
      var configuration = server.configuration
      configuration.admissionClasses = [.init(class: "store", ratePerClient: 1, burstPerClient: 2)]
      configuration.bodyMemory = .init(.mebibytes(9))
      let changed = configuration
      await server.server.reload { changed }
      let after = try await statuses(9) { try await ask(server) }
      #expect(after.last == 429)
      let page = try await server.api.exchange("GET", "/metrics")
      let text = String(decoding: page.body, as: UTF8.self)
      #expect(text.contains("pullbox_request_body_budget_bytes \(9 << 20)\n"))
      #expect(text.contains(#"pullbox_admission_refused_total{class="store",reason="client"} "#))
      #expect(text.contains(#"pullbox_admission_in_progress{class="operator"} 1"#))
      for wrong: DeliveryConfiguration.AdmissionClassLimits in [
        .init(class: "shop"), .init(class: "store", ratePerAddress: -1),
        .init(class: "store", inProgress: -1),
      ] {
        var wrongly = configuration
        wrongly.admissionClasses = [wrong]
        let refused = wrongly
        #expect(throws: (any Error).self) { try refused.admissionLimits() }
      }
    }
  }

  @Test(
    "a question writes nothing, not even what was sent a moment ago", .enabled(if: !TestDatabase.isOnServer))
  func questions() async throws {
    // The recorder's clock stands still: nothing but a request can write.
    try await ServerHarness.run(timer: ManualMonotonicClock()) { server in
      try await server.publish([1, 2, 3])
      let grant = try await server.grantForPurchase()
      #expect(try await server.fetch(grant).status == 200)
      let log = server.configuration.state + "/server.db-wal"
      let before = try FileSystem.read(log, upTo: .mebibytes(64))
      #expect(try await server.status(grant).bytesDelivered == ByteCount(3))
      for path in [
        "/metrics", "/v1/products", "/products_v1.json", "/healthz", "/readyz", "/v1/grants/\(grant.grant)",
        grant.download.manifestURL, "/nowhere",
      ] {
        _ = try await server.client.send(ClientRequest(method: "GET", url: server.api.url(path)))
      }
      for path in ["/v1/operator/deliveries", "/v1/operator/audit", "/v1/operator/products"] {
        #expect(try await server.operatorAPI.exchange("GET", path).status == 200)
      }
      #expect(try FileSystem.read(log, upTo: .mebibytes(64)) == before)
    }
  }
}
