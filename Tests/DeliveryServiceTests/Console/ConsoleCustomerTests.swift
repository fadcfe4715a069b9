import Commerce
import CoreTypes
import Crypto
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import Receipts
import ServiceAPI
import Testing

@testable import DeliveryService

/// docs/console.md: a customer's page shows devices and readers' keys, and ends a key.
@Suite("Customers' devices and readers' keys, seen by operators", .timeLimit(.minutes(2)))
struct ConsoleCustomerTests {
  private static let transaction = "2000000000000001"
  private let package = (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 7 / 3) }

  private func add(_ title: String, _ server: ServerHarness) async throws -> NewReaderKey {
    let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
    return try await server.api.call(
      "POST", "/v1/readers",
      body: ReaderKeyRequest(
        proofs: ProofList(Proof(store: "sandbox", receipt: receipt)), device: server.device, title: title),
      as: NewReaderKey.self
    ).value
  }

  private func status(_ key: NewReaderKey, _ server: ServerHarness) async throws -> Int {
    let credentials = Base64.encode(Array("\(key.name):\(key.password)".utf8))
    return try await server.client.send(
      ClientRequest(
        method: "GET", url: server.api.url("/opds/v2/owned"),
        headers: [("Authorization", "Basic \(credentials)")])
    ).status
  }

  private func customers(_ query: String, _ server: ServerHarness) async throws -> [OperatorCustomer] {
    let found: OperatorCustomers = try await server.operatorAPI.get("/v1/operator/customers?\(query)")
    return found.customers
  }

  @Test("a transaction, and each device, leads to the customer with all devices and keys")
  func found() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      _ = try await server.grantForPurchase()
      let key = try await add("Tablet <1>", server)
      for query in [
        "transaction=\(Self.transaction)", "device=\(server.device.id)", "device=reader-\(key.name)",
      ] {
        let found = try await customers(query, server)
        #expect(found.count == 1, "\(query)")
        #expect(found.first?.devices.map(\.device) == [server.device.id], "\(query)")
        #expect(found.first?.readers.map(\.title) == ["Tablet <1>"], "\(query)")
        #expect(found.first?.readers.first?.used == nil)
      }
      #expect(try await status(key, server) == 200)
      let used = try await customers("device=reader-\(key.name)", server)
      #expect(used.first?.readers.first?.used != nil)
      let unknown = try await server.problem { _ = try await customers("device=none", server) }
      #expect(unknown.code == .transactionUnknown)
      let both = try await server.problem { _ = try await customers("device=a&transaction=1", server) }
      #expect(both.code == .requestMalformed)
    }
  }

  @Test("an application's user leads to the customer's page, with what was granted and why")
  func applicationUser() async throws {
    try await ServerHarness.run(options: ["--console", "everywhere"]) { server in
      try await server.publish(package)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      let grant = try await server.api.call(
        "POST", "/v1/grants",
        body: GrantRequest(
          proof: Proof(store: "sandbox", receipt: receipt),
          product: try #require(ProductIdentifier("com.example.issue1")), device: server.device,
          account: ApplicationAccount("ada <17>")),
        as: GrantResponse.self
      ).value
      let name = try server.shortName(of: grant)
      let browser = ConsoleBrowser(server)
      try await browser.signIn()
      let path = "/console/customers?account=ada%20%3C17%3E"
      let page = try await browser.get(path)
      #expect(page.status == 200)
      #expect(page.text.contains("/console/deliveries/\(name)") && page.text.contains("\(server.device.id)"))
      // What is revoked at once is a transaction's, or a device's.
      #expect(!page.text.contains("customers/revoke"))
      let explained = try await browser.get("\(path)&product=com.example.issue1")
      #expect(explained.text.contains(">purchased<") && explained.text.contains("pullbox explain"))
      let customer = try #require(
        try await customers("transaction=\(Self.transaction)", server).first?.customer)
      #expect(explained.text.contains("/console/customers?customer=\(customer)"))
      let own = try await browser.get("/console/customers?customer=\(customer)")
      #expect(own.text.contains("/console/deliveries/\(name)"))

      // In German the rules and the kinds of refusals are German, and what the interface adds is called English.
      func speak(_ language: String) async throws {
        let token = try #require(browser.hidden("token", of: try await browser.get("/console/").text))
        _ = try await browser.post("/console/language", [("token", token), ("language", language)])
      }
      try await speak("de")
      #expect(try await browser.get("\(path)&product=com.example.issue1").text.contains("Es wurde gekauft."))
      let refused = try await browser.get("/console/products/com.example.none")
      #expect(refused.text.contains("Dieses Produkt gibt es nicht. <span lang=\"en\">"))
      let malformed = try await browser.get("/console/customers?device=a&behind=a&behind=b")
      #expect(malformed.status == 400)
      #expect(malformed.text.contains("<h1><bdi>Das ist nicht zu verstehen</bdi></h1>"))
      try await speak("en")

      func granted(_ query: String) async throws -> [String] {
        let page: Page<OperatorGrant> = try await server.operatorAPI.get("/v1/operator/grants?\(query)")
        return page.items.map { "\($0.grant)" }
      }
      #expect(try await granted("customer=\(customer)") == [name])
      #expect(try await granted("customer=\(customer)&state=granted&device=\(server.device.id)") == [name])
      for none in ["state=finished", "product=com.example.issue2", "device=none"] {
        #expect(try await granted("customer=\(customer)&\(none)") == [], "\(none)")
      }
      #expect(try await granted("customer=\(String(repeating: "0", count: 32))") == [])
      for wrong in ["transaction=1", "product=com.example.issue1&version=1.0"] {
        let problem = try await server.problem { _ = try await granted("customer=\(customer)&\(wrong)") }
        #expect(problem.code == .requestMalformed, "\(wrong)")
      }
    }
  }

  @Test("a key that an operator ends opens nothing, and the audit log has who ended it and why")
  func ended() async throws {
    try await ServerHarness.run(options: ["--console", "everywhere"]) { server in
      try await server.publish(package)
      _ = try await server.grantForPurchase()
      let (lost, kept) = (try await add("Lost <b>", server), try await add("Kept", server))
      let browser = ConsoleBrowser(server)
      try await browser.signIn()
      let page = try await browser.get("/console/customers?transaction=\(Self.transaction)")
      #expect(page.text.contains("Lost &lt;b&gt;") && !page.text.contains("Lost <b>"))
      #expect(page.text.contains("/console/customers/reader?name=\(lost.name)"))
      let question = try await browser.get("/console/customers/reader?name=\(lost.name)")
      #expect(question.status == 200)
      #expect(question.text.contains("pullbox customers end \(lost.name)"))
      let form = [
        ("token", try #require(browser.hidden("token", of: question.text))),
        ("once", try #require(browser.hidden("once", of: question.text))), ("name", lost.name),
        ("device", "\(server.device.id)"), ("reason", "a letter"),
      ]
      // Sent twice, it ends once.
      for _ in 0..<2 {
        let answer = try await browser.post("/console/customers/reader", form)
        #expect(answer.location == "/console/customers?device=\(server.device.id)&notice=key-ended")
      }
      #expect(try await status(lost, server) == 401)
      #expect(try await status(kept, server) == 200)
      let entries = try await server.audit([("action", "reader.remove")])
      #expect(entries.map(\.actor) == ["operator"] && entries.map(\.subject) == [lost.name])
      #expect(entries.first?.detail == "Lost <b>: a letter")
      let again = try await server.problem {
        _ = try await server.operatorAPI.exchange("POST", "/v1/operator/readers/\(lost.name)/remove")
      }
      #expect(again.code == .notFound)
      #expect(
        try await customers("transaction=\(Self.transaction)", server).first?.readers.map(\.name) == [
          kept.name
        ]
      )
    }
  }

  @Test("who may only read sees the keys, and no way to end them")
  func reading() async throws {
    let key = "{name: 'eve', key: 'a-key-that-may-only-read', scopes: ['read']}"
    try await ServerHarness.run(options: ["--console", "everywhere", "--named-operator-key", key]) { server in
      try await server.publish(package)
      _ = try await server.grantForPurchase()
      let tablet = try await add("Tablet", server)
      let browser = ConsoleBrowser(server)
      try await browser.signIn("a-key-that-may-only-read")
      let page = try await browser.get("/console/customers?transaction=\(Self.transaction)")
      #expect(page.text.contains(tablet.name) && !page.text.contains("customers/reader"))
      let question = try await browser.get("/console/customers/reader?name=\(tablet.name)")
      let answer = try await browser.post(
        "/console/customers/reader",
        [
          ("token", try #require(browser.hidden("token", of: question.text))), ("name", tablet.name),
        ])
      #expect(answer.status == 403)
      #expect(try await status(tablet, server) == 200)
    }
  }
}
