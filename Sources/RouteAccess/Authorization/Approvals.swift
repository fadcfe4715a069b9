package import CoreTypes
import Crypto
package import Database
import DeliveryModel
import DeliveryRecords
import HTTPParsing
package import HTTPServer
import PullboxAPI
import PullboxAPIServer
import ServiceAPI
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
  /// Requests of one key that wait, at most.
  static let maximumWaiting = 20
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

  /// The word of a rule on a request.
  package enum Verdict: Sendable {
    /// Another operator has to approve of it.
    case waits(Subject)
    /// It needs no approval in the state of that tag, for which alone it is carried out then; nil for a step whose write looks at what
    /// would need one (``Operator/isAlone``).
    case free(tag: String?)
  }

  /// Says whether a request needs an approval, and what it would do. Throws what stands against the step already, conditions of the
  /// request among it.
  package typealias Rule = @Sendable (HTTPRequest, PathParameters, Operator) async throws -> Verdict
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
    steps.locked { $0["\(method.rawValue) \(pattern)"] = Step(scope: scope, responder: responder) }
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
    switch try await rule(request, parameters, actor) {
    case .free(let tag):
      if let tag { request.headers["If-Match"] = tag }
      var alone = actor
      alone.isAlone = true
      return try await responder(request, parameters, alone)
    case .waits(let subject):
      // A key that has ended since it was looked at asks for nothing.
      guard let key = keys.secret(of: request) else { throw Problem(.unauthorized) }
      let kept = ApprovalTable.Request(
        method: request.method.rawValue, pattern: pattern, target: request.rawTarget, tag: subject.tag,
        body: body)
      let approval = try await ask(kept, subject, scope: scope, by: actor, with: key)
      throw Problem(
        .secondOperatorRequired,
        "another operator has to approve it: it waits as number \(approval.id) until \(approval.expires)",
        approval: approval.id)
    }
  }

  private func ask(
    _ request: ApprovalTable.Request, _ subject: Subject, scope: OperatorScope, by actor: Operator,
    with key: SecretDigest
  ) async throws -> Approval {
    let now = clock.now()
    return try await database.write(locking: [.lease("approvals")]) { connection in
      try ApprovalTable.expire(at: now, in: connection)
      var waiting = try ApprovalTable.waiting(
        askedBy: actor.name, at: now, limit: Self.maximumWaiting, in: connection)
      if let same = waiting.first(where: { $0.request == request && $0.key == key.digest }) {
        return same.approval
      }
      // Of those for one step in one state the last counts.
      if let index = waiting.firstIndex(where: { $0.request.isForSameState(as: request) }) {
        let earlier = waiting.remove(at: index).approval
        try Self.decide(
          earlier, as: .declined, because: "asked for anew", by: actor, at: now, in: connection)
      }
      guard waiting.count < Self.maximumWaiting else {
        throw Problem(
          .tooManyRequests,
          "\(Self.maximumWaiting) requests of the key \(actor.name) wait for an approval, and no more can; it can take one back",
          retryAfterSeconds: 900)
      }
      var approval = Approval(
        id: 0, state: .waiting, action: subject.action, subject: subject.subject, reason: subject.reason,
        affected: subject.affected, request: "\(request.method) \(request.target)", scope: scope, asked: now,
        askedBy: actor.name, expires: now + Self.lifetime)
      approval.id =
        try ApprovalTable.add(
          .init(approval: approval, key: key.digest, request: request), in: connection)
      try ApprovalTable.note(
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

  /// Declines a request; who asked for it takes it back so. Throws `not-found`, `forbidden` for a key that may not decide it, and
  /// `state-conflict` where it waits no more.
  func decline(_ id: Int64, because reason: String?, by actor: Operator) async throws -> Approval {
    let entry = try await entry(id)
    if actor.name != entry.approval.askedBy { try require(actor, for: entry.approval) }
    try await decide(entry.approval, as: .declined, because: reason, by: actor)
    return try await approval(id)
  }

  /// Approves a request and takes its step. Throws as ``decline(_:because:by:)`` does, `second-key-required` for the key that asked, and
  /// what the step is refused with, such as `precondition-failed` where its subject was changed meanwhile: it is asked for anew then.
  func approve(_ id: Int64, by actor: Operator) async throws -> Approval {
    let entry = try await entry(id)
    try require(actor, for: entry.approval)
    let step = steps.locked { $0["\(entry.request.method) \(entry.request.pattern)"] }
    guard let step, step.scope == entry.approval.scope else {
      throw Problem(.stateConflict, "this version of the server has no such step any more")
    }
    // A key that is gone asks for nothing any more, also where another one has its name.
    guard let asker = keys.holder(ofKeyWith: SecretDigest(digest: entry.key)),
      asker.name == entry.approval.askedBy, asker.may(step.scope)
    else {
      throw Problem(
        .stateConflict, "the key \(entry.approval.askedBy) that asked for it may not do it any more")
    }
    let request = try request(entry)
    let parameters = try parameters(of: entry.request.pattern, in: request)
    try await decide(entry.approval, as: .approved, because: nil, by: actor)
    // A client that goes away ends neither the step nor what is written of it.
    let work = Task {
      do {
        let response = try await step.responder(request, parameters, asker)
        await finish(entry.approval, as: .done, outcome: Self.outcome(of: entry.approval, by: response))
      } catch {
        await finish(
          entry.approval, as: .refused, outcome: (error as? Problem)?.description ?? "it failed: \(error)")
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
      try Self.decide(approval, as: state, because: reason, by: actor, at: now, in: connection)
    }
  }

  private static func decide(
    _ approval: Approval, as state: Approval.State, because reason: String?, by actor: Operator,
    at now: Timestamp, in connection: borrowing Connection
  ) throws {
    guard
      try ApprovalTable.decide(
        approval.id, as: state, by: actor.name, because: reason, at: now, in: connection)
    else {
      let found = try ApprovalTable.find(approval.id, at: now, in: connection)?.approval
      let decided = found?.decidedBy.map { " by \($0)" } ?? ""
      throw Problem(
        .stateConflict, "the request is \(found?.state.rawValue ?? "gone")\(decided), and waits no more")
    }
    try ApprovalTable.note(
      state == .approved ? "approval.approve" : "approval.decline", of: approval, by: actor.name,
      detail: reason, at: now, in: connection)
  }

  private func finish(_ approval: Approval, as state: Approval.State, outcome: String?) async {
    let now = clock.now()
    do {
      try await database.write(locking: [], waiting: .unlimited) { connection in
        guard try ApprovalTable.finish(approval.id, as: state, outcome: outcome, in: connection) else {
          return
        }
        try ApprovalTable.note(
          state == .done ? "approval.done" : "approval.refused", of: approval, by: approval.askedBy,
          detail: outcome, at: now, in: connection)
      }
    } catch {
      log.error(
        "the outcome of an approved step is not written down",
        [
          "approval": LogValue("\(approval.id)"), "outcome": LogValue(state.rawValue),
          "error": LogValue(error),
        ])
    }
  }

  /// Returns the part of the answer that goes beyond that the step was taken: how many grants were revoked, and whether more stand.
  private static func outcome(of approval: Approval, by response: HTTPResponse) -> String? {
    guard approval.action == revocation, case .bytes(let bytes) = response.body,
      let report = try? APIJSON.decode(RevocationReport.self, from: bytes)
    else { return nil }
    let count = "\(report.revoked) of \(approval.affected ?? report.revoked) grants are revoked"
    return report.hasMore ? "\(count), and more stand: they are asked for anew" : count
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
