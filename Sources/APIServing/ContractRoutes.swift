public import HTTPServer
import PullboxAPI

/// Collects the routes of a service whose responders may throw: a ``Problem`` becomes the answer, anything else is
/// reported with its request and answered `internal-error`, without a word about its cause.
public struct ContractRoutes {
  public typealias Responder = @Sendable (HTTPRequest, PathParameters) async throws -> HTTPResponse

  private var routes: [(HTTPMethod, String, Responder)] = []

  public init() {}

  public mutating func on(_ method: HTTPMethod, _ pattern: String, _ responder: @escaping Responder) {
    routes.append((method, pattern, responder))
  }

  /// Liveness and readiness (`GET /healthz`, `GET /readyz`); `ready` answers why the service is not, or nil.
  public mutating func onHealth(ready: @escaping @Sendable () async -> String?) {
    on(.get, "/healthz") { _, _ in
      HTTPResponse(status: .ok, headers: ["Content-Type": "text/plain"], body: .bytes(Array("ok\n".utf8)))
    }
    on(.get, "/readyz") { _, _ in
      if let reason = await ready() { throw Problem(.unavailable, reason, retryAfterSeconds: 1) }
      return HTTPResponse(
        status: .ok, headers: ["Content-Type": "text/plain"], body: .bytes(Array("ready\n".utf8)))
    }
  }

  /// `report` gets what a responder threw that is no ``Problem``, for the log.
  public func router(
    reporting report: @escaping @Sendable (_ request: HTTPRequest, _ error: any Error) -> Void
  ) -> Router {
    Router(
      notFound: { request in .problem(Problem(.notFound, "nothing is at \(request.path)")) },
      methodNotAllowed: { request, allowed in
        let methods = allowed.map(\.rawValue).joined(separator: ", ")
        return .problem(Problem(.methodNotAllowed, "\(request.path) answers \(methods)"))
      },
      routes: { table in
        for (method, pattern, responder) in routes {
          table.on(method, pattern) { request, parameters in
            do {
              return try await responder(request, parameters)
            } catch let problem as Problem {
              return .problem(problem)
            } catch {
              report(request, error)
              return .problem(Problem(.internalError, "request \(request.id)"))
            }
          }
        }
      })
  }
}
