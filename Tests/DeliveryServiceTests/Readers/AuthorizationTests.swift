import Commerce
import CoreTypes
import Crypto
import DeliveryTesting
import Foundation
import HTTPClient
import HTTPParsing
import HTTPServer
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceRuntime
import Testing

@testable import CatalogFeeds
@testable import DeliveryRecords
@testable import DeliveryService

/// docs/catalogue-feeds.md, "Signing in by a page": RFC 6749 §4.1, RFC 7636, RFC 8252, RFC 9207.
@Suite("Signing in by a page", .timeLimit(.minutes(2)))
struct AuthorizationTests {
  private static let content = (0..<2000).map { UInt8(truncatingIfNeeded: $0) }
  private static let page = "/opds/oauth/authorize"
  private static let exchange = "/opds/oauth/token"
  // RFC 7636, appendix B.
  private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
  private static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
  private static let request = [
    ("response_type", "code"), ("client_id", "http://opds-spec.org/auth/client"),
    ("redirect_uri", "opds://authorize/"), ("code_challenge", challenge), ("code_challenge_method", "S256"),
    ("state", "a b/é".percentEncoded),
  ]

  private static func form(_ fields: [(String, String)]) -> String {
    fields.map { "\($0.0)=\($0.1.percentEncoded)" }.joined(separator: "&")
  }

  private func changed(_ name: String, to value: String?) -> [(String, String)] {
    let rest = Self.request.filter { $0.0 != name }
    return rest + (value.map { [(name, $0)] } ?? [])
  }

  private func ask(_ fields: [(String, String)], _ shop: ReaderShop) async throws -> ClientResponse {
    try await shop.send("\(Self.page)?\(Self.form(fields))")
  }

  private func post(
    _ path: String, _ fields: [(String, String)], _ shop: ReaderShop, from address: String? = nil
  ) async throws -> ClientResponse {
    try await shop.send(
      "POST", path,
      headers: [("Content-Type", "application/x-www-form-urlencoded")]
        + (address.map { [("X-Forwarded-For", $0)] } ?? []), body: Array(Self.form(fields).utf8))
  }

  /// The parameters of the address to which a browser is led.
  private func parameters(of answer: ClientResponse) throws -> [String: String] {
    let location = try #require(answer.headers["Location"])
    let query = try #require(location.split(separator: "?", maxSplits: 1).last)
    let read = try HTTPRequest(method: .get, rawTarget: "/?\(query)").query
    return Dictionary(read.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
  }

  private func code(for key: NewReaderKey, _ shop: ReaderShop) async throws -> String {
    let answer = try await post(
      Self.page, Self.request + [("name", key.name), ("password", key.password)], shop)
    #expect(answer.status == 303)
    return try #require(try parameters(of: answer)["code"])
  }

  private func exchange(
    _ code: String, _ shop: ReaderShop, changing name: String = "", to value: String? = nil
  ) async throws -> ClientResponse {
    let fields = [
      ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", "opds://authorize/"),
      ("client_id", "http://opds-spec.org/auth/client"), ("code_verifier", Self.verifier),
    ]
    return try await post(
      Self.exchange, fields.filter { $0.0 != name } + (value.map { [(name, $0)] } ?? []), shop)
  }

  private func object(_ answer: ClientResponse) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
  }

  @Test("a reader lets an application in on a page, and what the application gets opens what the key opens")
  func flow() async throws {
    try await ReaderShop.run(Self.content, options: ["--public-url", "https://comics.example"]) { shop in
      let key = try await shop.add()
      let page = try await ask(Self.request, shop)
      #expect(page.status == 200)
      let text = String(decoding: page.body, as: UTF8.self)
      #expect(!text.contains("<script"))
      #expect(text.contains("http://opds-spec.org/auth/client") && text.contains("opds://authorize/"))
      let policy = try #require(page.headers["Content-Security-Policy"])
      #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
      #expect(policy.contains("form-action 'self' opds:;"))
      #expect(page.headers["Cache-Control"] == "no-store")

      let answer = try await post(
        Self.page,
        Self.request + [
          ("name", " \(key.name.uppercased())"), ("password", key.password.replacing("-", with: " ")),
        ],
        shop)
      #expect(answer.status == 303)
      #expect(answer.headers["Location"]?.hasPrefix("opds://authorize/?code=") == true)
      let back = try parameters(of: answer)
      #expect(back["state"] == "a b/é".percentEncoded)
      #expect(back["iss"] == "https://comics.example")
      let given = try await exchange(try #require(back["code"]), shop)
      #expect(given.status == 200)
      #expect(given.headers["Cache-Control"] == "no-store")
      let token = try object(given)
      #expect(token["token_type"] as? String == "Bearer")
      let bearer = ("Authorization", "Bearer \(try #require(token["access_token"] as? String))")
      for path in ["/opds/v2/owned", "/opds/files/\(ReaderShop.issue)/1.0/\(ReaderShop.issue).cbz"] {
        let opened = try await shop.send(path, headers: [bearer])
        #expect(opened.status == 200, "\(path)")
      }
      // A token is no password, and the end of its key is its own.
      let basic =
        "Basic "
        + Base64.encode(Array(bearer.1.dropFirst(7).replacing(".", with: ":", maxReplacements: 1).utf8))
      #expect(try await shop.send("/opds/v2/owned", headers: [("Authorization", basic)]).status == 401)
      try await shop.remove(key)
      #expect(try await shop.send("/opds/v2/owned", headers: [bearer]).status == 401)
    }
  }

  @Test("codes that were never given are slowed as wrong passwords are") func guesses() async throws {
    try await ReaderShop.run(Self.content) { shop in
      let key = try await shop.add()
      var statuses: [Int] = []
      for number in 0..<8 {
        statuses.append(try await exchange("\(key.name).\(number)", shop).status)
      }
      #expect(statuses.prefix(5).allSatisfy { $0 == 400 } && statuses.last == 429)
    }
  }

  @Test("of twenty tokens the oldest goes for a new one, which stays also where the clock was set back")
  func manyTokens() async throws {
    try await ReaderShop.run(Self.content) { shop in
      let key = try await shop.add()
      var tokens: [(String, String)] = []
      for number in 0..<22 {
        // Later ones are dated before earlier ones.
        shop.server.clock.advance(by: .seconds(number < 20 ? 1 : -100))
        let given = try await exchange(try await code(for: key, shop), shop)
        let token = try #require(try object(given)["access_token"] as? String)
        tokens.append(("Authorization", "Bearer \(token)"))
      }
      for (number, isKept) in [(21, true), (19, true), (0, false)] {
        let answer = try await shop.send("/opds/v2/owned", headers: [tokens[number]])
        #expect(answer.status == (isKept ? 200 : 401), "\(number)")
      }
    }
  }

  @Test("a code is taken once, within 60 seconds, by who has the verifier, for the same address and client")
  func codes() async throws {
    try await ReaderShop.run(Self.content) { shop in
      let key = try await shop.add()
      for (name, value) in [
        ("code_verifier", String(Self.verifier.reversed())), ("redirect_uri", "opds://authorize/x"),
        ("client_id", "other"), ("code", "x"), ("code", "\(key.name).x"),
      ] {
        let code = try await code(for: key, shop)
        let refused = try await exchange(code, shop, changing: name, to: value)
        #expect(refused.status == 400, "\(name)")
        #expect(try object(refused)["error"] as? String == "invalid_grant")
        guard name != "code" else { continue }
        // It was taken by that.
        #expect(try await exchange(code, shop).status == 400)
      }
      for (name, value, error) in [
        ("grant_type", "password", "unsupported_grant_type"), ("grant_type", nil, "invalid_request"),
        ("code_verifier", "short", "invalid_request"), ("code_verifier", nil, "invalid_request"),
        ("code", nil, "invalid_request"),
      ] as [(String, String?, String)] {
        let refused = try await exchange(try await code(for: key, shop), shop, changing: name, to: value)
        #expect(refused.status == 400)
        #expect(try object(refused)["error"] as? String == error, "\(name)")
      }
      let late = try await code(for: key, shop)
      shop.server.clock.advance(by: .seconds(60))
      #expect(try await exchange(late, shop).status == 400)
      let inTime = try await code(for: key, shop)
      shop.server.clock.advance(by: .seconds(59))
      let given = try await exchange(inTime, shop)
      #expect(given.status == 200)
      let bearer = ("Authorization", "Bearer \(try #require(try object(given)["access_token"] as? String))")
      #expect(try await shop.send("/opds/v2/owned", headers: [bearer]).status == 200)
      // Shown again, it was stolen: what was given for it ends.
      #expect(try await exchange(inTime, shop).status == 400)
      #expect(try await shop.send("/opds/v2/owned", headers: [bearer]).status == 401)
      let body = try await shop.send(
        "POST", Self.exchange, headers: [("Content-Type", "application/json")], body: [])
      #expect(body.status == 400)
      #expect(try object(body)["error"] as? String == "invalid_request")
    }
  }

  @Test("of two exchanges of one code at a time one gets a token at most")
  func once() async throws {
    try await ReaderShop.run(Self.content) { shop in
      let key = try await shop.add()
      let code = try await code(for: key, shop)
      let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<8 { group.addTask { try await exchange(code, shop).status } }
        return try await group.reduce(into: [Int]()) { $0.append($1) }
      }
      #expect(statuses.count { $0 == 200 } == 1)
    }
  }

  @Test(
    "what is wrong with a question is told to the application, and to the reader where there is no address")
  func refusals() async throws {
    try await ReaderShop.run(Self.content) { shop in
      for (name, value, error) in [
        ("response_type", "token", "unsupported_response_type"), ("response_type", nil, "invalid_request"),
        ("code_challenge", nil, "invalid_request"), ("code_challenge", "abc", "invalid_request"),
        ("code_challenge", String(Self.challenge.dropLast()) + "=", "invalid_request"),
        ("code_challenge_method", "plain", "invalid_request"),
        ("code_challenge_method", nil, "invalid_request"),
      ] as [(String, String?, String)] {
        let answer = try await ask(changed(name, to: value), shop)
        #expect(answer.status == 303)
        let back = try parameters(of: answer)
        #expect(back["error"] == error, "\(name) \(value ?? "")")
        #expect(back["state"] == "a b/é".percentEncoded && back["code"] == nil)
      }
      for (name, value) in [
        ("client_id", nil), ("client_id", ""), ("redirect_uri", nil),
        ("redirect_uri", "https://evil.example/"),
        ("redirect_uri", "http://localhost:8080/"), ("redirect_uri", "javascript:alert(1)"),
      ] as [(String, String?)] {
        let answer = try await ask(changed(name, to: value), shop)
        #expect(answer.status == 400, "\(name) \(value ?? "")")
        #expect(answer.headers["Location"] == nil)
        #expect(answer.headers["Content-Type"] == "text/html; charset=utf-8")
      }
      let twice = try await ask(Self.request + [("redirect_uri", "opds://authorize/")], shop)
      #expect(twice.status == 400)
      // Parameters that are not known are ignored, and what was typed is escaped.
      let more = try await ask(changed("client_id", to: "<b>\"x\"") + [("scope", "all")], shop)
      #expect(more.status == 200)
      let text = String(decoding: more.body, as: UTF8.self)
      #expect(text.contains("&lt;b&gt;") && !text.contains("<b>") && text.contains("&quot;x&quot;"))
      let denied = try await post(Self.page, Self.request + [("deny", "1")], shop)
      #expect(denied.status == 303)
      #expect(try parameters(of: denied)["error"] == "access_denied")
    }
  }

  @Test("wrong words on the page are bounded with those that are shown elsewhere")
  func attempts() async throws {
    let timer = ManualMonotonicClock()
    try await ReaderShop.run(
      Self.content, options: ["--trusted-proxy", "127.0.0.1"], timer: timer
    ) { shop in
      let key = try await shop.add()
      func status(_ password: String, from address: String) async throws -> Int {
        try await post(
          Self.page, Self.request + [("name", key.name), ("password", password)], shop, from: address
        ).status
      }
      for number in 0..<20 {
        let answer = try await status("wrong-\(number)", from: "192.0.2.1")
        #expect(answer == (number < ReaderAttempts.burst ? 403 : 429))
      }
      #expect(try await status(key.password, from: "192.0.2.1") == 429)
      #expect(try await status(key.password, from: "198.51.100.1") == 303)
      let basic = try await shop.send(
        "/opds/v2", as: key, headers: [("X-Forwarded-For", "192.0.2.1")])
      #expect(basic.status == 429)
      for name in ["", "a:b", "é", String(repeating: "x", count: 65)] {
        let answer = try await post(
          Self.page, Self.request + [("name", name), ("password", key.password)], shop, from: "198.51.100.1")
        #expect(answer.status == 403, "\(name)")
      }
    }
  }

  @Test("what one node gave another one takes", .enabled(if: TestDatabase.isOnServer))
  func nodes() async throws {
    try await ServerHarness.runNodes { first, second in
      let shop = try await ReaderShop.publish(Self.content, on: first)
      let key = try await shop.add()
      let code = try await code(for: key, shop)
      let other = ReaderShop(server: second)
      let given = try await exchange(code, other)
      #expect(given.status == 200)
      let bearer = ("Authorization", "Bearer \(try #require(try object(given)["access_token"] as? String))")
      for node in [shop, other] {
        #expect(try await node.send("/opds/v2/owned", headers: [bearer]).status == 200)
      }
      #expect(try await exchange(code, shop).status == 400)
    }
  }

  @Test("the documents say where the page is: Basic comes first, and no flow is called what it is not")
  func documents() async throws {
    try await ReaderShop.run(Self.content, options: ["--public-url", "https://comics.example"]) { shop in
      let answer = try await shop.send("/opds/authentication")
      let flows = try #require(try object(answer)["authentication"] as? [[String: Any]])
      #expect(
        flows.compactMap { $0["type"] as? String } == [
          "http://opds-spec.org/auth/basic", "https://www.rfc-editor.org/rfc/rfc6750",
          "https://www.rfc-editor.org/rfc/rfc7636",
        ])
      let links = try #require(flows.last?["links"] as? [[String: String]])
      #expect(links.first?["rel"] == "authenticate")
      #expect(
        links.map { $0["href"] } == ["authorize", "token"].map { "https://comics.example/opds/oauth/\($0)" })
      let metadata = try object(try await shop.send("/.well-known/oauth-authorization-server"))
      #expect(metadata["issuer"] as? String == "https://comics.example")
      #expect(metadata["token_endpoint"] as? String == "https://comics.example/opds/oauth/token")
      #expect(metadata["code_challenge_methods_supported"] as? [String] == ["S256"])
    }
  }

  @Test("an address to be led back to is one that only a program of the device gets")
  func addresses() {
    for (text, source) in [
      ("opds://authorize/", "opds:"), ("com.example.reader:/done", "com.example.reader:"),
      ("COM.Example:x?y=1", "com.example:"), ("http://127.0.0.1/", "http://127.0.0.1"),
      ("http://127.0.0.1:49152/cb?x=1", "http://127.0.0.1:49152"), ("http://[::1]:1/", "http:"),
    ] { #expect(RedirectAddress(text)?.source == source, "\(text)") }
    for text in [
      "", "opds://authorize", "opds://authorize/x", "opds:", "https://reader.example/", "http://example.com/",
      "http://localhost/", "http://127.0.0.1.example/", "http://127.0.0.1:0/", "http://127.0.0.1:70000/",
      "http://127.0.0.1:08/", "http://127.0.0.1@example.com/", "http://user@127.0.0.1/", "http:127.0.0.1",
      "com.example.reader:/done#x", "com.example.reader:", "com..example:/x", ".com:/x", "1.com:/x",
      "javascript:alert(1)", "data:text/html,x", "com.example:/a b", "com.example:/a\r\nLocation:",
      "com.example:/é", "com.example:/" + String(repeating: "x", count: 1000), "no-colon",
    ] { #expect(RedirectAddress(text) == nil, "\(text)") }
    let plain = RedirectAddress("com.example:/x")
    #expect(plain?.adding([("a", "b c&"), ("n", nil)]) == "com.example:/x?a=b%20c%26")
    let query = RedirectAddress("com.example:/x?k=1")
    #expect(query?.adding([("a", "b")]) == "com.example:/x?k=1&a=b")
  }
}
