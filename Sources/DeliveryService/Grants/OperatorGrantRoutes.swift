import PullboxAPIServer
import Commerce
import HTTPServer
import PullboxAPI

/// Grants as the operator takes them back and gives them back.
struct OperatorGrantRoutes: Sendable {
  let grants: GrantService
  let keys: OperatorKeys

  func add(to routes: inout APIRoutes) {
    routes.on(.get, "/v1/operator/grants/{grant}") { request, parameters in
      _ = try keys.authorize(request, for: .read)
      return try .json(try await grants.status(of: try GrantRoutes.grant(parameters)))
    }
    routes.on(.post, "/v1/operator/grants/{grant}/revoke") { request, parameters in
      let actor = try keys.authorize(request, for: .admin)
      let reason = try await request.decodeIfPresent(ReasonBody.self)?.reason
      return try .json(
        try await grants.revoke(try GrantRoutes.grant(parameters), by: actor, reason: reason))
    }
    routes.on(.post, "/v1/operator/grants/{grant}/reinstate") { request, parameters in
      let actor = try keys.authorize(request, for: .admin)
      let reason = try await request.decodeIfPresent(ReasonBody.self)?.reason
      return try .json(
        try await grants.reinstate(try GrantRoutes.grant(parameters), by: actor, reason: reason))
    }
  }
}
