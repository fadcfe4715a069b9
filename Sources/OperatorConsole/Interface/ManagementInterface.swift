import CoreTypes
import HTTPParsing
package import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess

/// The server's own HTTP interface, asked within the process: every page of the console is a reading of it, and every button a request
/// to it. So scopes, audit log, idempotency and refusals are those of the interface, and nothing can be seen or done in a browser that
/// a program could not see or do.
package struct ManagementInterface: Sendable {
  private let router: any AsyncHandler
  /// The name of the page's request, by which the log and refusals name what is asked for it.
  private var request = "0"

  /// `router` answers as the server's addresses do.
  package init(_ router: any AsyncHandler) {
    self.router = router
  }

  /// The same interface, asked for a request of that name.
  func asked(for request: String) -> ManagementInterface {
    var interface = self
    interface.request = request
    return interface
  }

  /// The answer to a request, made with the operator key of that digest.
  func answer(
    _ method: HTTPMethod, _ address: Address, with key: SecretDigest, headers: HTTPFields = [:],
    body: [UInt8] = []
  ) async -> HTTPResponse {
    await answer(method, address, with: key, headers: headers, content: RequestBody(body))
  }

  /// The answer to a request whose content arrives while it is read.
  func answer(
    _ method: HTTPMethod, _ address: Address, with key: SecretDigest, headers: HTTPFields,
    content: RequestBody
  ) async -> HTTPResponse {
    do {
      let request = try HTTPRequest(
        method: method, rawTarget: address.text, headers: headers, body: content, id: self.request)
      return await OperatorKeys.actingWith(key) { await router.respond(to: request) }
    } catch {
      // A part of the path that decodes to a control character, or to a slash.
      return .problem(Problem(.requestMalformed, error.description))
    }
  }
}

/// The interface as one operator sees it.
struct OperatorReader: Sendable {
  let interface: ManagementInterface
  let key: SecretDigest

  /// A document that was read.
  struct Reading<Value: Sendable>: Sendable {
    var value: Value
    /// The tag of its state, which a later change is made under; nil where the interface gives none.
    var tag: String?
  }

  /// Reads the document at that address; a refusal, and a document that cannot be read, as a problem.
  func get<Value: Decodable & Sendable>(
    _ address: Address, as type: Value.Type = Value.self
  ) async -> Result<Reading<Value>, Problem> {
    let response = await interface.answer(.get, address, with: key)
    return read(response)
  }

  /// Makes a change at that address with `body` as JSON.
  ///
  /// - Parameters:
  ///   - once: names this change and its repetitions; nil where the route takes no such name.
  ///   - tag: the state that is to be changed; nil for whatever it is by now.
  ///   - isNew: whether nothing may be there yet.
  func change<Value: Decodable & Sendable>(
    _ address: Address, by method: HTTPMethod = .post, with body: some Encodable & Sendable,
    once: String? = nil, from tag: String? = nil, isNew: Bool = false, as type: Value.Type = Value.self
  ) async -> Result<Reading<Value>, Problem> {
    var headers: HTTPFields = ["Content-Type": "application/json"]
    if let once { headers[HTTPRequest.idempotencyKeyField] = once }
    if let tag { headers["If-Match"] = tag }
    if isNew { headers["If-None-Match"] = "*" }
    do {
      let bytes = try APIJSON.encode(body)
      return read(await interface.answer(method, address, with: key, headers: headers, body: bytes))
    } catch {
      return .failure(Problem(.requestMalformed, "\(error)"))
    }
  }

  private func read<Value: Decodable & Sendable>(_ response: HTTPResponse) -> Result<Reading<Value>, Problem>
  {
    let status = response.status.rawValue
    guard case .bytes(let bytes) = response.body else {
      return .failure(Problem(.internalError, "the interface answered \(status) without a document"))
    }
    guard (200...299).contains(status) else {
      let problem = Problem(document: bytes, status: status, isDeclared: true)
      return .failure(problem ?? Problem(.internalError, "the interface answered \(status)"))
    }
    do {
      return .success(
        Reading(value: try APIJSON.decode(Value.self, from: bytes), tag: response.headers["ETag"]))
    } catch {
      return .failure(
        Problem(.internalError, "the interface's document cannot be read: \(APIJSON.explain(error))"))
    }
  }
}

/// A body that says nothing.
struct EmptyForm: Encodable, Sendable {}
