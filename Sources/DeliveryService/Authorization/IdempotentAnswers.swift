import CoreTypes
import Crypto
import Database
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import ServiceRuntime
import Synchronization

/// Answers a request that comes again with the same `Idempotency-Key` as it was answered first, and does nothing then: for
/// steps of operators whose repetition, after a step of another operator, would do them again.
///
/// Answers of success are kept for ``lifetime``, each in a write after the one that made the step; a refusal changed
/// nothing, and the request may come again with its key. The end of the request that made the
/// step does not end that write. Where it fails all the same, or the process dies between the two, there is no answer, and the
/// repetition is a request like the first.
///
///     let (response, _) = try await answers.answer(request, by: actor, fingerprint: fingerprint) { try await step() }
final class IdempotentAnswers: Sendable {
  static let lifetime: Duration = .seconds(24 * 3600)
  /// Answers that are kept for one operator key.
  static let maximumAnswers = 10_000
  /// Bytes of an answer that is kept; a longer one is not.
  static let maximumAnswerLength = 65_536
  private static let removedAtOnce = 100

  private let database: Database
  private let clock: any WallClock
  private let log: Log
  private let running: Mutex<Set<IdempotencyKey>> = Mutex([])

  init(database: Database, clock: any WallClock, log: Log) {
    self.database = database
    self.clock = clock
    self.log = log
  }

  /// The answer of `respond`, or the one that it gave before. Without the field `respond` answers; with it, its request has
  /// the body in memory, of at most 1 MiB. Throws `idempotency-key-in-use`, `idempotency-key-reused`, `too-many-requests`,
  /// `request-malformed`, and what `respond` throws.
  func answer(
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
  func answer(
    _ request: HTTPRequest, by actor: String, fingerprint: [UInt8],
    _ respond: () async throws -> HTTPResponse
  ) async throws -> (response: HTTPResponse, isRepeated: Bool) {
    guard let key = try IdempotencyKey(request, of: actor) else { return (try await respond(), false) }
    guard running.withLock({ $0.insert(key).inserted }) else {
      throw Problem(.idempotencyKeyInUse, retryAfterSeconds: 1)
    }
    defer { running.withLock { _ = $0.remove(key) } }
    let fingerprint = SHA256Digest.of(
      Array("\(request.method.rawValue) \(request.rawTarget)\n".utf8) + fingerprint)
    if let entry = try await earlier(key) {
      guard entry.fingerprint == fingerprint else { throw Problem(.idempotencyKeyReused) }
      return (Self.response(entry), true)
    }
    let response = try await respond()
    await keep(response, to: key, fingerprint: fingerprint)
    return (response, false)
  }

  /// Throws `too-many-requests` where no further answer would be kept.
  private func earlier(_ key: IdempotencyKey) async throws -> IdempotentAnswerTable.Entry? {
    let oldest = clock.now() - Self.lifetime
    return try await database.read { connection in
      if let entry = try IdempotentAnswerTable.find(key, since: oldest, in: connection) { return entry }
      guard try IdempotentAnswerTable.count(of: key.actor, in: connection) < Self.maximumAnswers else {
        throw Problem(
          .tooManyRequests, "\(Self.maximumAnswers) idempotency keys in a day are the most",
          retryAfterSeconds: 900)
      }
      return nil
    }
  }

  /// The step is done: what fails here is logged, and no error of the request.
  private func keep(
    _ response: HTTPResponse, to key: IdempotencyKey, fingerprint: SHA256Digest
  ) async {
    let body: [UInt8]
    switch response.body {
    case .none: body = []
    case .bytes(let bytes): body = bytes
    case .file, .parts, .stream: return
    }
    guard (200...299).contains(response.status.rawValue), body.count <= Self.maximumAnswerLength else {
      return
    }
    let entry = IdempotentAnswerTable.Entry(
      fingerprint: fingerprint, status: response.status, location: response.headers["Location"], body: body)
    let now = clock.now()
    // A task of its own: a client that goes away cancels its request, and comes again with its key.
    let write = Task { [database] in
      try await database.write(locking: [], waiting: .unlimited) { connection in
        try IdempotentAnswerTable.remove(
          before: now - Self.lifetime, limit: Self.removedAtOnce, in: connection)
        try IdempotentAnswerTable.put(entry, for: key, at: now, in: connection)
      }
    }
    do {
      try await write.value
    } catch {
      log.error(
        "an answer is not kept for its idempotency key",
        ["actor": LogValue(key.actor), "error": LogValue(error)])
    }
  }

  private static func response(_ entry: IdempotentAnswerTable.Entry) -> HTTPResponse {
    var response = HTTPResponse(
      status: entry.status, headers: ["Cache-Control": "no-store", "Idempotency-Replayed": "true"])
    if let location = entry.location { response.headers["Location"] = location }
    if !entry.body.isEmpty {
      response.headers["Content-Type"] = "application/json"
      response.body = .bytes(entry.body)
    }
    return response
  }
}
