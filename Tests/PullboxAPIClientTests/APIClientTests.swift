import CoreTypes
import HTTPClient
import HTTPServer
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

@testable import PullboxAPIClient

@Suite("Calls of a service")
struct APIClientTests {
  private static let page = "<html><body>Log in</body></html>"

  /// The error of a GET that is answered so.
  private func error(
    _ status: Int, _ headers: HTTPFields = [:], body: String = "", upTo limit: ByteCount = .mebibytes(32)
  ) async throws -> APICallError? {
    try await ScriptedService(status, headers, body: body).run { api in
      var api = api
      api.maximumResponseLength = limit
      return await #expect(throws: APICallError.self) {
        try await api.get("/v1/status", as: ReceiptResponse.self)
      }
    }
  }

  @Test("a value is got with the client's credential, and sent as JSON")
  func calls() async throws {
    let service = ScriptedService(201, body: #"{"receipt":"MIIB","later":1}"#)
    try await service.run { api in
      let got = try await api.get("/v1/a", query: [("id", "a b"), ("id", "é&=")], as: ReceiptResponse.self)
      #expect(got.receipt == "MIIB")
      let put: APIResponse<ReceiptResponse> = try await api.call("PUT", "/v1/b", body: ["b": 1])
      #expect(put.status == 201 && put.value.receipt == "MIIB")
      _ = try await api.call(
        "POST", "/v1/c", bytes: Array("x".utf8), mediaType: "application/jose", as: ReceiptResponse.self)
      _ = try await api.call("POST", "/v1/d", body: EmptyBody(), as: ReceiptResponse.self)
    }
    #expect(
      service.requests == [
        "GET /v1/a?id=a%20b&id=%C3%A9%26%3D Bearer k - ", #"PUT /v1/b Bearer k application/json {"b":1}"#,
        "POST /v1/c Bearer k application/jose x", "POST /v1/d Bearer k application/json {}",
      ])
  }

  @Test(
    "a call that ends by its time is not looked at for its speed; one without a time is, and so is one that says how fast it has to be"
  )
  func bounds() async throws {
    try await ScriptedService(200, body: "{}").run { api in
      func bounds(_ change: (inout APIClient) -> Void) -> ClientRequest {
        var api = api
        change(&api)
        var request = ClientRequest(method: "GET", url: "http://127.0.0.1/")
        api.setBounds(of: &request)
        return request
      }
      let timed = bounds { $0.timeout = .seconds(3600) }
      #expect(timed.totalTimeout == .seconds(3600) && timed.lowSpeed == nil)
      let untimed = bounds { $0.timeout = nil }
      #expect(untimed.totalTimeout == nil && untimed.lowSpeed?.duration == .seconds(60))
      let both = bounds { $0.lowSpeed = .init(bytesPerSecond: ByteCount(9), duration: .seconds(7)) }
      #expect(both.totalTimeout == .seconds(30) && both.lowSpeed?.duration == .seconds(7))
    }
  }

  @Test("a refusal is the service's problem document, with what it says about waiting")
  func problems() async throws {
    let body = #"{"type":"urn:pullbox:problem:too-many-requests","title":"T","status":429,"detail":"wait"}"#
    let refused = try await error(429, ["Retry-After": "20"], body: body)
    guard case .problem(let problem) = refused else {
      Issue.record("\(String(describing: refused))")
      return
    }
    #expect(problem.code == .tooManyRequests && problem.detail == "wait")
    #expect(
      refused?.retryAfter == .seconds(20) && refused?.isUnavailable == true && refused?.isTemporary == true)
  }

  @Test(
    "a page of a proxy is no problem document; its status and its Retry-After count",
    arguments: [404, 502, 503])
  func pages(status: Int) async throws {
    let headers: HTTPFields = ["Content-Type": "text/html", "Retry-After": "7"]
    let refused = try await error(status, headers, body: Self.page)
    guard case .unexpectedResponse(status, let detail, .seconds(7), true) = refused else {
      Issue.record("\(String(describing: refused))")
      return
    }
    #expect(detail == Self.page)
    #expect(refused?.isUnavailable == (status != 404) && refused?.isTemporary == (status != 404))
  }

  @Test("an empty refusal, and one in JSON of another kind, are told with their status")
  func otherRefusals() async throws {
    guard case .unexpectedResponse(500, "no problem document", nil, true) = try await error(500) else {
      Issue.record("an empty body is no problem document")
      return
    }
    let body = #"{"message":"no"}"#
    guard case .unexpectedResponse(401, body, nil, false) = try await error(401, body: body) else {
      Issue.record("JSON of another kind is no problem document")
      return
    }
  }

  @Test("an answer of 200 that is not the document is not taken for it, and a page is told from JSON")
  func otherDocuments() async throws {
    guard case .unexpectedResponse(200, "receipt is missing", _, false) = try await error(200, body: "{}")
    else {
      Issue.record("another document is not understood")
      return
    }
    guard case .unexpectedResponse(200, _, _, true) = try await error(200, body: Self.page) else {
      Issue.record("a page is not understood")
      return
    }
  }

  @Test(
    "a body is read up to its bound, and one byte more is refused, whatever its status",
    arguments: [200, 503])
  func longBodies(status: Int) async throws {
    let body = #"{"receipt":"\#(String(repeating: "A", count: 986))"}"#
    let refused = try await error(status, body: body, upTo: ByteCount(body.utf8.count - 1))
    guard case .unreachable(let reason) = refused else {
      Issue.record("\(String(describing: refused))")
      return
    }
    #expect(reason.code == .tooLarge)
    try await ScriptedService(200, body: body).run { api in
      var api = api
      api.maximumResponseLength = ByteCount(body.utf8.count)
      let whole = try await api.get("/", as: ReceiptResponse.self)
      #expect(whole.receipt.utf8.count == 986)
    }
  }

  @Test("a service that is not there is unreachable, and the observer is told of every request")
  func observed() async throws {
    let told = Locked<[String]>([])
    let observer: @Sendable (APIExchange) -> Void = { exchange in
      let path = exchange.url.split(separator: "/").last ?? ""
      let outcome = exchange.status.map { "\($0)" } ?? exchange.error?.code.description ?? "-"
      told.withLock { $0.append("\(exchange.method) \(path) \(outcome)") }
      #expect((exchange.status == nil) == (exchange.error != nil) && exchange.duration >= .zero)
    }
    try await ScriptedService(204).run { api in
      var api = api
      api.observer = observer
      _ = try await api.exchange("DELETE", "/there")
    }
    let directory = try TemporaryDirectory()
    var api = APIClient(
      baseURL: "http://service", client: try HTTPClient(), unixSocketPath: directory.path("none.sock"))
    api.observer = observer
    let absent = api
    let error = await #expect(throws: APICallError.self) { try await absent.exchange("GET", "/gone") }
    guard case .unreachable = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(error?.isUnavailable == true && error?.retryAfter == nil)
    #expect(told.current == ["DELETE there 204", "GET gone connectionFailed"])
  }

  // MARK: Addresses

  private func api(_ baseURL: String) throws -> APIClient {
    APIClient(baseURL: baseURL, credential: "k", client: try HTTPClient())
  }

  @Test("an address is completed with the base, and its query is escaped (RFC 3986 §2)")
  func addresses() throws {
    let api = try api("https://pull.example/base/")
    #expect(api.baseURL == "https://pull.example/base")
    #expect(api.url("/v1/a") == "https://pull.example/base/v1/a")
    #expect(api.url("https://cdn.example/x") == "https://cdn.example/x")
    #expect(api.url("/a", query: [("q", "")]) == "https://pull.example/base/a?q=")
    #expect(api.url("/a?b=1", query: [("c", "2")]) == "https://pull.example/base/a?b=1&c=2")
    let unreserved = "AZaz09-._~"
    let query = [("k/", "\(unreserved) +&=?#%é\n")]
    #expect(api.url("/", query: query).hasSuffix("/?k%2F=\(unreserved)%20%2B%26%3D%3F%23%25%C3%A9%0A"))
  }

  @Test("the credential goes to addresses below the base, and to no other that an answer may name")
  func credentials() throws {
    let api = try api("https://pull.example/base")
    func bears(_ url: String) -> Bool {
      api.request("GET", url).headers.contains { $0 == ("Authorization", "Bearer k") }
    }
    #expect(bears("https://pull.example/base/v1/a"))
    for url in [
      "https://cdn.example/v1/a", "http://pull.example/base/v1/a", "https://pull.example/other",
      "https://pull.example/base2/a", "https://pull.example.evil/base/a", "https://pull.example/base",
    ] { #expect(!bears(url), "\(url)") }
  }

  @Test("a service that is reached over https leads to no address without it, and no request is made")
  func schemes() async throws {
    let secure = try api("HTTPS://pull.example")
    #expect(secure.keepsScheme("https://cdn.example/x") && secure.keepsScheme("Https://cdn.example/x"))
    #expect(!secure.keepsScheme("http://pull.example/x") && !secure.keepsScheme("ftp://pull.example/x"))
    #expect(try api("http://pull.example").keepsScheme("http://cdn.example/x"))
    let error = await #expect(throws: APICallError.self) {
      try await secure.exchange("GET", "http://127.0.0.1:1/x")
    }
    guard case .unexpectedResponse(0, let detail, _, _) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(detail.contains("is not https"))
  }

  @Test("a page is whatever is no JSON object, with blanks before it or without")
  func isPage() {
    for text in ["", " ", "\n", "<html>", "[]", "\"a\"", "null", "\u{FEFF}{}"] {
      #expect(APIClient.isPage(Array(text.utf8)), "\(text)")
    }
    for text in ["{}", " \t\r\n{\"a\":1}", "{"] { #expect(!APIClient.isPage(Array(text.utf8)), "\(text)") }
  }
}
