import Commerce
import CoreTypes
import Database
import DeliveryTesting
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxAPIServer
import PullboxTesting
import ServiceAPI
import Testing

@testable import DeliveryRecords
@testable import DeliveryService
@testable import RouteAccess

/// docs/running.md, "Two operators": `secondOperator`.
@Suite("Steps that want a second operator", .timeLimit(.minutes(2)))
struct ApprovalTests {
  static let issue = "com.example.issue1"
  static let transaction = "2000000000000001"
  static let product = "/v1/operator/products/com.example.issue1"
  static let withdraw = "/v1/operator/products/com.example.issue1/versions/1.0/withdraw"
  let package = (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 29 >> 3) }

  static func key(_ name: String) -> String { "key-of-the-operator-\(name)" }

  static let options =
    ["--second-operator", "--console", "everywhere"]
    + [("ada", "'read', 'publish', 'admin'"), ("bob", "'read', 'publish', 'admin'"), ("eve", "'read'")]
    .flatMap { ["--named-operator-key", "{name: '\($0.0)', key: '\(key($0.0))', scopes: [\($0.1)]}"] }

  func run(
    _ options: [String] = options, _ body: @escaping (ServerHarness) async throws -> Void
  ) async throws {
    try await ServerHarness.run(options: options) { server in
      let ada = server.operatorAPI(with: Self.key("ada"))
      _ = try await ada.call(
        "PUT", "/v1/operator/products/\(Self.issue)", body: ProductDescription(onSale: true),
        as: OperatorProduct.self)
      _ = try await server.submit(package, as: Self.issue, version: "1.0")
      try await server.step("submit", "1.0", as: ada)
      try await server.step("approve", "1.0", as: server.operatorAPI(with: Self.key("bob")))
      try await server.release("1.0")
      try await body(server)
    }
  }

  func ask(
    _ path: String, _ server: ServerHarness, by name: String = "ada",
    _ body: some Encodable & Sendable = ReasonBody(reason: "a letter")
  ) async throws -> Problem {
    try await server.problem {
      _ = try await server.operatorAPI(with: Self.key(name)).call(
        "POST", path, body: body, as: Page<Approval>.self)
    }
  }

  func decide(
    _ number: Int64, _ step: String, _ server: ServerHarness, by name: String = "bob"
  ) async throws -> Approval {
    try await server.operatorAPI(with: Self.key(name)).call(
      "POST", "/v1/operator/approvals/\(number)/\(step)", body: ReasonBody(reason: "no"), as: Approval.self
    ).value
  }

  func state(_ server: ServerHarness) async throws -> VersionState {
    let record: VersionRecord = try await server.operatorAPI.get(
      "/v1/operator/products/\(Self.issue)/versions/1.0")
    return record.state
  }

  func approval(_ number: Int64, _ server: ServerHarness) async throws -> Approval {
    try await server.operatorAPI.get("/v1/operator/approvals/\(number)")
  }

  @Test("a withdrawal waits, is carried out once by another key's word, and the audit log has both names")
  func withdrawal() async throws {
    try await run { server in
      try await server.deliver(server.grant(to: ServerHarness.early), to: ServerHarness.early)
      let asked = try await ask(Self.withdraw, server)
      #expect(asked.code == .secondOperatorRequired && asked.status == 403)
      let number = try #require(asked.approval)
      // Asked for again, it is the same request.
      #expect(try await ask(Self.withdraw, server).approval == number)
      #expect(try await state(server) == .released)
      let waiting = try await approval(number, server)
      #expect(waiting.state == .waiting && waiting.askedBy == "ada" && waiting.reason == "a letter")
      #expect(waiting.subject == "\(Self.issue) 1.0" && waiting.affected == 1)
      #expect(waiting.expires == ServerHarness.start + .seconds(3 * 86_400))

      let own = try await server.problem { _ = try await decide(number, "approve", server, by: "ada") }
      #expect(own.code == .secondKeyRequired)
      let reading = try await server.problem { _ = try await decide(number, "approve", server, by: "eve") }
      #expect(reading.code == .forbidden)
      #expect(try await state(server) == .released)

      let done = try await decide(number, "approve", server)
      #expect(done.state == .done && done.decidedBy == "bob")
      #expect(try await state(server) == .withdrawn)
      let again = try await server.problem { _ = try await decide(number, "approve", server) }
      #expect(again.code == .stateConflict)
      #expect(try await server.audit([("action", "version.withdraw")]).map(\.actor) == ["ada"])
      let approved = try await server.audit([("action", "approval.approve")])
      #expect(approved.map(\.actor) == ["bob"])
      #expect(approved.first?.detail == "version.withdraw \(Self.issue) 1.0, asked for by ada")
    }
  }

  @Test("a version that was changed meanwhile is not withdrawn, and the request says so")
  func changed() async throws {
    try await run { server in
      let number = try #require(try await ask(Self.withdraw, server).approval)
      _ = try await server.submit(package + [1], as: Self.issue, version: "1.1")
      try await server.step("submit", "1.1", as: server.operatorAPI(with: Self.key("ada")))
      try await server.step("approve", "1.1", as: server.operatorAPI(with: Self.key("bob")))
      try await server.release("1.1")
      let refused = try await server.problem { _ = try await decide(number, "approve", server) }
      #expect(refused.code == .preconditionFailed)
      let after = try await approval(number, server)
      #expect(after.state == .refused && after.outcome?.isEmpty == false)
      #expect(try await state(server) == .superseded)
    }
  }

  @Test("a request that is declined, or whose time is over, is not carried out any more")
  func declined() async throws {
    try await run { server in
      let first = try #require(try await ask(Self.withdraw, server).approval)
      #expect(try await decide(first, "decline", server).state == .declined)
      let approved = try await server.problem { _ = try await decide(first, "approve", server) }
      #expect(approved.code == .stateConflict)
      let second = try #require(try await ask(Self.withdraw, server).approval)
      #expect(second != first)
      server.clock.advance(by: .seconds(3 * 86_400))
      let late = try await server.problem { _ = try await decide(second, "approve", server) }
      #expect(late.code == .stateConflict)
      #expect(try await approval(second, server).state == .expired)
      #expect(try await state(server) == .released)
      #expect(try await server.audit([("action", "approval.decline")]).map(\.actor) == ["bob"])
    }
  }

  @Test("a request of a key that is gone is not carried out")
  func gone() async throws {
    try await run { server in
      let number = try #require(try await ask(Self.withdraw, server).approval)
      let bob = OperatorKeys.Key(
        holder: Operator(name: "bob", scopes: [.admin]), secret: SecretDigest(of: Self.key("bob")))
      server.server.operators.replace([bob], needsSecondKey: false, needsSecondOperator: true)
      let refused = try await server.problem { _ = try await decide(number, "approve", server) }
      #expect(refused.code == .stateConflict)
    }
  }

  @Test("a product is taken off sale by two operators, and by no description")
  func offSale() async throws {
    try await run { server in
      let path = "/v1/operator/products/\(Self.issue)"
      let described = try await server.problem {
        _ = try await server.operatorAPI(with: Self.key("ada")).call(
          "PUT", path, body: ProductDescription(onSale: false), as: OperatorProduct.self)
      }
      #expect(described.code == .secondOperatorRequired)
      let number = try #require(try await ask(path + "/withdraw", server).approval)
      #expect(try await decide(number, "approve", server).state == .done)
      let product: OperatorProduct = try await server.operatorAPI.get(path)
      #expect(product.sale == .withdrawn)
    }
  }

  @Test("one operator revokes a hundred grants a day, together or one by one, and no more")
  func revocations() async throws {
    try await run { server in
      let grants = [
        try await server.grantForPurchase(), try await server.grantForPurchase(device: ServerHarness.early),
      ]
      let ada = server.operatorAPI(with: Self.key("ada"))
      // What ada revoked before on this day.
      try await server.server.components.infrastructure.database.write(locking: []) { connection in
        for number in 0..<99 {
          try AuditTable.add(
            AuditEntry(
              at: ServerHarness.start, actor: "ada", action: "grant.revoke", subject: "\(number)"),
            in: connection)
        }
      }
      let all = RevocationRequest(transaction: Self.transaction, reason: "a letter")
      let asked = try await ask("/v1/operator/revocations", server, all)
      #expect(asked.code == .secondOperatorRequired)
      let number = try #require(asked.approval)
      #expect(try await approval(number, server).affected == 2)
      // The hundredth is one that no other operator has to approve.
      _ = try await ada.call(
        "POST", "/v1/operator/grants/\(server.shortName(of: grants[0]))/revoke",
        body: ReasonBody(reason: nil),
        as: OperatorGrant.self)
      let more = try await ask("/v1/operator/grants/\(server.shortName(of: grants[1]))/revoke", server)
      #expect(more.code == .secondOperatorRequired)
      // Another grant stands than those that it was asked for.
      let changed = try await server.problem { _ = try await decide(number, "approve", server) }
      #expect(changed.code == .preconditionFailed)
      let rest = try #require(try await ask("/v1/operator/revocations", server, all).approval)
      #expect(try await decide(rest, "approve", server).state == .done)
      for grant in grants { #expect(try await server.status(grant).state == .revoked) }
    }
  }

  @Test("without the setting one operator does all of it, and the plan says how many grants end")
  func alone() async throws {
    try await run(Array(Self.options.dropFirst())) { server in
      _ = try await server.grantForPurchase()
      _ = try await server.grantForPurchase(device: ServerHarness.early)
      let plan: RevocationPlan = try await server.operatorAPI.get(
        "/v1/operator/revocations?transaction=\(Self.transaction)")
      #expect(plan.grants == 2 && plan.devices == 2 && !plan.hasMore)
      let report = try await server.operatorAPI.call(
        "POST", "/v1/operator/revocations", body: RevocationRequest(transaction: Self.transaction),
        as: RevocationReport.self
      ).value
      #expect(report.revoked == 2)
      let record = try await server.operatorAPI(with: Self.key("ada")).call(
        "POST", Self.withdraw, body: ReasonBody(reason: nil), as: VersionRecord.self
      ).value
      #expect(record.state == .withdrawn)
    }
  }

  @Test("in the console it waits on Today for another operator, who approves it there")
  func console() async throws {
    try await run { server in
      let (ada, bob) = (ConsoleBrowser(server), ConsoleBrowser(server))
      try await ada.signIn(Self.key("ada"))
      try await bob.signIn(Self.key("bob"))
      let version = try await ada.get("/console/products/\(Self.issue)/1.0")
      let token = try #require(ada.hidden("token", of: version.text))
      let tag = try #require(ada.hidden("tag", of: version.text)).replacing("&quot;", with: "\"")
      let asked = try await ada.post(
        "/console/products/\(Self.issue)/1.0/withdraw",
        [("token", token), ("tag", tag), ("typed", "\(Self.issue) 1.0"), ("reason", "a <b>letter</b>")])
      let location = try #require(asked.location)
      #expect(location.hasPrefix("/console/approvals/") && location.hasSuffix("?notice=asked"))
      let path = String(location.prefix { $0 != "?" })
      let own = try await ada.get(path)
      #expect(own.text.contains("another operator decides") && !own.text.contains("\(path)/approve"))
      #expect(own.text.contains("a &lt;b&gt;letter"))
      let today = try await bob.get("/console/")
      #expect(today.text.contains("ada asks for a second operator") && today.text.contains(path))
      let question = try await bob.get(path)
      let form = [
        ("token", try #require(bob.hidden("token", of: question.text))),
        ("once", try #require(bob.hidden("once", of: question.text))),
      ]
      for _ in 0..<2 {
        #expect(try await bob.post(path + "/approve", form).location == path + "?notice=carried-out")
      }
      #expect(try await state(server) == .withdrawn)
      #expect(try await bob.get("/console/approvals").text.contains("carried out"))
    }
  }

  @Test(
    "what was asked and decided stands in the history of the product and of the version, and changes the state of neither"
  )
  func history() async throws {
    try await run { server in
      let ada = server.operatorAPI(with: Self.key("ada"))
      let path = "/v1/operator/products/\(Self.issue)/versions/1.0"
      let before: VersionRecord = try await ada.get(path)
      let declined = try #require(try await ask(Self.withdraw, server).approval)
      _ = try await decide(declined, "decline", server)
      let after: VersionRecord = try await ada.get(path)
      #expect(after.history?.count == before.history?.count)
      let done = try #require(try await ask(Self.withdraw, server).approval)
      _ = try await decide(done, "approve", server)
      let sale = try #require(try await ask("\(Self.product)/withdraw", server).approval)

      func steps(_ query: [(String, String)]) async throws -> [String] {
        try await server.audit([("product", Self.issue), ("limit", "200")] + query)
          .filter { $0.action.hasPrefix("approval.") }
          .map { "\($0.action) \($0.subject) \($0.about ?? "-") \($0.actor)" }
      }
      let (version, issue) = ("\(Self.issue) 1.0", Self.issue)
      let ofVersion = [
        "approval.done approval \(done) \(version) ada", "approval.approve approval \(done) \(version) bob",
        "approval.ask approval \(done) \(version) ada",
        "approval.decline approval \(declined) \(version) bob",
        "approval.ask approval \(declined) \(version) ada",
      ]
      #expect(try await steps([("version", "1.0")]) == ofVersion)
      // However it is spelled.
      #expect(try await steps([("version", "1")]) == ofVersion)
      #expect(try await steps([]) == ["approval.ask approval \(sale) \(issue) ada"] + ofVersion)
      let actions = try await server.audit([
        ("product", Self.issue), ("version", "1.0"), ("action", "version.withdraw"),
      ])
      #expect(actions.count == 1)
      // In pages, each entry once and in the order of the log.
      var (read, next): ([String], String?) = ([], nil)
      repeat {
        let page: Page<AuditEntry> = try await server.operatorAPI.get(
          "/v1/operator/audit",
          query: [("product", Self.issue), ("limit", "3")] + (next.map { [("after", $0)] } ?? []))
        read += page.items.map { "\($0.action) \($0.subject)" }
        next = page.next
      } while next != nil
      let whole = try await server.audit([("product", Self.issue), ("limit", "200")])
      #expect(read == whole.map { "\($0.action) \($0.subject)" })
      let wrong = try await server.problem { _ = try await server.audit([("version", "1.0")]) }
      #expect(wrong.code == .requestMalformed)

      let browser = ConsoleBrowser(server)
      try await browser.signIn(Self.key("bob"))
      for page in ["/console/products/\(Self.issue)", "/console/products/\(Self.issue)/1.0"] {
        let text = try await browser.get(page).text
        #expect(text.contains("href=\"/console/approvals/\(done)\"") && text.contains("declined a step"))
      }
    }
  }

  @Test("what was asked at one node is approved at another", .enabled(if: TestDatabase.isOnServer))
  func nodes() async throws {
    try await ServerHarness.runNodes(options: Self.options) { first, second in
      let ada = first.operatorAPI(with: Self.key("ada"))
      _ = try await ada.call(
        "PUT", "/v1/operator/products/\(Self.issue)", body: ProductDescription(onSale: true),
        as: OperatorProduct.self)
      let number = try #require(
        try await ask("/v1/operator/products/\(Self.issue)/withdraw", first).approval)
      #expect(try await decide(number, "approve", second).state == .done)
      let again = try await first.problem { _ = try await decide(number, "approve", first) }
      #expect(again.code == .stateConflict)
    }
  }
}
