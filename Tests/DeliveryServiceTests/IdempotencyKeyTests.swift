import Commerce
import CoreTypes
import Database
import DeliveryModel
import DeliveryTesting
import HTTPClient
import HTTPServer
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import Testing

@testable import DeliveryRecords
@testable import DeliveryService
@testable import RouteAccess

@Suite("Requests that come again with an idempotency key")
struct IdempotencyKeyTests {
  private let version = "/v1/operator/products/com.example.issue1/versions/1.1"
  private let package = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 11) }

  private func post(
    _ server: ServerHarness, _ path: String, _ body: String = "", key: String?, as operators: APIClient? = nil
  ) async throws -> ClientResponse {
    try await (operators ?? server.operatorAPI).exchange(
      "POST", path, bytes: Array(body.utf8), headers: key.map { [("Idempotency-Key", $0)] } ?? [])
  }

  /// 1.0 is released, 1.1 approved.
  private func prepare(_ server: ServerHarness) async throws {
    try await server.publish(package)
    try await server.approve(package + [1], "1.1")
  }

  @Test("a release that comes again after a colleague's rollback releases nothing again")
  func release() async throws {
    try await ServerHarness.run { server in
      try await prepare(server)
      let first = try await post(server, version + "/release", key: "\"release-1\"")
      try await server.release("1.0")
      let again = try await post(server, version + "/release", key: "release-1")
      #expect(again.body == first.body)
      #expect(again.status == first.status)
      #expect(again.headers["Idempotency-Replayed"] == "true")
      #expect(first.headers["Idempotency-Replayed"] == nil)
      #expect(try await server.offered(to: server.device) == "1.0")
      // Without the key it is a release like any other.
      _ = try await post(server, version + "/release", key: nil)
      #expect(try await server.offered(to: server.device) == "1.1")
    }
  }

  @Test("a revocation that comes again after a colleague's reinstatement revokes nothing again")
  func revocation() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      let path = "/v1/operator/grants/\(try server.shortName(of: grant))"
      _ = try await post(server, path + "/revoke", #"{"reason":"refund"}"#, key: "a")
      _ = try await post(server, path + "/reinstate", key: "b")
      _ = try await post(server, path + "/revoke", #"{"reason":"refund"}"#, key: "a")
      #expect(try await server.status(grant).state == .granted)
    }
  }

  @Test("a key belongs to one request: another body or address is refused, another operator's key is another")
  func otherRequests() async throws {
    let bob = "{name: 'bob', key: 'bobs-own-key-of-32-characters-0000', scopes: ['admin']}"
    try await ServerHarness.run(options: ["--named-operator-key", bob]) { server in
      try await prepare(server)
      _ = try await post(server, version + "/release", #"{"percentage":10}"#, key: "k")
      for (path, body) in [("/release", #"{"percentage":100}"#), ("/submit", #"{"percentage":10}"#)] {
        let problem = try await server.problem {
          _ = try await post(server, version + path, body, key: "k")
        }
        #expect(problem.code == .idempotencyKeyReused)
        #expect(problem.status == 422)
      }
      let other = APIClient(
        baseURL: server.api.baseURL, credential: "bobs-own-key-of-32-characters-0000", client: server.client)
      _ = try await post(server, version + "/release", #"{"percentage":20}"#, key: "k", as: other)
      let record = try await server.operatorAPI.get(version, as: VersionRecord.self)
      #expect(record.percentage == 20)
    }
  }

  @Test("a refusal is not kept: the request may come again with its key when it is in order")
  func refusals() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      _ = try await server.submit(package + [1], as: "com.example.issue1", version: "1.1")
      let problem = try await server.problem { _ = try await post(server, version + "/release", key: "k") }
      #expect(problem.code == .stateConflict)
      try await server.step("submit", "1.1")
      try await server.step("approve", "1.1")
      _ = try await post(server, version + "/release", key: "k")
      #expect(try await server.offered(to: server.device) == "1.1")
    }
  }

  @Test("an answer is kept for a day")
  func day() async throws {
    try await ServerHarness.run { server in
      try await prepare(server)
      _ = try await post(server, version + "/release", key: "k")
      try await server.release("1.0")
      server.clock.advance(by: .seconds(24 * 3600))
      _ = try await post(server, version + "/release", key: "k")
      #expect(try await server.offered(to: server.device) == "1.0")
      server.clock.advance(by: .milliseconds(1))
      _ = try await post(server, version + "/release", key: "k")
      #expect(try await server.offered(to: server.device) == "1.1")
    }
  }

  @Test(
    "what is no key is refused",
    arguments: ["", "\"\"", "a b", "a\"b", "\"a\\\\b\"", String(repeating: "k", count: 256)])
  func invalid(key: String) async throws {
    try await ServerHarness.run { server in
      try await prepare(server)
      let problem = try await server.problem { _ = try await post(server, version + "/release", key: key) }
      #expect(problem.code == .requestMalformed)
    }
  }

  @Test("a creation of an upload that comes again finds the first upload, in both protocols")
  func uploads() async throws {
    try await ServerHarness.run { server in
      let tus = [("Tus-Resumable", "1.0.0"), ("Upload-Length", "1000"), ("Idempotency-Key", "u")]
      func create(_ headers: [(String, String)], _ bytes: [UInt8] = []) async throws -> ClientResponse {
        try await server.operatorAPI.exchange(
          "POST", "/v1/operator/uploads", bytes: bytes, mediaType: "application/offset+octet-stream",
          headers: headers)
      }
      let first = try await create(tus, Array(package.prefix(400)))
      let again = try await create(tus, Array(package.prefix(400)))
      #expect(again.status == 201)
      #expect(again.headers["Location"] == first.headers["Location"])
      #expect(again.headers["Upload-Offset"] == "400")
      let draft = [("Upload-Complete", "?0"), ("Upload-Length", "1000"), ("Idempotency-Key", "v")]
      let begun = try await create(draft, Array(package.prefix(300)))
      let repeated = try await create(draft, Array(package.prefix(300)))
      #expect(repeated.headers["Location"] == begun.headers["Location"])
      #expect(repeated.headers["Upload-Offset"] == "300")
      #expect(repeated.headers["Upload-Complete"] == "?0")
      let page = try await server.operatorAPI.get("/v1/operator/uploads", as: Page<UploadRecord>.self)
      #expect(page.items.count == 2)
      let other = try await server.problem {
        _ = try await create([("Tus-Resumable", "1.0.0"), ("Upload-Length", "999"), ("Idempotency-Key", "u")])
      }
      #expect(other.code == .idempotencyKeyReused)
    }
  }

  @Test("of two requests with one key at the same time, the second is told to come again")
  func concurrent() async throws {
    let file = try StateFile()
    let database = try file.open()
    let answers = IdempotentAnswers(
      database: database, clock: ManualWallClock(ServerHarness.start), process: "a",
      log: Log(level: .error))
    let request = try HTTPRequest(
      method: .post, rawTarget: "/a", headers: ["Idempotency-Key": "k"], body: RequestBody([1]))
    let response = try await answers.answer(request, by: "ada") { _ in
      let problem = try await #require(throws: Problem.self) {
        _ = try await answers.answer(request, by: "ada") { _ in HTTPResponse(status: .ok) }
      }
      #expect(problem.code == .idempotencyKeyInUse)
      #expect(problem.retryAfterSeconds == 1)
      // Another operator's key is another.
      _ = try await answers.answer(request, by: "bob") { _ in HTTPResponse(status: .ok) }
      return HTTPResponse(status: .created, headers: ["Location": "/a/1"])
    }
    #expect(response.status == .created)
    let again = try await answers.answer(request, by: "ada") { _ in
      Issue.record("it was answered before")
      return HTTPResponse(status: .ok)
    }
    #expect(again.status == .created)
    #expect(again.headers["Location"] == "/a/1")
  }

  @Test(
    "while one process makes the step, another on the same database does not, until the first must have died")
  func processes() async throws {
    let file = try StateFile()
    let database = try file.open()
    let clock = ManualWallClock(ServerHarness.start)
    let log = Log(level: .error)
    let first = IdempotentAnswers(database: database, clock: clock, process: "a", log: log)
    let second = IdempotentAnswers(database: database, clock: clock, process: "b", log: log)
    let request = try HTTPRequest(method: .post, rawTarget: "/a", headers: ["Idempotency-Key": "k"])
    _ = try await first.answer(request, by: "ada") { _ in
      clock.advance(by: IdempotentAnswers.longestStep - .milliseconds(1))
      let problem = try await #require(throws: Problem.self) {
        _ = try await second.answer(request, by: "ada") { _ in HTTPResponse(status: .ok) }
      }
      #expect(problem.code == .idempotencyKeyInUse)
      clock.advance(by: .milliseconds(1))
      _ = try await second.answer(request, by: "ada") { _ in HTTPResponse(status: .created) }
      return HTTPResponse(status: .noContent)
    }
    // A refusal lets go of the key at once.
    let another = try HTTPRequest(method: .post, rawTarget: "/a", headers: ["Idempotency-Key": "l"])
    await #expect(throws: Problem.self) {
      _ = try await first.answer(another, by: "ada") { _ in throw Problem(.stateConflict) }
    }
    let answer = try await second.answer(another, by: "ada") { _ in HTTPResponse(status: .created) }
    #expect(answer.status == .created)
    let claims = try await database.read { try $0.query("SELECT name FROM leases") }
    #expect(claims.isEmpty)
  }

  @Test(
    "the answer to a request that is cancelled after its step is kept", .enabled(if: !TestDatabase.isOnServer)
  )
  func cancelled() async throws {
    let file = try StateFile()
    let database = try file.open()
    let answers = IdempotentAnswers(
      database: database, clock: ManualWallClock(ServerHarness.start), process: "a",
      log: Log(level: .error))
    let request = try HTTPRequest(method: .post, rawTarget: "/a", headers: ["Idempotency-Key": "k"])
    let steps = Locked(0)
    let step: @Sendable () -> HTTPResponse = {
      steps.withLock { $0 += 1 }
      return HTTPResponse(status: .noContent)
    }
    let (begun, go) = (AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self))
    let task = Task {
      try await answers.answer(request, by: "ada") { _ in
        begun.continuation.finish()
        for await _ in go.stream {}
        return step()
      }
    }
    for await _ in begun.stream {}
    try await database.holdingWrites {
      go.continuation.finish()
      while database.waiting.writes == 0 { await Task.yield() }
      task.cancel()
    }
    _ = await task.result
    let again = try await answers.answer(request, by: "ada") { _ in step() }
    #expect(again.headers["Idempotency-Replayed"] == "true")
    #expect(steps.withLock { $0 } == 1)
  }

  @Test("a step that was done is answered as such although its answer cannot be kept")
  func unkept() async throws {
    let file = try StateFile()
    var options = TestDatabase.options
    options.queueLimit = 1
    let database = try file.open(options: options)
    let lines = Locked<[[UInt8]]>([])
    let answers = IdempotentAnswers(
      database: database, clock: ManualWallClock(ServerHarness.start), process: "a",
      log: Log(level: .error, output: { line in lines.withLock { $0.append(line) } }))
    let request = try HTTPRequest(method: .post, rawTarget: "/a", headers: ["Idempotency-Key": "k"])
    let (begun, go) = (AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self))
    let task = Task {
      try await answers.answer(request, by: "ada") { _ in
        begun.continuation.finish()
        for await _ in go.stream {}
        return HTTPResponse(status: .noContent)
      }
    }
    for await _ in begun.stream {}
    try await database.holdingWrites {
      let other = Task { try await database.write(locking: [], waiting: .unlimited) { _ in } }
      while database.waiting.writes == 0 { await Task.yield() }
      go.continuation.finish()
      let response = try await task.value
      #expect(response.status == .noContent)
      other.cancel()
    }
    #expect(lines.withLock { $0.count } == 1)
  }

  @Test("one operator's keys are so many in a day, and no more", .enabled(if: !TestDatabase.isOnServer))
  func bound() async throws {
    let file = try StateFile()
    let database = try file.open()
    let clock = ManualWallClock(ServerHarness.start)
    let answers = IdempotentAnswers(
      database: database, clock: clock, process: "a", log: Log(level: .error))
    try await database.write(locking: [.everything]) { connection in
      try connection.execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO idempotent_answers (actor, key, fingerprint, status, body, created)
        SELECT 'ada', 'k' || i, zeroblob(32), 200, x'', ? FROM n
        """, [.integer(IdempotentAnswers.maximumAnswers), .timestamp(ServerHarness.start)])
    }
    let request = try HTTPRequest(method: .post, rawTarget: "/a", headers: ["Idempotency-Key": "another"])
    let problem = try await #require(throws: Problem.self) {
      _ = try await answers.answer(request, by: "ada") { _ in HTTPResponse(status: .ok) }
    }
    #expect(problem.code == .tooManyRequests)
    _ = try await answers.answer(request, by: "bob") { _ in HTTPResponse(status: .ok) }
    clock.advance(by: IdempotentAnswers.lifetime + .milliseconds(1))
    // The only operator there is: no other one's request has removed anything.
    _ = try await answers.answer(request, by: "ada") { _ in HTTPResponse(status: .ok) }
  }

  @Test("answers that are older than a day go by themselves", .enabled(if: !TestDatabase.isOnServer))
  func retention() async throws {
    let file = try StateFile()
    let database = try file.open()
    let clock = ManualWallClock(ServerHarness.start)
    try await database.write(locking: [.everything]) { connection in
      try connection.execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
        INSERT INTO idempotent_answers (actor, key, fingerprint, status, body, created)
        SELECT 'ada', 'k' || i, zeroblob(32), 200, x'', ? + i / 1200 FROM n
        """, [.timestamp(ServerHarness.start)])
    }
    clock.advance(by: IdempotentAnswers.lifetime + .milliseconds(1))
    let rules = Retention.Rules(history: .zero, calls: .zero, proofs: .seconds(1))
    try await Retention(database: database, clock: clock, rules: rules).run()
    let left = try await database.read {
      try IdempotentAnswerTable.count(of: "ada", since: ServerHarness.start, limit: 5, in: $0)
    }
    #expect(left == 1)
  }
}
