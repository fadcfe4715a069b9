package import CoreTypes
package import Database
import DeliveryModel
import DeliveryRecords
import HTTPParsing
package import HTTPServer
import PullboxAPI
import PullboxAPIServer
package import ServiceRuntime
import Synchronization

/// The steps that want a second operator (`secondOperator`): who asks for one is refused for now, and the request is kept until another
/// key approves or declines it, or its time is over.
///
/// The decision is one row that changes once, with the name of who made it in the audit log, and the step is taken after it. So a step is
/// taken once at most: where the process ends between the two, the request stays approved, and is asked for anew. The
/// step is taken in the name of who asked, for the state that it was asked for (`If-Match`).
package final class Approvals: Sendable {
  /// How long a request waits.
  package static let lifetime: Duration = .seconds(3 * 86_400)
  /// Requests that wait, at most.
  static let maximumWaiting = 100
  /// Bytes of a request's body, at most.
  static let maximumBody = ByteCount.kibibytes(64)

  /// The thing that would be done, as the second operator reads it.
  package struct Subject: Sendable {
    /// The step, as the audit log names it.
    package var action: String
    /// The thing that it is about, as the audit log names it.
    package var subject: String
    /// The reason that was given.
    package var reason: String?
    /// How many devices or grants it is about.
    package var affected: Int64?
    /// The tag of the state that it is for; nil for a step that says for itself what it is about.
    package var tag: String?

    package init(
      action: String, subject: String, reason: String? = nil, affected: Int64? = nil, tag: String? = nil
    ) {
      self.action = action
      self.subject = subject
      self.reason = reason
      self.affected = affected
      self.tag = tag
    }
  }

  /// Says what a request would do; nil where that needs no approval. Throws what stands against the step already.
  package typealias Rule = @Sendable (HTTPRequest, PathParameters, Operator) async throws -> Subject?
  /// Takes a step in an operator's name.
  package typealias Responder =
    @Sendable (HTTPRequest, PathParameters, Operator) async throws -> HTTPResponse

  /// A route whose steps may need an approval.
  private struct Step: Sendable {
    var scope: OperatorScope
    var responder: Responder
  }

  private let database: Database
  private let keys: OperatorKeys
  private let clock: any WallClock
  private let log: Log
  private let steps = Mutex<[String: Step]>([:])

  /// `keys` says whether steps need an approval, and who may ask for them still.
  package init(database: Database, keys: OperatorKeys, clock: any WallClock, log: Log) {
    self.database = database
    self.keys = keys
    self.clock = clock
    self.log = log
  }

  /// Makes the steps of a route known, so that they can be taken later.
  func register(
    _ method: HTTPMethod, _ pattern: String, scope: OperatorScope, use responder: @escaping Responder
  ) {
    steps.withLock { $0["\(method.rawValue) \(pattern)"] = Step(scope: scope, responder: responder) }
  }

  /// Answers a request for a step: by `responder`, unless `rule` says that it needs an approval. Then it is kept, and
  /// `second-operator-required` is thrown with its number. Asked for again, it is the same request.
  func answer(
    _ request: HTTPRequest, _ parameters: PathParameters, by actor: Operator, at pattern: String,
    scope: OperatorScope, under rule: Rule, responder: Responder
  ) async throws -> HTTPResponse {
    guard keys.needsSecondOperator else { return try await responder(request, parameters, actor) }
    let body = try await request.bytes(upTo: Self.maximumBody)
    var request = request
    request.body = RequestBody(body)
    guard let subject = try await rule(request, parameters, actor) else {
      return try await responder(request, parameters, actor)
    }
    let kept = ApprovalTable.Request(
      method: request.method.rawValue, pattern: pattern, target: request.rawTarget, tag: subject.tag,
      body: body)
    let approval = try await ask(kept, subject, scope: scope, by: actor)
    throw Problem(
      .secondOperatorRequired,
      "another operator has to approve it: it waits as number \(approval.id) until \(approval.expires)",
      approval: approval.id)
  }

  private func ask(
    _ request: ApprovalTable.Request, _ subject: Subject, scope: OperatorScope, by actor: Operator
  ) async throws -> Approval {
    let now = clock.now()
    return try await database.write(locking: [.lease("approvals")]) { connection in
      try ApprovalTable.expire(at: now, in: connection)
      let waiting = try ApprovalTable.page(
        before: .max, in: .waiting, at: now, limit: Self.maximumWaiting, in: connection)
      if let same = waiting.first(where: { $0.request == request && $0.approval.askedBy == actor.name }) {
        return same.approval
      }
      guard waiting.count < Self.maximumWaiting else {
        throw Problem(
          .tooManyRequests, "\(Self.maximumWaiting) requests wait for an approval, and no more can",
          retryAfterSeconds: 900)
      }
      var approval = Approval(
        id: 0, state: .waiting, action: subject.action, subject: subject.subject, reason: subject.reason,
        affected: subject.affected, request: "\(request.method) \(request.target)", scope: scope, asked: now,
        askedBy: actor.name, expires: now + Self.lifetime)
      approval.id =
        try ApprovalTable.add(.init(approval: approval, request: request), in: connection) ?? 0
      try Self.note(
        "approval.ask", of: approval, by: actor.name, detail: subject.reason, at: now, in: connection)
      return approval
    }
  }

  /// A page of the requests, the newest first; nil for `state` asks for all.
  func page(after: Int64?, in state: Approval.State?, limit: Int) async throws -> Page<Approval> {
    let now = clock.now()
    return try await database.read { connection in
      let found = try ApprovalTable.page(
        before: after ?? .max, in: state, at: now, limit: limit + 1, in: connection)
      let items = found.prefix(limit).map(\.approval)
      return Page(items: items, next: found.count > limit ? items.last.map { "\($0.id)" } : nil)
    }
  }

  /// Throws `not-found`.
  func approval(_ id: Int64) async throws -> Approval { try await entry(id).approval }

  private func entry(_ id: Int64) async throws -> ApprovalTable.Entry {
    let now = clock.now()
    guard let entry = try await database.read({ try ApprovalTable.find(id, at: now, in: $0) }) else {
      throw Problem(.notFound, "there is no request of the number \(id)")
    }
    return entry
  }

  /// Declines a request. Throws `not-found`, `forbidden` and `second-key-required` for a key that may not decide it, and
  /// `state-conflict` where it waits no more.
  func decline(_ id: Int64, because reason: String?, by actor: Operator) async throws -> Approval {
    let entry = try await entry(id)
    try require(actor, for: entry.approval)
    try await decide(entry.approval, as: .declined, because: reason, by: actor)
    return try await approval(id)
  }

  /// Approves a request and takes its step. Throws as ``decline(_:because:by:)`` does, and what the step is refused with, such as
  /// `precondition-failed` where its subject was changed meanwhile: it is asked for anew then.
  func approve(_ id: Int64, by actor: Operator) async throws -> Approval {
    let entry = try await entry(id)
    try require(actor, for: entry.approval)
    let step = steps.withLock { $0["\(entry.request.method) \(entry.request.pattern)"] }
    guard let step, step.scope == entry.approval.scope else {
      throw Problem(.stateConflict, "this version of the server has no such step any more")
    }
    // A key that is gone asks for nothing any more.
    guard let asker = keys.holder(named: entry.approval.askedBy), asker.may(step.scope) else {
      throw Problem(
        .stateConflict, "the key \(entry.approval.askedBy) that asked for it may not do it any more")
    }
    let request = try request(entry)
    let parameters = try parameters(of: entry.request.pattern, in: request)
    try await decide(entry.approval, as: .approved, because: nil, by: actor)
    // A client that goes away ends neither the step nor what is written of it.
    let work = Task {
      do {
        _ = try await step.responder(request, parameters, asker)
        await finish(id, as: .done, outcome: nil)
      } catch {
        await finish(id, as: .refused, outcome: (error as? Problem)?.description ?? "it failed: \(error)")
        throw error
      }
    }
    try await work.value
    return try await approval(id)
  }

  /// Throws `second-key-required` for the key that asked, and `forbidden` for one that could not have asked.
  private func require(_ actor: Operator, for approval: Approval) throws(Problem) {
    guard actor.name != approval.askedBy else {
      throw Problem(
        .secondKeyRequired, "the key \(actor.name) asked for it; another operator's decides")
    }
    guard actor.may(approval.scope) else {
      throw Problem(.forbidden, "the key \(actor.name) lacks the scope \(approval.scope.rawValue)")
    }
  }

  private func decide(
    _ approval: Approval, as state: Approval.State, because reason: String?, by actor: Operator
  ) async throws {
    let now = clock.now()
    try await database.write(locking: []) { connection in
      guard
        try ApprovalTable.decide(
          approval.id, as: state, by: actor.name, because: reason, at: now, in: connection)
      else {
        let found = try ApprovalTable.find(approval.id, at: now, in: connection)?.approval
        let decided = found?.decidedBy.map { " by \($0)" } ?? ""
        throw Problem(
          .stateConflict, "the request is \(found?.state.rawValue ?? "gone")\(decided), and waits no more")
      }
      try Self.note(
        state == .approved ? "approval.approve" : "approval.decline", of: approval, by: actor.name,
        detail: reason, at: now, in: connection)
    }
  }

  private func finish(_ id: Int64, as state: Approval.State, outcome: String?) async {
    do {
      try await database.write(locking: [], waiting: .unlimited) { connection in
        try ApprovalTable.finish(id, as: state, outcome: outcome, in: connection)
      }
    } catch {
      log.error(
        "the outcome of an approved step is not written down",
        ["approval": LogValue("\(id)"), "outcome": LogValue(state.rawValue), "error": LogValue(error)])
    }
  }

  /// Writes down who asked, approved or declined, of what, and who had asked. Its subject is the request: an entry about a version is a
  /// part of that version's state, which the request is for.
  private static func note(
    _ action: String, of approval: Approval, by actor: String, detail: String?, at now: Timestamp,
    in connection: borrowing Connection
  ) throws {
    let asker = actor == approval.askedBy ? "" : ", asked for by \(approval.askedBy)"
    try AuditTable.add(
      AuditEntry(
        at: now, actor: actor, action: action, subject: "approval \(approval.id)",
        detail: "\(approval.action) \(approval.subject)\(asker)" + (detail.map { ": \($0)" } ?? "")),
      in: connection)
  }

  /// The request as it was made first, for the state that it was made for.
  private func request(_ entry: ApprovalTable.Entry) throws -> HTTPRequest {
    var headers: HTTPFields = [:]
    if let tag = entry.request.tag { headers["If-Match"] = tag }
    if !entry.request.body.isEmpty { headers["Content-Type"] = "application/json" }
    return try HTTPRequest(
      method: HTTPMethod(rawValue: entry.request.method), rawTarget: entry.request.target, headers: headers,
      body: RequestBody(entry.request.body), id: "approval-\(entry.approval.id)")
  }

  /// The values of a pattern's placeholders, each of which is a whole segment.
  private func parameters(of pattern: String, in request: HTTPRequest) throws(Problem) -> PathParameters {
    let names = pattern.split(separator: "/").map(String.init)
    guard names.count == request.pathSegments.count else { throw Problem(.internalError) }
    var values: [String: String] = [:]
    for (name, value) in zip(names, request.pathSegments) where name.hasPrefix("{") {
      values[String(name.dropFirst().dropLast())] = value
    }
    return PathParameters(values)
  }
}

extension Approvals {
  /// So many revocations by one key within a day need no approval.
  package static let freeRevocations: Int64 = 100
  private static let day: Duration = .seconds(86_400)

  /// The subject of revocations that are too many for one operator, with those that the same key made within a day; nil for fewer.
  package static func manyRevocations(
    _ count: Int64, of subject: String, because reason: String?, tag: String? = nil, by actor: Operator,
    in database: Database, at now: Timestamp
  ) async throws -> Subject? {
    let filter = AuditTable.Filter(
      actor: actor.name, action: "grant.revoke", times: TimeRange(since: now - day))
    let recent = try await database.read {
      try AuditTable.page(matching: filter, limit: Int(freeRevocations), in: $0).count
    }
    guard count > 0, count + Int64(recent) > freeRevocations else { return nil }
    return Subject(action: "grant.revoke", subject: subject, reason: reason, affected: count, tag: tag)
  }
}
