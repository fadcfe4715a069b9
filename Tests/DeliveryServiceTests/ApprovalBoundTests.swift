import Commerce
import CoreTypes
import Database
import DeliveryTesting
import HTTPParsing
import HTTPServer
import PullboxAPI
import PullboxAPIClient
import PullboxAPIServer
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import Testing

@testable import DeliveryRecords
@testable import DeliveryService
@testable import RouteAccess

/// docs/running.md, "Two operators": how much one key may do and ask for, and for which state.
extension ApprovalTests {
  /// Writes down what ada revoked before on this day.
  private func revoked(_ count: Int, _ server: ServerHarness) async throws {
    try await server.server.components.infrastructure.database.write(locking: []) { connection in
      for number in 0..<count {
        try AuditTable.add(
          AuditEntry(
            at: ServerHarness.start, actor: "ada", action: "grant.revoke", subject: "\(number)"),
          in: connection)
      }
    }
  }

  private func step(_ name: String, _ step: String, _ server: ServerHarness, by actor: String) async throws {
    _ = try await server.operatorAPI(with: Self.key(actor)).call(
      "POST", "/v1/operator/grants/\(name)/\(step)", body: ReasonBody(reason: nil), as: OperatorGrant.self)
  }

  private func requests(_ query: [(String, String)], _ server: ServerHarness) async throws -> [Int64] {
    try await server.operatorAPI.get("/v1/operator/approvals", query: query, as: Page<Approval>.self).items
      .map(\.id)
  }

  @Test("of revocations at the same time one key makes as many as it has left of a hundred a day")
  func revocationsAtOnce() async throws {
    try await run { server in
      var names: [String] = []
      for device in [server.device, ServerHarness.early, ServerHarness.late] {
        names.append(try server.shortName(of: try await server.grantForPurchase(device: device)))
      }
      try await revoked(99, server)
      let refused = try await withThrowingTaskGroup(of: Int.self) { group in
        for name in names {
          group.addTask {
            do {
              try await step(name, "revoke", server, by: "ada")
              return 0
            } catch APICallError.problem(let problem) where problem.code == .secondOperatorRequired {
              return 1
            }
          }
        }
        return try await group.reduce(0, +)
      }
      #expect(refused == 2)
      let query = [("action", "grant.revoke"), ("actor", "ada"), ("limit", "200")]
      #expect(try await server.audit(query).count == 100)
    }
  }

  @Test("a revocation is approved for the grant as it stood, and none is kept of what is revoked or unknown")
  func revocationOfOne() async throws {
    try await run { server in
      let grant = try await server.grantForPurchase()
      let name = try server.shortName(of: grant)
      try await revoked(100, server)
      let path = "/v1/operator/grants/\(name)/revoke"
      let number = try #require(try await ask(path, server).approval)
      try await step(name, "revoke", server, by: "bob")
      try await step(name, "reinstate", server, by: "bob")
      let changed = try await server.problem { _ = try await decide(number, "approve", server) }
      #expect(changed.code == .preconditionFailed)
      #expect(try await server.status(grant).state != .revoked)

      try await step(name, "revoke", server, by: "bob")
      try await step(name, "revoke", server, by: "ada")
      let unknown = try await ask("/v1/operator/grants/0123456789abcdef/revoke", server)
      #expect(unknown.code == .grantUnknown)
      #expect(try await ask("/v1/operator/grants/anything/revoke", server).code == .grantUnknown)
      #expect(try await requests([], server) == [number])
    }
  }

  @Test("a key has twenty requests that wait, one of each step, and takes them back; other keys ask still")
  func room() async throws {
    try await run { server in
      let ada = server.operatorAPI(with: Self.key("ada"))
      var paths: [String] = []
      for number in 0...20 {
        let path = "/v1/operator/products/com.example.other\(number)"
        _ = try await ada.call("PUT", path, body: ProductDescription(onSale: true), as: OperatorProduct.self)
        paths.append(path + "/withdraw")
      }
      var numbers: [Int64] = []
      for path in paths.dropLast() { numbers.append(try #require(try await ask(path, server).approval)) }
      #expect(try await ask(paths[20], server).code == .tooManyRequests)
      #expect(try await ask(paths[20], server, by: "bob").code == .secondOperatorRequired)

      // In other words it is asked for anew.
      let again = try #require(
        try await ask(paths[0], server, ReasonBody(reason: "another letter")).approval)
      #expect(again != numbers[0])
      #expect(try await approval(numbers[0], server).state == .declined)
      let back = try await decide(numbers[1], "decline", server, by: "ada")
      #expect(back.state == .declined && back.decidedBy == "ada")
      #expect(try await ask(paths[20], server).code == .secondOperatorRequired)
      let reading = try await server.problem {
        _ = try await decide(numbers[2], "decline", server, by: "eve")
      }
      #expect(reading.code == .forbidden)
    }
  }

  @Test("a request whose time is over is listed as expired, before a sweep and after it, and noted once")
  func expired() async throws {
    try await run { server in
      let number = try #require(try await ask(Self.withdraw, server).approval)
      #expect(try await requests([("state", "waiting")], server) == [number])
      #expect(try await requests([("state", "expired")], server) == [])
      server.clock.advance(by: Approvals.lifetime)
      for _ in 0..<2 {
        #expect(try await requests([("state", "expired")], server) == [number])
        #expect(try await requests([("state", "waiting")], server) == [])
        try await server.server.components.infrastructure.database.write(locking: []) {
          try ApprovalTable.expire(at: server.clock.now(), in: $0)
        }
      }
      let noted = try await server.audit([("action", "approval.expire")])
      #expect(noted.map(\.actor) == ["server"])
      #expect(noted.first?.detail == "version.withdraw \(Self.issue) 1.0, asked for by ada")
    }
  }

  @Test("a request ends with the key that asked, also where another key has its name")
  func anotherKeyOfThatName() async throws {
    try await run { server in
      let number = try #require(try await ask(Self.withdraw, server).approval)
      let keys = [("ada", "another key of the operator ada"), ("bob", Self.key("bob"))].map {
        OperatorKeys.Key(
          holder: Operator(name: $0.0, scopes: [.admin]), secret: SecretDigest(of: $0.1))
      }
      server.server.operators.replace(keys, needsSecondKey: false, needsSecondOperator: true)
      let refused = try await server.problem { _ = try await decide(number, "approve", server) }
      #expect(refused.code == .stateConflict)
    }
  }

  @Test("the audit log and the request have the outcome of an approved step")
  func outcomes() async throws {
    try await run { server in
      _ = try await server.grantForPurchase()
      _ = try await server.grantForPurchase(device: ServerHarness.early)
      try await revoked(100, server)
      let all = RevocationRequest(transaction: Self.transaction)
      let late = try #require(try await ask("/v1/operator/revocations", server, all).approval)
      _ = try await server.grantForPurchase(device: ServerHarness.late)
      let refused = try await server.problem { _ = try await decide(late, "approve", server) }
      #expect(refused.code == .preconditionFailed)
      let number = try #require(try await ask("/v1/operator/revocations", server, all).approval)
      let done = try await decide(number, "approve", server)
      #expect(done.state == .done && done.outcome == "3 of 3 grants are revoked")
      let step = "grant.revoke \(Self.transaction)"
      let noted = try await server.audit([("action", "approval.done")])
      #expect(noted.map(\.actor) == ["ada"])
      #expect(noted.map(\.detail) == ["\(step): 3 of 3 grants are revoked"])
      let failed = try await server.audit([("action", "approval.refused")])
      #expect(failed.map(\.actor) == ["ada"])
      #expect(failed.first?.detail?.hasPrefix("\(step): ") == true)
    }
  }

  @Test("a step that needs no approval is taken for the state that was looked at, whatever its sender asks")
  func stateLookedAt() async throws {
    try await run { server in
      let approvals = Approvals(
        database: server.server.components.infrastructure.database, keys: server.server.operators,
        clock: server.clock, log: Log(level: .error))
      let request = try HTTPRequest(
        method: .post, rawTarget: "/v1/operator/step",
        headers: ["Authorization": "Bearer \(Self.key("ada"))", "If-Match": "*"])
      let response = try await approvals.answer(
        request, PathParameters([:]), by: Operator(name: "ada", scopes: [.admin]), at: "/v1/operator/step",
        scope: .admin, under: { _, _, _ in .free(tag: "\"seen\"") }
      ) { request, _, actor in
        #expect(request.headers["If-Match"] == "\"seen\"")
        #expect(actor.isAlone)
        return HTTPResponse(status: .noContent)
      }
      #expect(response.status == .noContent)
    }
  }
}
