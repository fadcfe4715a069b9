import HTTPParsing
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess

extension Console {
  /// The form in which an operator key is pasted. It is the same whether a session has ended or never was.
  func signInPage(_ request: HTTPRequest) throws -> HTTPResponse {
    try request.requireQuery(only: ["page", "notice"])
    let words = Self.words(of: request)
    return Self.html(signInDocument(words, page: request.queryValue("page"), problem: nil))
  }

  /// Begins a session for who shows an operator key. Each has a secret of its own, whatever cookie the request had.
  func signIn(_ request: HTTPRequest, _ door: Door) async throws -> HTTPResponse {
    try request.requireQuery(only: [])
    try door.requireOwnOrigin(request)
    let form = try await FormBody(request)
    let words = Words(form["language"].flatMap { Language(rawValue: $0) } ?? Self.words(of: request).language)
    do throws(Problem) {
      let key = try keys.key(form.text("key") ?? "", from: request)
      let secret: String
      do {
        secret = try await sessions.begin(with: key.secret, language: words.language)
      } catch {
        throw Problem(.unavailable, "sessions cannot be written down now", retryAfterSeconds: 5)
      }
      var response = Self.seeOther(Self.page(form["page"]) ?? .console())
      response.headers["Set-Cookie"] = door.cookie(secret)
      return response
    } catch {
      var response = Self.html(
        signInDocument(words, page: form["page"], problem: error), status: HTTPStatus(rawValue: error.status))
      if let seconds = error.retryAfterSeconds { response.headers["Retry-After"] = String(seconds) }
      return response
    }
  }

  /// Ends the session of the request, here and at every other node.
  func signOut(_ door: Door, _ secret: String) async throws -> HTTPResponse {
    try await sessions.end(secret)
    var response = Self.seeOther(.console("sign-in"))
    response.headers["Set-Cookie"] = door.cookie(nil)
    // Whatever a browser has kept of this site.
    if door.isSecure { response.headers["Clear-Site-Data"] = "\"cache\"" }
    return response
  }

  /// Leads who is not signed in to the form, and back afterwards. What a form held is not kept: it was sent with another session.
  func signInFirst(_ request: HTTPRequest, _ door: Door) throws -> HTTPResponse {
    let isPage = request.method == .get || request.method == .head
    let first = request.pathSegments.dropFirst().first
    if first == "uploads" || (isPage && first == "json") {
      throw Problem(.unauthorized, "sign in at /console/ first")
    }
    let page = isPage && request.rawTarget != "/console/" ? request.rawTarget : nil
    var response = Self.seeOther(.console("sign-in", query: [("page", page)]))
    if request.headers.contains("Cookie"), door.secret(of: request) != nil {
      response.headers["Set-Cookie"] = door.cookie(nil)
    }
    return response
  }

  static func words(of request: HTTPRequest) -> Words {
    Words(Language(accepting: request.headers.values(of: "Accept-Language")))
  }

  /// The page of the console that a text names; nil for any other address, so that none leads elsewhere.
  static func page(_ text: String?) -> Address? {
    guard let text, text.hasPrefix("/console/"), text.utf8.count <= 2000,
      let target = try? HTTPRequest(method: .get, rawTarget: text)
    else { return nil }
    // Browsers take the dots of a path as steps, whether they are encoded or not.
    let leads =
      !["sign-in", "json", "pictures"].contains(target.pathSegments[1])
      && !target.pathSegments.contains { $0 == "." || $0 == ".." }
    return leads ? Address(target.pathSegments, query: target.query.map { ($0.name, $0.value) }) : nil
  }

  private func signInDocument(_ words: Words, page: String?, problem: Problem?) -> [UInt8] {
    Layout.document(words(.signIn), words) {
      element(.p) { words(.signInHint) }
      element(.form, .method(.post), .action(.console("sign-in")), .look(.fields)) {
        if let page, Self.page(page) != nil {
          element(.input, .input(.hidden), .name("page"), .value(page))
        }
        Parts.field(
          words(.operatorKey), "key", nil, .password, problem: problem.map { words.sentence($0) },
          isRequired: true, attributes: [.autocomplete(.currentPassword)])
        Parts.choice(
          words(.language), "language", words.language.rawValue,
          Language.allCases.map { ($0.rawValue, $0.name) })
        element(.button) { words(.signIn) }
      }
    }
  }
}

extension Words {
  /// A refusal as a sentence for people, in the operator's language where it is one that each visit may meet.
  func sentence(_ problem: Problem) -> String {
    switch problem.code {
    case .unauthorized: self(.keyUnknown)
    case .tooManyRequests: self(.tooManyKeys, duration(.seconds(problem.retryAfterSeconds ?? 1)))
    default: problem.description
    }
  }
}
