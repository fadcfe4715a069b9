import Commerce
import CoreTypes
import Database
import Entitlements
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import Testing

@testable import ContentGrants
@testable import DeliveryService

/// The server's words on entitlements, by its ledger and the policies of publications.
@Suite("Explanations of entitlements, and policies of publications")
struct ExplanationTests {
  private static let day: Duration = .seconds(86_400)
  private let magazine: ProductIdentifier

  init() throws {
    magazine = try #require(ProductIdentifier("com.example.heroes"))
  }

  /// A magazine whose issues 0 to 2 appeared 70, 40 and 10 days ago, with a subscription of the type.
  private func open(
    _ type: ProductType = .autoRenewableSubscription, on server: ServerHarness
  ) async throws {
    for (number, age) in [70, 40, 10].enumerated() {
      try await server.publish(
        (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 3 &+ number) }, as: "com.example.heroes.\(number)",
        description: ProductDescription(
          publication: magazine, publicationDate: server.clock.now() - Self.day * age))
    }
    _ = try await server.operatorAPI.call(
      "PUT", "/v1/operator/products/com.example.heroes.plan",
      body: ProductDescription(
        type: type, publication: magazine, period: type == .freeSubscription ? nil : BillingPeriod("P1M")),
      as: OperatorProduct.self)
  }

  private func put(_ policy: SubscriptionPolicy?, on server: ServerHarness) async throws {
    _ = try await server.operatorAPI.call(
      "PUT", "/v1/operator/publications/com.example.heroes", body: PublicationDescription(policy: policy),
      as: OperatorPublication.self)
  }

  @discardableResult
  private func show(
    _ purchases: [InAppPurchase], of device: Device? = nil, to server: ServerHarness
  ) async throws -> [EntitledProduct] {
    let device = device ?? server.device
    let receipt = try server.store.receipt(of: purchases, device: device.id)
    return try await server.api.call(
      "POST", "/v1/entitlements",
      body: EntitlementsRequest(proof: Proof(store: "sandbox", receipt: receipt), device: device),
      as: EntitlementsResponse.self
    ).value.products
  }

  private func explain(
    _ product: String, _ query: [(String, String)], on server: ServerHarness
  ) async throws -> ExplanationResponse {
    try await server.operatorAPI.get(
      "/v1/operator/explain", query: [("product", product)] + query, as: ExplanationResponse.self)
  }

  @Test("an explanation names rule, transaction and period, for now and for instants that are past")
  func instants() async throws {
    try await ServerHarness.run { server in
      try await open(on: server)
      let start = server.clock.now()
      let bought = server.purchase(of: "com.example.heroes.plan", expires: start + Self.day * 30)
      try await show([bought], to: server)
      let who = [("transaction", bought.transactionIdentifier)]

      let issue = try await explain("com.example.heroes.2", who, on: server)
      #expect(issue.allowed && issue.until == nil && issue.customers.count == 1)
      #expect(issue.because.map(\.rule) == [.unlockedAtStart] && issue.against.isEmpty)
      #expect(issue.because.first?.transaction?.description == bought.transactionIdentifier)
      let plan = try await explain("com.example.heroes.plan", who, on: server)
      #expect(plan.allowed && plan.until == bought.expiresDate)
      #expect(plan.because.first?.period?.end == bought.expiresDate)
      let missed = try await explain("com.example.heroes.1", who, on: server)
      #expect(!missed.allowed && missed.against.map(\.rule) == [.publishedOutsidePeriods])

      // By the server's own name and by the device it is the same customer.
      let customer = try #require(issue.customers.first)
      for query in [("customer", customer), ("device", server.device.id.description)] {
        let same = try await explain("com.example.heroes.2", [query], on: server)
        #expect(same.allowed && same.customers == [customer])
      }

      // Refunded ten days later: from then on, and not before.
      server.clock.advance(by: Self.day * 10)
      var refunded = bought
      refunded.cancellationDate = Timestamp(
        millisecondsSinceEpoch: server.clock.now().secondsSinceEpoch * 1000)
      server.clock.advance(by: Self.day)
      try await show([refunded], to: server)
      func allowed(_ moment: Timestamp) async throws -> Bool {
        try await explain("com.example.heroes.2", who + [("at", "\(moment)")], on: server).allowed
      }
      let cancelled = try #require(refunded.cancellationDate)
      #expect(try await allowed(cancelled - .seconds(1)))
      #expect(try await !allowed(cancelled))
      #expect(try await !allowed(start - Self.day))
      let now = try await explain("com.example.heroes.2", who, on: server)
      #expect(!now.allowed && now.until == cancelled && now.against.map(\.rule).contains(.revoked))
    }
  }

  @Test("a purchase that its store has dated ahead counts now, and not for an instant before its date")
  func datedAhead() async throws {
    try await ServerHarness.run { server in
      try await open(on: server)
      var bought = server.purchase(of: "com.example.heroes.0")
      bought.purchaseDate = bought.purchaseDate + .seconds(60)
      bought.originalPurchaseDate = bought.purchaseDate
      let owned = try await show([bought], to: server)
      #expect(owned.map { "\($0.product)" } == ["com.example.heroes.0"])
      let who = [("transaction", bought.transactionIdentifier)]
      let now = [("at", "\(server.clock.now())")]
      let explained = try await explain("com.example.heroes.0", who, on: server)
      #expect(explained.allowed && explained.because.map(\.rule) == [.purchased])
      #expect(try await explain("com.example.heroes.0", who + now, on: server).allowed == false)
      func list(_ query: [(String, String)]) async throws -> [String] {
        let page: Page<CustomerEntitlement> = try await server.operatorAPI.get(
          "/v1/operator/entitlements", query: query)
        return page.items.map { "\($0.product)" }
      }
      #expect(try await list(who) == ["com.example.heroes.0"])
      #expect(try await list(who + now) == [])
    }
  }

  @Test(
    "what a customer owns is listed with rule, purchase and end, in pages, as explanations say it, at any instant"
  )
  func owned() async throws {
    try await ServerHarness.run(options: ["--console", "everywhere"]) { server in
      try await open(on: server)
      let start = server.clock.now()
      let bought = server.purchase(of: "com.example.heroes.plan", expires: start + Self.day * 30)
      try await show([bought], to: server)
      let who = [("transaction", bought.transactionIdentifier)]
      func list(_ query: [(String, String)] = []) async throws -> Page<CustomerEntitlement> {
        try await server.operatorAPI.get("/v1/operator/entitlements", query: who + query)
      }
      let all = try await list().items
      #expect(all.map { "\($0.product)" } == ["com.example.heroes.2", "com.example.heroes.plan"])
      #expect(all.map(\.rule) == [.unlockedAtStart, .purchased])
      #expect(all.map(\.until) == [nil, bought.expiresDate])
      #expect(all.allSatisfy { "\($0.transaction)" == bought.transactionIdentifier })
      for item in all {
        let explained = try await explain("\(item.product)", who, on: server)
        #expect(explained.allowed && explained.until == item.until)
        #expect(explained.because.first?.rule == item.rule)
      }
      let first = try await list([("limit", "1")])
      #expect(first.items == [all[0]])
      let rest = try await list([("limit", "1"), ("after", try #require(first.next))])
      #expect(rest.items == [all[1]] && rest.next == nil)
      #expect(try await list([("at", "\(start - Self.day)")]).items.isEmpty)
      let unknown = try await server.problem {
        _ = try await server.operatorAPI.exchange("GET", "/v1/operator/entitlements?transaction=7")
      }
      #expect(unknown.code == .transactionUnknown)

      let browser = ConsoleBrowser(server)
      try await browser.signIn()
      let page = try await browser.get("/console/customers?transaction=\(bought.transactionIdentifier)")
      #expect(page.text.contains("It was the latest issue when a subscription began."))
      #expect(page.text.contains("com.example.heroes.plan"))
      #expect(page.text.contains("pullbox explain --transaction \(bought.transactionIdentifier)<"))
      let behind = try await browser.get(
        "/console/customers?transaction=\(bought.transactionIdentifier)&behind=zzz")
      #expect(behind.text.contains("Nothing more is owned.") && behind.text.contains("First page"))
      let before = try await browser.get(
        "/console/customers?transaction=\(bought.transactionIdentifier)&at=2020-01-01T00:00:00Z")
      #expect(before.text.contains("Nothing was owned then."))
      #expect(before.text.contains(" --at &#39;2020-01-01T00:00:00Z&#39;<"))
    }
  }

  @Test("purchases of a store that is not configured any more are explained: by the device, and by its name")
  func formerStore() async throws {
    try await ServerHarness.run { server in
      try await open(on: server)
      let plan = server.purchase(
        of: "com.example.heroes.plan", expires: server.clock.now() + Self.day * 30)
      try await show([plan], to: server)
      try await server.server.grants.grantStore.database.write(locking: [.everything]) { connection in
        try connection.execute("UPDATE feeds SET store = 'former'")
        try connection.execute("UPDATE transactions SET store = 'former'")
      }
      let device = ("device", server.device.id.description)
      let number = ("transaction", plan.transactionIdentifier)
      for query in [[device], [device, ("store", "former")], [number, ("store", "former")]] {
        #expect(try await explain("com.example.heroes.2", query, on: server).allowed, "\(query)")
      }
      for query in [[device, ("store", "sandbox")], [number]] {
        let problem = try await server.problem {
          _ = try await explain("com.example.heroes.2", query, on: server)
        }
        #expect(problem.code == .transactionUnknown)
      }
    }
  }

  @Test(
    "an application's user leads to the customers who bought for it or claimed a purchase as it, and to no others"
  )
  func applicationUser() async throws {
    try await ServerHarness.run { server in
      try await open(on: server)
      let account = "5C9AF0DE-9E1B-4B56-9F43-1B1F2E8B0A11"
      let first = server.purchase(
        of: "com.example.heroes.plan", id: "1", expires: server.clock.now() + Self.day * 30)
      try await show([first], to: server)
      // Stores write a UUID in lower case, whatever they were given; receipts have none.
      let named = account.lowercased()
      try await server.server.grants.grantStore.database.write(locking: [.everything]) { connection in
        try connection.execute(
          "UPDATE transactions SET account = ? WHERE transaction_id = '1'", [.text(named)])
      }
      let other = server.purchase(
        of: "com.example.heroes.plan", id: "2", expires: server.clock.now() + Self.day * 30)
      let tablet = Device(id: try #require(DeviceIdentifier("tablet")), publicKey: nil)
      try await show([other], of: tablet, to: server)

      let found = try await explain("com.example.heroes.2", [("account", account)], on: server)
      #expect(found.allowed && found.customers.count == 1)
      for query in [("store", "sandbox"), ("environment", "Sandbox")] {
        let same = try await explain("com.example.heroes.2", [("account", account), query], on: server)
        #expect(same.customers == found.customers)
      }
      let customers: OperatorCustomers = try await server.operatorAPI.get(
        "/v1/operator/customers", query: [("account", account)])
      #expect(customers.customers.map(\.customer) == found.customers)
      #expect(customers.customers.first?.devices.map(\.device) == [server.device.id])

      // The other purchase names no account, and is claimed as this user's.
      let receipt = try server.store.receipt(of: [other], device: tablet.id)
      _ = try await server.api.call(
        "POST", "/v1/grants",
        body: GrantRequest(
          proof: Proof(store: "sandbox", receipt: receipt),
          product: try #require(ProductIdentifier("com.example.heroes.2")), device: tablet,
          account: ApplicationAccount(account)),
        as: GrantResponse.self)
      let both = try await explain("com.example.heroes.2", [("account", account)], on: server)
      #expect(both.customers.count == 2 && both.customers.first == found.customers.first)

      for query in [[("account", "nobody")], [("account", account), ("environment", "Production")]] {
        let problem = try await server.problem {
          _ = try await explain("com.example.heroes.2", query, on: server)
        }
        #expect(problem.code == .transactionUnknown)
      }
      let long = String(repeating: "a", count: 256)
      for query in [[("account", long)], [("account", account), ("transaction", "1")]] {
        let problem = try await server.problem {
          _ = try await explain("com.example.heroes.2", query, on: server)
        }
        #expect(problem.code == .requestMalformed)
      }
    }
  }

  @Test("a back issue is told as one after it was written down, and so is the latest issue")
  func backIssues() async throws {
    try await ServerHarness.run { server in
      try await open(on: server)
      try await put(SubscriptionPolicy(backIssues: 1), on: server)
      let plan = server.purchase(
        of: "com.example.heroes.plan", expires: server.clock.now() + Self.day * 30)
      let latest = try #require(ProductIdentifier("com.example.heroes.2"))
      let receipt = try server.store.receipt(of: [plan], device: server.device.id)
      for _ in 0..<2 {
        let reasons = try await show([plan], to: server).map { "\($0.product) \($0.because)" }
        #expect(
          reasons.sorted() == ["com.example.heroes.1 back-issue", "com.example.heroes.2 unlocked-at-start"])
        // The first grant writes down what the run unlocked.
        _ = try await server.api.call(
          "POST", "/v1/grants",
          body: GrantRequest(
            proof: Proof(store: "sandbox", receipt: receipt), product: latest, device: server.device),
          as: GrantResponse.self)
      }
      let explained = try await explain(
        "com.example.heroes.1", [("transaction", plan.transactionIdentifier)], on: server)
      #expect(explained.because.map(\.rule) == [.backIssue])
    }
  }

  @Test("what is asked for wrongly, or is not in the ledger, is refused by name")
  func refusals() async throws {
    try await ServerHarness.run { server in
      let product = ("product", "com.example.issue1")
      let wrong: [[(String, String)]] = [
        [("transaction", "1")], [product], [product, ("transaction", "1"), ("device", "d")],
        [product, ("customer", "x")], [product, ("transaction", "1"), ("at", "soon")],
      ]
      let unknown: [[(String, String)]] = [
        [product, ("transaction", "1")], [product, ("device", "d")],
        [product, ("customer", String(repeating: "0", count: 32))],
      ]
      for (queries, code) in [(wrong, ProblemCode.requestMalformed), (unknown, .transactionUnknown)] {
        for query in queries {
          let problem = try await server.problem {
            _ = try await server.operatorAPI.get(
              "/v1/operator/explain", query: query, as: ExplanationResponse.self)
          }
          #expect(problem.code == code, "\(query)")
        }
      }
    }
  }

  @Test("a publication's policy decides what its subscriptions open, from the moment it is written")
  func policies() async throws {
    try await ServerHarness.run { server in
      try await open(on: server)
      let start = server.clock.now()
      let bought = server.purchase(of: "com.example.heroes.plan", expires: start + Self.day * 30)
      func owned() async throws -> [String] {
        try await show([bought], to: server).map { "\($0.product) \($0.because)" }
      }
      #expect(try await owned() == ["com.example.heroes.2 unlocked-at-start"])
      try await put(SubscriptionPolicy(latestIssueAtStart: false, backIssues: 1), on: server)
      // An issue that was unlocked by the policy before stays, and its run is not judged again; another one is.
      #expect(try await owned() == ["com.example.heroes.2 unlocked-at-start"])
      let other = Device(id: try #require(DeviceIdentifier("second-reader")))
      let later = server.purchase(
        of: "com.example.heroes.plan", id: "2000000000000077", expires: start + Self.day * 30)
      #expect(
        try await show([later], of: other, to: server).map { "\($0.product) \($0.because)" }
          == ["com.example.heroes.1 back-issue"])
      try await put(SubscriptionPolicy(keepsIssuesAfterLapse: false), on: server)
      #expect(try await show([bought], to: server).map(\.until) == [start + Self.day * 30])
      server.clock.advance(by: Self.day * 31)
      #expect(try await owned() == [])
      let closed = try await explain(
        "com.example.heroes.2", [("transaction", bought.transactionIdentifier)], on: server)
      #expect(closed.until == start + Self.day * 30 && closed.against.map(\.rule) == [.closedByLapse])
      try await put(nil, on: server)
      #expect(try await owned() == ["com.example.heroes.2 unlocked-at-start"])
      let problem = try await server.problem {
        try await put(SubscriptionPolicy(backIssues: -1, toleranceSeconds: 100_000), on: server)
      }
      #expect(problem.code == .publicationInvalid)
      #expect(problem.faults?.map(\.path) == ["policy.backIssues", "policy.toleranceSeconds"])
    }
  }

  @Test("a subscription that does not renew is on all of the customer's devices, end to end, as it was sold")
  func nonRenewing() async throws {
    try await ServerHarness.run { server in
      try await open(.nonRenewingSubscription, on: server)
      let start = Timestamp(millisecondsSinceEpoch: server.clock.now().secondsSinceEpoch * 1000)
      let first = server.purchase(of: "com.example.heroes.plan", id: "1")
      try await show([first], to: server)
      // The next one is longer, and changes nothing of the first.
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/com.example.heroes.plan",
        body: ProductDescription(
          type: .nonRenewingSubscription, publication: magazine, period: BillingPeriod("P2M")),
        as: OperatorProduct.self)
      func end() async throws -> Timestamp? {
        try await explain("com.example.heroes.plan", [("transaction", "1")], on: server).until
      }
      let month = try #require(BillingPeriod("P1M").flatMap { start.adding($0) })
      #expect(try await end() == month)
      // The store's receipts show a season once; the second device never saw the first.
      server.clock.advance(by: Self.day)
      var second = server.purchase(of: "com.example.heroes.plan", id: "2")
      second.appAccountToken = nil
      try await show([first, second], to: server)
      #expect(try await end() == BillingPeriod("P2M").flatMap { month.adding($0) })
      let tablet = Device(id: try #require(DeviceIdentifier("tablet")), publicKey: nil)
      let there = try await show([second], of: tablet, to: server)
      #expect(there.map(\.product.description) == ["com.example.heroes.2"])
    }
  }
}
