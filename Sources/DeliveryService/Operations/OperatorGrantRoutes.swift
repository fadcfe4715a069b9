import ContentGrants
import CoreTypes
import Database
import DeliveryRecords
import HTTPParsing
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI

/// Revocation and reinstatement of grants over HTTP, for operators, who know a grant by its short name.
struct OperatorGrantRoutes: Sendable {
  /// Carries out the decisions of operators.
  let grants: GrantService

  /// Adds the status (scope `read`), the revocation and the reinstatement (scope `admin`). The latter two take
  /// a reason in their body, an idempotency key and `If-Match`: the tag is that of the operators' last word on the grant, whatever becomes
  /// of its download.
  func add(to routes: inout ScopedRoutes) {
    routes.on(.get, "/v1/operator/grants/{grant}", requires: .read) { _, parameters, _ in
      let name = try Self.grant(parameters)
      let decision = try await grants.decision(on: name)
      var response = try HTTPResponse.json(try await grants.status(of: name))
      response.headers["ETag"] = EntityTag.of(try APIJSON.encode(decision))
      return response
    }
    routes.on(
      .post, "/v1/operator/grants/{grant}/revoke", requires: .admin, takesIdempotencyKey: true,
      approval: { request, parameters, actor in try await revocation(request, parameters, actor) }
    ) { request, parameters, actor in
      let reason = try await request.reason()
      let terms = GrantStore.RevocationTerms(conditions: WriteConditions(request), isAlone: actor.isAlone)
      return try .json(
        try await grants.revoke(try Self.grant(parameters), by: actor.name, reason: reason, under: terms))
    }
    routes.on(
      .post, "/v1/operator/grants/{grant}/reinstate", requires: .admin, takesIdempotencyKey: true
    ) { request, parameters, actor in
      let reason = try await request.reason()
      return try .json(
        try await grants.reinstate(
          try Self.grant(parameters), by: actor.name, reason: reason, under: WriteConditions(request)))
    }
  }

  /// The revocation as a second operator reads it. One of a grant that an operator has revoked changes nothing, and waits for no one.
  private func revocation(
    _ request: HTTPRequest, _ parameters: PathParameters, _ actor: Operator
  ) async throws -> Approvals.Verdict {
    let name = try Self.grant(parameters)
    let reason = try await request.reason()
    let decision = try await grants.decision(on: name)
    try WriteConditions(request).check(decision)
    guard !decision.isRevoked else { return .free(tag: nil) }
    return try await Approvals.manyRevocations(
      1, of: name.description, because: reason, tag: EntityTag.of(try APIJSON.encode(decision)), by: actor,
      in: grants.grantStore.database, at: grants.grantStore.clock.now())
  }

  /// Returns the short name in the address. Throws `grant-unknown` for a text that is none.
  private static func grant(_ parameters: PathParameters) throws(Problem) -> GrantShortName {
    guard let name = GrantShortName(parameters["grant"]) else {
      throw Problem(.grantUnknown, "operators name a grant by the 16 digits that lists show")
    }
    return name
  }
}
