package import CoreTypes
import Crypto
package import Database
import DeliveryModel
import DeliveryRecords
package import HTTPServer
import PullboxAPI
import PullboxAPIServer
package import ServiceRuntime

/// Answers a request that comes again with the same `Idempotency-Key` as it was answered first, and does nothing then: for
/// steps of operators whose repetition, after a step of another operator, would do them again.
///
/// Answers of success are kept for ``lifetime``, each in a write after the one that made the step; a refusal changed
/// nothing, and the request may come again with its key. The end of the request that made the
/// step does not end that write. Where it fails all the same, or the process dies between the two, there is no answer, and the
/// repetition is a request like the first.
///
/// A request claims its key in a row before its step, so that no other process makes the step beside it. The claim is let go
/// with the answer; that of a process that died, or that could not write, ends by itself after ``longestStep``.
///
///     let (response, _) = try await answers.answer(request, by: actor, fingerprint: fingerprint) { try await step() }
package final class IdempotentAnswers: Sendable {
  /// How long a repeated request gets the first answer.
  package static let lifetime: Duration = .seconds(24 * 3600)
  /// Answers of a ``lifetime`` that are kept for one operator key. Older ones count no more, and ``Retention`` removes them.
  static let maximumAnswers = 10_000
  /// Bytes of an answer that is kept; a longer one is not.
  static let maximumAnswerLength = 65_536
  /// For how long a key is claimed: a step takes seconds at most.
  static let longestStep: Duration = .seconds(120)
  private static let removedAtOnce = 100

  private let database: Database
  private let clock: any WallClock
  private let log: Log
  private let process: String

  /// `process` names this process in claims, and no other one.
  package init(database: Database, clock: any WallClock, process: String, log: Log) {
    self.database = database
    self.clock = clock
    self.process = process
    self.log = log
  }

  /// The answer of `respond`, or the one that it gave before. Without the field `respond` answers; with it, its request has
  /// the body in memory, of at most 1 MiB. Throws `idempotency-key-in-use`, `idempotency-key-reused`, `too-many-requests`,
  /// `request-malformed`, and what `respond` throws.
  package func answer(
    _ request: HTTPRequest, by actor: String, _ respond: (HTTPRequest) async throws -> HTTPResponse
  ) async throws -> HTTPResponse {
    guard request.headers.contains(IdempotencyKey.field) else { return try await respond(request) }
    let body = try await request.bytes(upTo: .mebibytes(1))
    var repeatable = request
    repeatable.body = RequestBody(body)
    let buffered = repeatable
    return try await answer(buffered, by: actor, fingerprint: body) { try await respond(buffered) }.response
  }

  /// The same for a request whose body is not read: `fingerprint` is what makes it another request than one with the same
  /// method and address.
  package func answer(
    _ request: HTTPRequest, by actor: String, fingerprint: [UInt8],
    _ respond: () async throws -> HTTPResponse
  ) async throws -> (response: HTTPResponse, isRepeated: Bool) {
    guard let key = try IdempotencyKey(request, of: actor) else { return (try await respond(), false) }
    let fingerprint = SHA256Digest.of(
      Array("\(request.method.rawValue) \(request.rawTarget)\n".utf8) + fingerprint)
    let claim = Claim(key: key, holder: "\(process) \(RandomBytes.token(bits: 64))")
    if let entry = try await earlier(claim) {
      guard entry.fingerprint == fingerprint else { throw Problem(.idempotencyKeyReused) }
      return (Self.response(entry), true)
    }
    do {
      let response = try await respond()
      await end(claim, with: entry(for: response, fingerprint: fingerprint))
      return (response, false)
    } catch {
      await end(claim, with: nil)
      throw error
    }
  }

  /// One request's hold on its key.
  private struct Claim: Sendable {
    var key: IdempotencyKey
    /// Names this request, and no other one.
    var holder: String

    var name: String { "answer \(key.actor) \(key.text)" }
  }

  /// The answer that there is; nil where there is none, and the key is claimed. Throws `idempotency-key-in-use` where
  /// another request holds it, and `too-many-requests` where no further answer would be kept.
  private func earlier(_ claim: Claim) async throws -> IdempotentAnswerTable.Entry? {
    let now = clock.now()
    let (key, oldest) = (claim.key, now - Self.lifetime)
    let kept = try await database.read { try IdempotentAnswerTable.find(key, since: oldest, in: $0) }
    if let kept { return kept }
    return try await database.write(locking: [.lease(claim.name)]) { connection in
      if let entry = try IdempotentAnswerTable.find(key, since: oldest, in: connection) { return entry }
      let count = try IdempotentAnswerTable.count(
        of: key.actor, since: oldest, limit: Self.maximumAnswers, in: connection)
      guard count < Self.maximumAnswers else {
        throw Problem(
          .tooManyRequests, "\(Self.maximumAnswers) idempotency keys in a day are the most",
          retryAfterSeconds: 900)
      }
      guard
        try LeaseTable.take(
          claim.name, for: claim.holder, until: now + Self.longestStep, at: now, in: connection)
      else { throw Problem(.idempotencyKeyInUse, retryAfterSeconds: 1) }
      return nil
    }
  }

  /// Returns the entry that keeps an answer; nil for an answer that is not kept.
  private func entry(
    for response: HTTPResponse, fingerprint: SHA256Digest
  ) -> IdempotentAnswerTable.Entry? {
    let body: [UInt8]
    switch response.body {
    case .none: body = []
    case .bytes(let bytes): body = bytes
    case .file, .parts, .stream: return nil
    }
    guard (200...299).contains(response.status.rawValue), body.count <= Self.maximumAnswerLength else {
      return nil
    }
    return IdempotentAnswerTable.Entry(
      fingerprint: fingerprint, status: response.status.rawValue, location: response.headers["Location"],
      body: body)
  }

  /// Lets go of the key, with the answer if there is one to keep. The step is done: what fails here is logged, and no error of
  /// the request.
  private func end(_ claim: Claim, with entry: IdempotentAnswerTable.Entry?) async {
    let now = clock.now()
    // A task of its own: a client that goes away cancels its request, and comes again with its key.
    let write = Task { [database] in
      try await database.write(locking: [.lease(claim.name)], waiting: .unlimited) { connection in
        try LeaseTable.remove(claim.name, of: claim.holder, in: connection)
        guard let entry else { return }
        try IdempotentAnswerTable.remove(
          before: now - Self.lifetime, limit: Self.removedAtOnce, in: connection)
        try IdempotentAnswerTable.put(entry, for: claim.key, at: now, in: connection)
      }
    }
    do {
      try await write.value
    } catch {
      log.error(
        "an answer is not kept for its idempotency key",
        ["actor": LogValue(claim.key.actor), "error": LogValue(error)])
    }
  }

  /// Returns the kept answer, marked with `Idempotency-Replayed`.
  private static func response(_ entry: IdempotentAnswerTable.Entry) -> HTTPResponse {
    var response = HTTPResponse(
      status: HTTPStatus(rawValue: entry.status),
      headers: ["Cache-Control": "no-store", "Idempotency-Replayed": "true"])
    if let location = entry.location { response.headers["Location"] = location }
    if !entry.body.isEmpty {
      response.headers["Content-Type"] = "application/json"
      response.body = .bytes(entry.body)
    }
    return response
  }
}
