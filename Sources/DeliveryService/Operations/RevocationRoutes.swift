import Commerce
import ContentGrants
import CoreTypes
import Database
import DeliveryModel
import DeliveryRecords
import HTTPParsing
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI

/// The revocation of all grants of a transaction, or of a device, for operators: first the plan, then the step. See docs/delivery.md
/// ("Revocation").
struct RevocationRoutes: Sendable {
  /// Grants that one request revokes, at most: the newest.
  static let maximumGrants = 1000
  /// All in which a grant stands, those of readers' keys among them.
  private static let states = GrantState.allCases.filter { $0 != .revoked }

  let database: Database
  let grants: GrantService
  let clock: any WallClock

  /// Adds `GET /v1/operator/revocations` (scope `read`) and `POST /v1/operator/revocations` (scope `admin`), which takes an idempotency
  /// key and `If-Match`. The tag is that of the grants that stand, whatever becomes of their downloads.
  func add(to routes: inout ScopedRoutes) {
    let path = "/v1/operator/revocations"
    routes.on(.get, path, requires: .read, query: ["transaction", "device"]) { request, _, _ in
      let found = try await standing(
        try Self.filter(
          transaction: request.queryValue("transaction"), device: request.queryValue("device")))
      var response = try HTTPResponse.json(found.plan)
      response.headers["ETag"] = found.tag
      return response
    }
    routes.on(
      .post, path, requires: .admin, takesIdempotencyKey: true,
      approval: { request, _, actor in
        let (revocation, filter) = try await Self.revocation(request)
        let found = try await standing(filter)
        try Self.check(request, found)
        return try await Approvals.manyRevocations(
          Int64(found.grants.count), of: revocation.transaction ?? revocation.device ?? "",
          because: revocation.reason, tag: found.tag, by: actor, in: database, at: clock.now())
      }
    ) { request, _, actor in
      let (revocation, filter) = try await Self.revocation(request)
      let found = try await standing(filter)
      try Self.check(request, found)
      // A client that goes away leaves no revocation half done.
      let work = Task { try await revoke(found.grants, by: actor, because: revocation.reason) }
      try await work.value
      return try .json(
        RevocationReport(revoked: Int64(found.grants.count), hasMore: found.plan.hasMore))
    }
  }

  /// Revokes the grants, one write each. Throws what ends it, with how many are revoked then.
  private func revoke(_ found: [GrantRecord], by actor: Operator, because reason: String?) async throws {
    let terms = GrantStore.RevocationTerms(isAlone: actor.isAlone)
    for (count, grant) in found.enumerated() {
      do {
        _ = try await grants.revoke(grant.handle.shortName, by: actor.name, reason: reason, under: terms)
      } catch {
        guard count > 0 else { throw error }
        throw BrokenOff(revoked: count, of: found.count, cause: error).answer
      }
    }
  }

  /// The end of a revocation of many before its last one.
  private struct BrokenOff: Error, TemporarilyFailing, CustomStringConvertible {
    var revoked: Int
    var of: Int
    var cause: any Error

    var temporaryFailure: TemporaryFailure? { (cause as? any TemporarilyFailing)?.temporaryFailure }
    var description: String { told(by: "\(cause)") }

    /// The refusal that ended it, with how many are revoked; itself where the server failed.
    var answer: any Error {
      guard var problem = cause as? Problem else { return self }
      problem.detail = told(by: problem.detail ?? problem.title)
      return problem
    }

    private func told(by reason: String) -> String {
      "\(revoked) of \(of) grants are revoked, and no more: \(reason)"
    }
  }

  /// The grants that would be revoked.
  private struct Standing: Sendable {
    var grants: [GrantRecord]
    var plan: RevocationPlan

    /// The tag of these grants.
    var tag: String {
      EntityTag.of(Array(grants.map(\.handle.shortName.description).joined(separator: " ").utf8))
    }
  }

  private func standing(_ filter: GrantFilter) async throws -> Standing {
    try await database.read { connection in
      var found: [GrantRecord] = []
      for state in Self.states {
        var filter = filter
        filter.state = state
        found += try GrantTable.page(
          before: .max, matching: filter, limit: Self.maximumGrants + 1, in: connection)
      }
      found.sort { $0.number > $1.number }
      let grants = Array(found.prefix(Self.maximumGrants))
      let open = grants.filter { $0.machine.name == .granted }
      let courses = try DeliveryCourseTable.all(of: open, in: connection)
      return Standing(
        grants: grants,
        plan: RevocationPlan(
          grants: Int64(grants.count), devices: Int64(Set(grants.map(\.device)).count),
          begun: Int64(courses.values.count { $0.bytes > .zero }), hasMore: found.count > grants.count))
    }
  }

  private static func revocation(
    _ request: HTTPRequest
  ) async throws -> (request: RevocationRequest, filter: GrantFilter) {
    var revocation = try await request.decode(RevocationRequest.self)
    revocation.reason = try HTTPRequest.checkedReason(revocation.reason)
    return (revocation, try filter(transaction: revocation.transaction, device: revocation.device))
  }

  /// Throws `precondition-failed` where other grants stand than those that the request is about.
  private static func check(_ request: HTTPRequest, _ found: Standing) throws(Problem) {
    guard Preconditions(request, entityTag: found.tag).ifMatch != false else {
      throw Problem(
        .preconditionFailed, "other grants stand than when it was read; there are \(found.grants.count) now")
    }
  }

  /// Throws `request-malformed` unless exactly one is given.
  private static func filter(transaction: String?, device: String?) throws(Problem) -> GrantFilter {
    switch (transaction, device) {
    case (let text?, nil):
      if let transaction = TransactionIdentifier(text) { return GrantFilter(transaction: transaction) }
    case (nil, let text?):
      if let device = DeviceIdentifier(text) { return GrantFilter(device: device) }
    default: break
    }
    throw Problem(.requestMalformed, "one of transaction and device is needed")
  }
}
