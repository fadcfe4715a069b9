import HTTPParsing
import HTTPServer
import Testing

struct RouterTests {
  private let router = Router(
    notFound: { _ in HTTPResponse(status: .notFound, body: .bytes(Array("nowhere".utf8))) },
    methodNotAllowed: { _, allowed in
      HTTPResponse(status: .methodNotAllowed, body: .bytes(Array("\(allowed.count)".utf8)))
    },
    routes: { routes in
      func answer(_ name: String, _ parameters: [String]) -> RouteTable.Responder {
        { _, values in
          let text = parameters.map { "\($0)=\(values[$0])" }.joined(separator: ",")
          return HTTPResponse(status: .ok, body: .bytes(Array("\(name) \(text)".utf8)))
        }
      }
      routes.on(.get, "/v1/content/{digest}", use: answer("content", ["digest"]))
      routes.on(.get, "/v1/content/{digest}.meta4", use: answer("metalink", ["digest"]))
      routes.on(.get, "/v1/content/latest", use: answer("latest", []))
      routes.on(.get, "/v1/content/{digest}/manifest", use: answer("manifest", ["digest"]))
      routes.on(
        .post, "/v1/products/{id}/versions/{version}/release", use: answer("release", ["id", "version"]))
      routes.on(.get, "/v1/products/{id}", use: answer("product", ["id"]))
      routes.on(.put, "/v1/products/{id}", use: answer("put", ["id"]))
      routes.on(.get, "/files/{path...}", use: answer("files", ["path"]))
      routes.on(.get, "/", use: answer("root", []))
    })

  private func answer(_ method: HTTPMethod, _ target: String) async throws -> (Int, String, String?) {
    let response = await router.respond(to: try HTTPRequest(method: method, rawTarget: target))
    guard case .bytes(let bytes) = response.body else { return (response.status.rawValue, "", nil) }
    return (response.status.rawValue, String(decoding: bytes, as: UTF8.self), response.headers["Allow"])
  }

  @Test(
    "the most particular route answers",
    arguments: [
      ("/", "root "), ("/v1/content/abc", "content digest=abc"),
      ("/v1/content/abc.meta4", "metalink digest=abc"),
      ("/v1/content/latest", "latest "), ("/v1/content/abc/manifest", "manifest digest=abc"),
      ("/v1/content/.meta4", "content digest=.meta4"), ("/v1/products/a%20b?x=y", "product id=a b"),
      ("/files/a/b/c", "files path=a/b/c"), ("/files/", "files path="),
    ])
  func particular(target: String, expected: String) async throws {
    let (status, text, _) = try await answer(.get, target)
    #expect(status == 200)
    #expect(text == expected)
  }

  @Test(
    "what matches no pattern is not found",
    arguments: ["/v1", "/v1/content", "/v1/content/a/b", "/v1/content/a/", "//", "/files"])
  func notFound(_ target: String) async throws {
    let (status, text, _) = try await answer(.get, target)
    #expect(status == 404)
    #expect(text == "nowhere")
  }

  @Test("another method is told which are allowed, HEAD among them where GET is")
  func methodNotAllowed() async throws {
    let (status, text, allow) = try await answer(.delete, "/v1/products/a")
    #expect(status == 405)
    #expect(text == "3")
    #expect(allow == "GET, HEAD, PUT")
    #expect(try await answer(.get, "/v1/products/a/versions/1/release").2 == "POST")
  }

  @Test("a path that a pattern spells out has the methods of that pattern and no others")
  func spelledOut() async throws {
    let router = Router { routes in
      routes.on(.get, "/v1/products/{id}") { _, _ in HTTPResponse(status: .ok) }
      routes.on(.put, "/v1/products/{id}") { _, _ in HTTPResponse(status: .noContent) }
      routes.on(.get, "/v1/products/invalid") { _, _ in HTTPResponse(status: .accepted) }
    }
    func request(_ method: HTTPMethod, _ target: String) throws -> HTTPRequest {
      try HTTPRequest(method: method, rawTarget: target)
    }
    #expect(try await router.respond(to: request(.get, "/v1/products/invalid")).status == .accepted)
    let refusal = try await router.respond(to: request(.put, "/v1/products/invalid"))
    #expect(refusal.status == .methodNotAllowed)
    #expect(refusal.headers["Allow"] == "GET, HEAD")
    #expect(try router.methods(of: request(.put, "/v1/products/invalid")) == [.get, .head])
    #expect(try await router.respond(to: request(.put, "/v1/products/other")).status == .noContent)
  }

  @Test(
    "a method that no route has and RFC 9110 does not name is not implemented, on any path",
    arguments: ["TRACE", "PROPFIND", "get", "FOO"], ["/v1/products/a", "/nowhere"])
  func notImplemented(method: String, path: String) async throws {
    let (status, _, allow) = try await answer(HTTPMethod(rawValue: method), path)
    #expect(status == 501)
    #expect(allow == nil)
  }

  @Test("OPTIONS * tells the methods of all routes, and other paths do not know it")
  func options() async throws {
    let response = await router.respond(to: try HTTPRequest(method: .options, rawTarget: "*"))
    #expect(response.status == .noContent)
    #expect(response.headers["Allow"] == "GET, HEAD, OPTIONS, POST, PUT")
    #expect(try await answer(.options, "/v1/products/a").0 == 405)
    #expect(try await answer(.options, "/nowhere").0 == 404)
  }

  @Test("HEAD is served by the route of GET")
  func head() async throws {
    #expect(try await answer(.head, "/v1/products/a").1 == "product id=a")
  }

  @Test(
    "targets that do not decode to text are refused",
    arguments: ["/a%2Fb", "/%FF", "/%0a", "/%zz", "/?a=%FF", "a", ""])
  func undecodable(_ target: String) {
    #expect(throws: RequestTargetError.self) { try HTTPRequest(method: .get, rawTarget: target) }
  }

  @Test("below an undivided path the rest is one segment, in which slashes may be escaped")
  func undivided() throws {
    for (target, segments) in [
      ("/ocsp/a%2Fb/c%2B", ["ocsp", "a/b/c+"]), ("/ocsp//", ["ocsp", "/"]), ("/ocsp/", ["ocsp", ""]),
      ("/ocsp", ["ocsp"]), ("/ocspx/a/b", ["ocspx", "a", "b"]), ("/a/ocsp/b/c", ["a", "ocsp", "b", "c"]),
    ] {
      let request = try HTTPRequest(method: .get, rawTarget: target, undividedPaths: ["/ocsp/"])
      #expect(request.pathSegments == segments, "\(target)")
    }
    for target in ["/a%2Fb", "/ocsp%2Fa%2Fb", "/ocsp/%00", "/ocsp/%FF", "/ocsp/%zz"] {
      #expect(throws: RequestTargetError.self, "\(target)") {
        try HTTPRequest(method: .get, rawTarget: target, undividedPaths: ["/ocsp/"])
      }
    }
  }

  @Test("a query is decoded in order, and repeats")
  func query() throws {
    let request = try HTTPRequest(method: .get, rawTarget: "/?id=A&id=B%26+c&empty=&alone&locale=fr-FR&a=b=c")
    #expect(request.queryValues("id") == ["A", "B& c"])
    #expect(request.queryValue("empty") == "")
    #expect(request.queryValue("alone") == "")
    #expect(request.queryValue("a") == "b=c")
    #expect(request.queryValue("missing") == nil)
  }

  @Test("field names compare without case, and setting leaves one")
  func fields() {
    var fields: HTTPFields = ["Accept": "a", "X": "y"]
    fields.append(name: "ACCEPT", value: "b")
    #expect(fields["accept"] == "a")
    #expect(fields.values(of: "Accept") == ["a", "b"])
    fields["accept"] = "c"
    #expect(fields.map(\.name) == ["accept", "X"])
    fields["accept"] = nil
    #expect(fields.count == 1)
  }

  @Test(
    "addresses are read as they are written",
    arguments: ["127.0.0.1:8080", "[::1]:80", "localhost:0", "unix:/run/pullbox.sock"])
  func addresses(_ text: String) throws {
    #expect(try #require(ServerAddress(text)).description == text)
  }

  @Test(
    "what is no address is none", arguments: ["", "8080", ":80", "h:", "h:65536", "::1:80", "unix:", "h:x"])
  func notAddresses(_ text: String) {
    #expect(ServerAddress(text) == nil)
  }
}
