import ContentDelivery
import ContentGrants
import CoreTypes
import Database
import DeliveryRecords
import HTTPParsing
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess

/// The routes by which an application lets its reader sign in on a page of this server, and gets a token (RFC 6749 §4.1 with RFC 7636).
extension CatalogFeedRoutes {
  /// Bytes of a form.
  private static let maximumForm = ByteCount.kibibytes(16)

  private struct Token: Encodable {
    var token: String
    var type = "Bearer"

    enum CodingKeys: String, CodingKey {
      case token = "access_token"
      case type = "token_type"
    }
  }

  private struct Refusal: Encodable {
    var error: String
    var description: String

    enum CodingKeys: String, CodingKey {
      case error
      case description = "error_description"
    }
  }

  /// Adds the page, the exchange of codes, and the document that says where both are (RFC 8414).
  func addAuthorization(to routes: inout ScopedRoutes) {
    // Parameters that are not known are ignored (RFC 6749 §3.1).
    routes.public(.get, "/opds/oauth/authorize", query: nil) { request, _ in
      switch AuthorizationRequest.read(request.query) {
      case .request(let asked): authorizationPage(asked, to: request)
      case .refused(let error, let address, let state): lead(request, to: address, state, refusing: error)
      case .unusable(let sentence): authorizationPage(refusing: sentence, to: request)
      }
    }
    routes.public(.post, "/opds/oauth/authorize", query: []) { request, _ in
      let form = try await Self.form(of: request)
      switch AuthorizationRequest.read(form) {
      case .request(let asked): return try await authorize(asked, by: form, to: request)
      case .refused(let error, let address, let state):
        return lead(request, to: address, state, refusing: error)
      case .unusable(let sentence): return authorizationPage(refusing: sentence, to: request)
      }
    }
    routes.public(.post, "/opds/oauth/token", query: []) { request, _ in
      do {
        return try await token(for: request)
      } catch let error as AuthorizationError {
        return try Self.json(
          Refusal(error: error.code.rawValue, description: error.message),
          status: error.code == .temporarilyUnavailable ? .serviceUnavailable : .badRequest)
      }
    }
    routes.public(.get, "/.well-known/oauth-authorization-server", query: []) { request, _ in
      let base = base(of: request)
      guard !base.isEmpty else { throw Problem(.notFound, "the server does not know its own address") }
      return HTTPResponse(
        status: .ok, headers: ["Content-Type": "application/json", "Cache-Control": "public, max-age=3600"],
        body: .bytes(try APIJSON.encode(AuthorizationMetadata(base: base))))
    }
  }

  private func authorize(
    _ asked: AuthorizationRequest, by form: [QueryParameter], to request: HTTPRequest
  ) async throws -> HTTPResponse {
    func field(_ name: String) -> String { form.first { $0.name == name }?.value ?? "" }
    guard field("deny").isEmpty else {
      return lead(
        request, to: asked.redirect, asked.state,
        refusing: AuthorizationError(.accessDenied, "the reader does not sign in"))
    }
    do {
      let typed = ReaderSignIn.typed(field("name"), field("password"))
      var key: ReaderKey?
      if let typed {
        key = try await infrastructure.readers.key(
          typed, as: .password, for: request)
      }
      guard let key else {
        return authorizationPage(
          asked, typed: field("name"), fault: "There is no reader's key of that name with these words.",
          status: .forbidden, to: request)
      }
      let code = try await tokens.code(for: key, asked)
      return lead(request, to: asked.redirect, asked.state, with: [("code", code)])
    } catch let problem as Problem where problem.code == .tooManyRequests {
      let seconds = problem.retryAfterSeconds ?? 1
      var response = authorizationPage(
        asked, typed: field("name"),
        fault: "Too many wrong words came from your network. Try again in \(seconds) seconds.",
        status: .tooManyRequests, to: request)
      response.headers["Retry-After"] = String(seconds)
      return response
    } catch let error as AuthorizationError {
      return lead(request, to: asked.redirect, asked.state, refusing: error)
    } catch is DatabaseError {
      return lead(
        request, to: asked.redirect, asked.state,
        refusing: AuthorizationError(.temporarilyUnavailable, "the records cannot be read now"))
    }
  }

  /// Throws ``AuthorizationError``, and `too-many-requests`, which OAuth has no word for.
  private func token(for request: HTTPRequest) async throws -> HTTPResponse {
    do {
      return try Self.json(
        Token(token: try await tokens.token(for: Self.form(of: request), request)), status: .ok)
    } catch let error as AuthorizationError {
      throw error
    } catch let problem as Problem where problem.code == .tooManyRequests {
      throw problem
    } catch let problem as Problem where problem.code == .requestMalformed {
      throw AuthorizationError(.invalidRequest, problem.detail ?? "the form cannot be read")
    } catch is DatabaseError {
      throw AuthorizationError(.temporarilyUnavailable, "the records cannot be read now")
    } catch {
      throw AuthorizationError(.invalidRequest, "the form cannot be read")
    }
  }

  private static func json(_ value: some Encodable, status: HTTPStatus) throws -> HTTPResponse {
    HTTPResponse(
      status: status,
      headers: ["Content-Type": "application/json", "Cache-Control": "no-store", "Pragma": "no-cache"],
      body: .bytes(try APIJSON.encode(value)))
  }

  /// The fields of a form. Throws `request-malformed` for what is none, and what the body throws.
  private static func form(of request: HTTPRequest) async throws(Problem) -> [QueryParameter] {
    let type = try request.onlyValue(of: "Content-Type") ?? ""
    let name = type.lowercased().prefix { $0 != ";" }.filter { $0 != " " }
    guard name == "application/x-www-form-urlencoded" else {
      throw Problem(.requestMalformed, "a form is expected here: application/x-www-form-urlencoded")
    }
    let bytes = try await request.bytes(upTo: maximumForm)
    let form: [QueryParameter]
    do {
      form = try HTTPRequest(method: .post, rawTarget: "/?" + String(decoding: bytes, as: UTF8.self)).query
    } catch {
      throw Problem(.requestMalformed, "the form does not decode to text")
    }
    guard form.allSatisfy({ !$0.name.utf8.contains(0) && !$0.value.utf8.contains(0) }) else {
      throw Problem(.requestMalformed, "the form has the character U+0000")
    }
    return form
  }

  private func authorizationPage(
    _ asked: AuthorizationRequest, typed: String = "", fault: String? = nil, status: HTTPStatus = .ok,
    to request: HTTPRequest
  ) -> HTTPResponse {
    let writer = AuthorizationPageWriter(base: base(of: request), name: options.title)
    return Self.page(
      writer.document(asked, typed: typed, fault: fault), status: status, leadingTo: asked.redirect.source)
  }

  private func authorizationPage(refusing sentence: String, to request: HTTPRequest) -> HTTPResponse {
    let writer = AuthorizationPageWriter(base: base(of: request), name: options.title)
    return Self.page(writer.refusal(sentence), status: .badRequest, leadingTo: nil)
  }

  private static func page(_ bytes: [UInt8], status: HTTPStatus, leadingTo source: String?) -> HTTPResponse {
    HTTPResponse(
      status: status,
      headers: [
        "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store",
        "Content-Security-Policy": AuthorizationPageWriter.contentSecurityPolicy(leadingTo: source),
        "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
      ], body: .bytes(bytes))
  }

  private func lead(
    _ request: HTTPRequest, to address: RedirectAddress, _ state: String?, refusing error: AuthorizationError
  ) -> HTTPResponse {
    lead(
      request, to: address, state,
      with: [("error", error.code.rawValue), ("error_description", error.message)])
  }

  /// Leads the browser to the application, with its state and with the name of this server (RFC 9207).
  private func lead(
    _ request: HTTPRequest, to address: RedirectAddress, _ state: String?,
    with parameters: [(name: String, value: String?)]
  ) -> HTTPResponse {
    let base = base(of: request)
    let location = address.adding(parameters + [("state", state), ("iss", base.isEmpty ? nil : base)])
    return HTTPResponse(
      status: .seeOther,
      headers: ["Location": location, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"])
  }
}
