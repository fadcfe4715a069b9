import CoreTypes
import Database
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxAPIServer
import PullboxTesting
import RouteAccess
import Testing

@testable import DeliveryService

@Suite("Sessions of the console", .timeLimit(.minutes(2)))
struct ConsoleSessionTests {
  private static let everywhere = ["--console", "everywhere"]

  @Test("a key becomes a session, whose cookie no script reads and no other site sends")
  func begin() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      let browser = ConsoleBrowser(server)
      let first = try await browser.get("/console/deliveries?state=granted")
      #expect(first.status == 303)
      #expect(first.location == "/console/sign-in?page=%2Fconsole%2Fdeliveries%3Fstate%3Dgranted")
      let page = try await browser.get("/console/sign-in")
      #expect(page.status == 200)
      #expect(page.text.contains("type=\"password\""))
      let answer = try await browser.signIn()
      #expect(answer.status == 303)
      #expect(answer.location == "/console/")
      let cookie = try #require(answer.headers["Set-Cookie"])
      #expect(cookie.hasPrefix("pullbox-console="))
      for attribute in ["Path=/", "HttpOnly", "SameSite=Strict"] { #expect(cookie.contains(attribute)) }
      #expect(try await browser.get("/console/").status == 200)
      let rows = try await server.server.components.infrastructure.database.read {
        try $0.query("SELECT digest, key_digest FROM console_sessions")
      }
      #expect(rows.count == 1)
      // Neither the cookie's secret nor the key is there.
      let secret = try #require(browser.cookie?.split(separator: "=").last)
      let digest = try #require(rows.first).blob("digest")
      #expect(digest.count == 32 && digest != Array(secret.utf8))
    }
  }

  @Test("every answer has the fields that keep other sites and caches out")
  func fields() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      let browser = ConsoleBrowser(server)
      let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
      func check(_ answer: ConsoleBrowser.Answer) {
        #expect(answer.headers["Content-Security-Policy"] == policy)
        #expect(answer.headers["Cache-Control"] == "no-store")
        #expect(answer.headers["Referrer-Policy"] == "no-referrer")
        #expect(answer.headers["X-Content-Type-Options"] == "nosniff")
        #expect(answer.headers["X-Request-Id"] != nil)
      }
      for path in ["/console", "/console/", "/console/sign-in", "/console/nothing"] {
        check(try await browser.get(path))
      }
      try await browser.signIn()
      for path in ["/console/", "/console/nothing", "/console/audit?actor=a&actor=b"] {
        check(try await browser.get(path))
      }
      check(try await browser.post("/console/sign-out", []))
    }
  }

  @Test("a session ends after 30 minutes of silence, after 12 hours, at sign-out, and with its key")
  func end() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      let browser = ConsoleBrowser(server)
      try await browser.signIn()
      server.clock.advance(by: .seconds(29 * 60))
      #expect(try await browser.get("/console/").status == 200)
      server.clock.advance(by: .seconds(29 * 60))
      #expect(try await browser.get("/console/").status == 200)
      server.clock.advance(by: .seconds(30 * 60))
      #expect(try await browser.get("/console/").status == 303)

      try await browser.signIn()
      for _ in 0..<28 {
        server.clock.advance(by: .seconds(25 * 60))
        #expect(try await browser.get("/console/").status == 200)
      }
      server.clock.advance(by: .seconds(20 * 60))
      #expect(try await browser.get("/console/").status == 303)

      try await browser.signIn()
      let page = try await browser.get("/console/")
      let token = try #require(browser.hidden("token", of: page.text))
      let out = try await browser.post("/console/sign-out", [("token", token)])
      #expect(out.status == 303)
      let ended = try #require(out.headers["Set-Cookie"])
      #expect(ended.contains("Max-Age=0"))
      #expect(try await browser.get("/console/").status == 303)

      try await browser.signIn()
      #expect(try await browser.get("/console/").status == 200)
      server.server.operators.replace([], needsSecondKey: false)
      #expect(try await browser.get("/console/").status == 303)
      let late = try await browser.post("/console/sign-out", [("token", token)])
      #expect(late.status == 303)
      #expect(late.location == "/console/sign-in")
    }
  }

  @Test("a cookie that was put into a browser is no session, and sign-in gives another one")
  func fixation() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      let browser = ConsoleBrowser(server)
      browser.cookie = "pullbox-console=chosen-by-somebody-else"
      try await browser.signIn()
      #expect(browser.cookie != "pullbox-console=chosen-by-somebody-else")
      let second = ConsoleBrowser(server)
      second.cookie = "pullbox-console=chosen-by-somebody-else"
      #expect(try await second.get("/console/").status == 303)
      // Two cookies of the name are none: which of them counts would be for proxies to decide.
      second.cookie = try #require(browser.cookie) + "; pullbox-console=other"
      #expect(try await second.get("/console/").status == 303)
    }
  }

  @Test("a form of another site, or of another session, changes nothing")
  func foreignForms() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      let browser = ConsoleBrowser(server)
      try await browser.signIn()
      let token = try #require(browser.hidden("token", of: try await browser.get("/console/").text))
      let form = [("token", token), ("language", "de")]
      let refused: [[(String, String)]] = [
        [("Origin", "https://evil.example")], [("Origin", "null")],
        [("Origin", "null"), ("Sec-Fetch-Site", "cross-site")], [("Sec-Fetch-Site", "same-site")],
        [("Origin", server.api.baseURL), ("Sec-Fetch-Site", "cross-site")],
        [("Origin", "https" + server.api.baseURL.dropFirst(4))],
      ]
      for headers in refused {
        #expect(
          try await browser.post("/console/language", form, headers: headers).status == 403, "\(headers)")
      }
      for wrong in ["", "0123456789abcdef0123456789abcdef"] {
        let answer = try await browser.post("/console/language", [("token", wrong), ("language", "de")])
        #expect(answer.status == 403)
      }
      #expect(try await browser.post("/console/language", [("language", "de")]).status == 403)
      #expect(try await browser.post("/console/language", form + [("token", token)]).status == 400)
      #expect(try await browser.get("/console/").text.contains("<html lang=\"en\">"))
      for headers in [[], [("Origin", server.api.baseURL)], [("Sec-Fetch-Site", "same-origin")]] {
        #expect(try await browser.post("/console/language", form, headers: headers).status == 303)
      }
      #expect(try await browser.get("/console/").text.contains("<html lang=\"de\">"))
    }
  }

  @Test("while sessions cannot be read, one that was seen goes on for a minute, and no other one begins")
  func unreadable() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      let browser = ConsoleBrowser(server)
      try await browser.signIn()
      let database = server.server.components.infrastructure.database
      try await database.write(locking: [.everything]) {
        try $0.execute("ALTER TABLE console_sessions RENAME TO elsewhere")
      }
      #expect(try await browser.get("/console/deliveries").status == 200)
      let other = ConsoleBrowser(server)
      other.cookie = "pullbox-console=never-seen"
      let answer = try await other.get("/console/deliveries")
      #expect(answer.status == 503)
      #expect(answer.text.contains("<h1>"))
      #expect(try await other.signIn().status == 503)
      server.clock.advance(by: .seconds(60))
      #expect(try await browser.get("/console/deliveries").status == 200)
      server.clock.advance(by: .seconds(1))
      // It may have ended at another node: it neither counts, nor is it forgotten.
      let unknown = try await browser.get("/console/deliveries")
      #expect(unknown.status == 503)
      #expect(unknown.headers["Set-Cookie"] == nil)
      try await database.write(locking: [.everything]) {
        try $0.execute("ALTER TABLE elsewhere RENAME TO console_sessions")
      }
      #expect(try await browser.get("/console/deliveries").status == 200)
      server.server.operators.replace([], needsSecondKey: false)
      #expect(try await browser.get("/console/deliveries").status == 303)
    }
  }

  @Test("a page elsewhere is never what sign-in leads to")
  func redirects() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      let browser = ConsoleBrowser(server)
      for page in [
        "https://evil.example/", "//evil.example/console/", "/console/../v1", "/v1/operator/audit",
        "/console/sign-in",
      ] {
        let answer = try await browser.post(
          "/console/sign-in", [("key", ServerHarness.operatorKey), ("page", page)])
        #expect(answer.status == 303)
        let location = try #require(answer.location)
        #expect(location.hasPrefix("/console/") && !location.contains("evil"), "\(page): \(location)")
      }
      let answer = try await browser.post(
        "/console/sign-in", [("key", ServerHarness.operatorKey), ("page", "/console/audit?actor=ada")])
      #expect(answer.location == "/console/audit?actor=ada")
    }
  }

  @Test("wrong keys are counted with those of programs, and the right one still works")
  func wrongKeys() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      let browser = ConsoleBrowser(server)
      // As time passes one more is free, and then another.
      var (answer, refused) = (try await browser.signIn("wrong"), 0)
      while answer.status == 401, refused < 100 * WrongKeys.burst {
        refused += 1
        answer = try await browser.signIn("wrong")
      }
      #expect(refused >= WrongKeys.burst)
      #expect(answer.status == 429)
      #expect(answer.headers["Retry-After"] != nil)
      #expect(answer.headers["Set-Cookie"] == nil)
      #expect(answer.text.contains("aria-invalid=\"true\""))
      let problem = try await server.problem {
        _ = try await server.operatorAPI(with: "wrong").exchange("GET", "/v1/operator/audit")
      }
      #expect(problem.code == .tooManyRequests)
      #expect(try await browser.signIn().status == 303)
    }
  }

  @Test("over plain HTTP it is open to names of this machine alone")
  func plainHTTP() async throws {
    try await ServerHarness.run(options: Self.everywhere + ["--trusted-proxy", "127.0.0.1"]) { server in
      let browser = ConsoleBrowser(server)
      try await browser.signIn()
      let rebound = try await browser.get("/console/", headers: [("Host", "rebound.example")])
      #expect(rebound.status == 403)
      let forwarded = try await browser.get(
        "/console/", headers: [("X-Forwarded-For", "192.0.2.7"), ("X-Forwarded-Host", "shop.example")])
      #expect(forwarded.status == 403)
      let secure = try await browser.get(
        "/console/sign-in",
        headers: [("Forwarded", "for=192.0.2.7;proto=https;host=shop.example")])
      #expect(secure.status == 200)
      let answer = try await browser.post(
        "/console/sign-in", [("key", ServerHarness.operatorKey)],
        headers: [
          ("Forwarded", "for=192.0.2.7;proto=https;host=shop.example"), ("Origin", "https://shop.example"),
        ])
      let cookie = try #require(answer.headers["Set-Cookie"])
      #expect(cookie.hasPrefix("__Host-pullbox-console="))
      #expect(cookie.contains("Secure"))
    }
  }

  @Test("it is on the addresses for operators alone, unless configured")
  func place() async throws {
    try await ServerHarness.run { server async throws in
      #expect(try await ConsoleBrowser(server).get("/console/").status == 404)
    }
    try await ServerHarness.run(options: ["--management-listen", "127.0.0.1:0"]) { server in
      #expect(try await ConsoleBrowser(server).get("/console/").status == 404)
      let address = try #require(server.server.managementAddresses.first)
      let response = try await server.client.send(.init(url: "http://\(address)/console/sign-in"))
      #expect(response.status == 200)
    }
    try await ServerHarness.run(options: ["--management-listen", "127.0.0.1:0", "--console", "off"]) {
      server in
      let address = try #require(server.server.managementAddresses.first)
      let response = try await server.client.send(.init(url: "http://\(address)/console/sign-in"))
      #expect(response.status == 404)
    }
  }
}
