import Commerce
import CoreTypes
import Crypto
import Database
import Files
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import PullboxTesting
import Receipts
import SandboxRecords
import ServiceAPI
import ServiceRuntime
import Synchronization
import SystemCalls
import Testing

@testable import SandboxStore

/// The table of test controls: routes, `--help` and docs/sandbox-store.md list the same ones, and each does here what its row says.
/// A month is five minutes.
@Suite("The table of test controls", .timeLimit(.minutes(2)))
struct ControlTableTests {
  private typealias Use = @Sendable (StoreHarness) async throws -> Void

  /// The store's routes with everything that has controls.
  private static func routes(of store: StoreHarness) throws -> StoreRoutes {
    var routes = store.routes
    let directory = StoreStateDirectory(path: store.directory.path("chain"))
    try FileSystem.createDirectories("\(directory.path)/pki", permissions: 0o700)
    routes.certificates = CertificateRoutes(
      chain: try SigningChain(
        in: directory, responder: "https://store.example/ocsp", clock: store.clock))
    return routes
  }

  @Test("the routes, the help and the document list the same controls")
  func listed() throws {
    let found = Mutex<[String]>([])
    var controls = try Self.routes(of: StoreHarness()).controls
    controls.wrap { method, pattern in
      found.withLock { $0.append("\(method.rawValue) \(pattern)") }
      return nil
    }
    let listed = StoreControl.all.map(\.route)
    #expect(found.withLock { $0.sorted() } == listed.sorted())
    let help = SandboxCommand.description.help(columns: 200)
    for control in StoreControl.all { #expect(help.contains("\n\(control.line)\n"), "\(control.route)") }
    #expect(try Self.documented().sorted() == listed.sorted())
    #expect(Set(Self.uses.map(\.route)) == Set(listed), "every row is used below")
  }

  /// The requests in the first column of the document's table. `…/x` is the request before it with another last part.
  private static func documented() throws -> [String] {
    let root = #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }
    let text = String(
      decoding: try FileSystem.read("\(root)/docs/sandbox-store.md", upTo: .mebibytes(1)), as: UTF8.self)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let start = try #require(lines.firstIndex(of: "## Test controls"))
    let section = lines[(start + 1)...].prefix { !$0.hasPrefix("## ") }
    var requests: [String] = []
    for row in section where row.hasPrefix("| `") {
      let cell = row.dropFirst(2).split(separator: " | ")[0]
      for (place, part) in cell.split(separator: "`", omittingEmptySubsequences: false).enumerated()
      where place % 2 == 1 {
        let words = part.split(separator: " ", maxSplits: 2).map(String.init)
        if part.hasPrefix("…"), let before = requests.last?.split(separator: "/").dropLast() {
          requests.append(before.joined(separator: "/") + words[0].dropFirst())
        } else {
          requests.append(words.prefix(2).joined(separator: " "))
        }
      }
    }
    return requests
  }

  @Test("each control does what its row says", arguments: StoreControl.all.map(\.route))
  func used(route: String) async throws {
    let uses = Self.uses.filter { $0.route == route }
    try #require(uses.count == 1)
    try await uses[0].use(StoreHarness())
  }

  // MARK: The uses

  private static let uses: [(route: String, use: Use)] =
    accounts + transactions + subscriptions + settings + sharing + google

  private static let accounts: [(route: String, use: Use)] = [
    (
      "POST /sandbox/v1/accounts",
      { store in
        let token = try await store.openAccount()
        let account = try await store.get("/store/v1/account", token: token, as: StoreAccount.self)
        #expect(account.territory == "FRA")
      }
    ),
    (
      "PATCH /sandbox/v1/accounts/{account}",
      { store in
        let opened = try await store.openNamedAccount()
        let changed: StoreAccount = try await store.call(
          .patch, "/sandbox/v1/accounts/\(opened.account)", body: AccountChange(canMakePayments: false))
        #expect(!changed.canMakePayments)
        #expect(try await Self.error(of: store, opened.token) == "payment-not-allowed")
      }
    ),
    (
      "POST /sandbox/v1/purchases/fail-next",
      { store in
        let token = try await store.openAccount()
        let body = try APIJSON.encode(PurchaseFailureRequest(error: "payment-cancelled"))
        let answer = try await store.send(
          .post, "/sandbox/v1/purchases/fail-next", token: token, body: body)
        #expect(answer.status == 204)
        #expect(try await Self.error(of: store, token) == "payment-cancelled")
        #expect(try await store.buy(StoreHarness.issue, token: token).state == .purchased)
      }
    ),
  ]

  /// The error of a purchase that fails.
  private static func error(of store: StoreHarness, _ token: String) async throws -> String? {
    let body = try APIJSON.encode(PurchaseRequest(product: StoreHarness.issue))
    _ = try await store.send(.post, "/store/v1/purchases", token: token, body: body)
    return try await store.all(token).last?.error
  }

  private static let transactions: [(route: String, use: Use)] = [
    (
      "POST /sandbox/v1/transactions/{id}/decide",
      { store in
        let token = try await store.openAccount()
        let waiting: TransactionResponse = try await store.call(
          .post, "/store/v1/purchases", token: token,
          body: PurchaseRequest(product: StoreHarness.issue, askToBuy: true), status: 201)
        let decided = try await store.act(
          "decide", on: waiting.transaction, body: PurchaseDecision(approve: true))
        #expect(waiting.transaction.state == .deferred && decided.state == .purchased)
      }
    ),
    (
      "POST /sandbox/v1/transactions/{id}/refund",
      { store in
        let bought = try await store.buy(StoreHarness.issue, token: try await store.openAccount())
        #expect(try await store.act("refund", on: bought).revocationDate == store.clock.now())
      }
    ),
    (
      "POST /sandbox/v1/transactions/{id}/request-refund",
      { store in
        let bought = try await store.buy(StoreHarness.coins, token: try await store.openAccount())
        _ = try await store.act("request-refund", on: bought)
        #expect(try await Self.told(by: store).last == "CONSUMPTION_REQUEST")
      }
    ),
    (
      "POST /sandbox/v1/transactions/{id}/decline-refund",
      { store in
        let bought = try await store.buy(StoreHarness.coins, token: try await store.openAccount())
        _ = try await store.act("decline-refund", on: bought)
        #expect(try await Self.told(by: store).last == "REFUND_DECLINED")
      }
    ),
    (
      "GET /sandbox/v1/transactions/{id}/consumption",
      { store in
        let bought = try await store.buy(StoreHarness.coins, token: try await store.openAccount())
        let now = store.clock.now()
        try await store.database.write(locking: [.everything]) { connection in
          try connection.execute(
            "INSERT INTO consumption_reports (transaction_id, version, document, received) VALUES (?, ?, ?, ?)",
            [.text(bought.id.description), .integer(2), .text("{}"), .timestamp(now)])
        }
        let reports = try await store.get(
          "/sandbox/v1/transactions/\(bought.id)/consumption", as: ConsumptionReports.self
        ).reports
        #expect(reports.map(\.version) == [2] && reports.map(\.document) == ["{}"])
      }
    ),
    (
      "POST /sandbox/v1/transactions/{id}/reverse",
      { store in
        let bought = try await store.buy(StoreHarness.issue, token: try await store.openAccount())
        _ = try await store.act("refund", on: bought)
        #expect(try await store.act("reverse", on: bought).revocationDate == nil)
      }
    ),
    (
      "POST /sandbox/v1/transactions/{id}/revoke",
      { store in
        let bought = try await store.buy(StoreHarness.issue, token: try await store.openAccount())
        #expect(try await store.act("revoke", on: bought).revocationDate == store.clock.now())
      }
    ),
  ]

  /// The types of the notifications that were written down.
  private static func told(by store: StoreHarness) async throws -> [String] {
    try await store.database.read { connection in
      try connection.query("SELECT type FROM notifications ORDER BY id").map { try $0.text("type") }
    }
  }

  private static let subscriptions: [(route: String, use: Use)] = [
    (
      "POST /sandbox/v1/subscriptions/{originalId}/fail-renewals",
      { store in
        let (token, bought) = try await Self.subscribe(store)
        _ = try await store.control("fail-renewals", bought)
        store.clock.advance(by: .seconds(300))
        #expect(try await store.subscription(token).state == .billingRetry)
      }
    ),
    (
      "POST /sandbox/v1/subscriptions/{originalId}/recover",
      { store in
        let (_, bought) = try await Self.subscribe(store)
        _ = try await store.control("fail-renewals", bought)
        store.clock.advance(by: .seconds(301))
        let recovered = try await store.control("recover", bought)
        #expect(recovered.state == .active && recovered.purchaseDate == bought.expiresDate)
      }
    ),
    (
      "POST /sandbox/v1/subscriptions/{originalId}/pause",
      { store in
        let (token, bought) = try await Self.subscribe(store)
        let path = "/sandbox/v1/subscriptions/\(bought.originalId)/pause"
        #expect(try await store.refusal(.post, path) == .stateConflict, "without a purchase token")
        try await Self.makeToken(of: bought, token, store)
        #expect(try await store.control("pause", bought).state == .active)
        store.clock.advance(by: .seconds(300))
        let paused = try await store.subscription(token)
        #expect(paused.state == .paused && paused.resumeDate == bought.expiresDate.map { $0 + .seconds(300) })
        #expect(try await store.refusal(.post, path) == .stateConflict)
        store.clock.advance(by: .seconds(300))
        let resumed = try await store.subscription(token)
        #expect(resumed.state == .active && resumed.purchaseDate == paused.resumeDate)
      }
    ),
    (
      "POST /sandbox/v1/subscriptions/{originalId}/resume",
      { store in
        let (token, bought) = try await Self.subscribe(store)
        try await Self.makeToken(of: bought, token, store)
        _ = try await store.control("pause", bought)
        _ = try await store.control("resume", bought)
        store.clock.advance(by: .seconds(300))
        #expect(try await store.subscription(token).state == .active, "the pause was given up")
        _ = try await store.control("pause", bought)
        store.clock.advance(by: .seconds(310))
        let resumed = try await store.control("resume", bought)
        #expect(resumed.state == .active && resumed.purchaseDate == store.clock.now())
      }
    ),
    (
      "POST /sandbox/v1/subscriptions/{originalId}/raise-price",
      { store in
        let (token, bought) = try await Self.subscribe(store)
        let price = try #require(Price(amount: "3.49", currency: "EUR"))
        _ = try await store.control(
          "raise-price", bought, body: PriceIncreaseRequest(prices: ["FRA": price], needsConsent: false))
        store.clock.advance(by: .seconds(300))
        #expect(try await store.all(token).map(\.price) == ["2.99", "3.49"])
      }
    ),
    (
      "POST /sandbox/v1/subscriptions/{originalId}/expire",
      { store in
        let (_, bought) = try await Self.subscribe(store)
        #expect(try await store.control("expire", bought).state == .expired)
      }
    ),
  ]

  private static func subscribe(
    _ store: StoreHarness
  ) async throws -> (token: String, transaction: StoreTransaction) {
    let token = try await store.openAccount()
    return (token, try await store.buy(StoreHarness.magazine, token: token))
  }

  private static func makeToken(
    of transaction: StoreTransaction, _ token: String, _ store: StoreHarness
  ) async throws {
    let made: PurchaseTokenResponse = try await store.call(
      .post, "/store/v1/transactions/\(transaction.id)/purchase-token", token: token, body: String?.none)
    let kept = try await store.store.purchase(withToken: made.purchaseToken)
    try await store.store.acknowledge(kept, consumes: false)
  }

  private static let settings: [(route: String, use: Use)] = [
    (
      "PUT /sandbox/v1/time",
      { store in
        try await store.setTime("30s")
        let (_, bought) = try await Self.subscribe(store)
        #expect(bought.expiresDate == bought.purchaseDate + .seconds(30))
      }
    ),
    (
      "PUT /sandbox/v1/faults",
      { store in
        let _: StoreFaults = try await store.call(
          .put, "/sandbox/v1/faults", body: StoreFaults(outage: true))
        #expect(try await store.send(.post, "/verifyReceipt").status == 503)
      }
    ),
    (
      "POST /sandbox/v1/certificates/revoke",
      { store in
        let status = try await Self.certificate("revoke", store)
        #expect(status.isRevoked)
      }
    ),
    (
      "POST /sandbox/v1/certificates/renew",
      { store in
        let status = try await Self.certificate("renew", store)
        #expect(!status.isRevoked)
      }
    ),
  ]

  private struct CertificateStatus: Decodable { var isRevoked: Bool }

  private static func certificate(_ step: String, _ store: StoreHarness) async throws -> CertificateStatus {
    let request = try HTTPRequest(
      method: .post, rawTarget: "/sandbox/v1/certificates/\(step)", headers: HTTPFields(),
      body: RequestBody([]))
    let answer = await (try routes(of: store)).router().respond(to: request)
    guard case .bytes(let bytes) = answer.body, answer.status == .ok else {
      throw SandboxStoreError("\(answer.status)")
    }
    return try APIJSON.decode(CertificateStatus.self, from: bytes)
  }

  private static let sharing: [(route: String, use: Use)] = [
    (
      "PUT /sandbox/v1/offers/{product}",
      { store in
        let trial = StoreOffer(payment: .freeTrial, period: .month)
        let _: ProductOffers = try await store.call(
          .put, "/sandbox/v1/offers/\(StoreHarness.magazine)", body: ProductOffers(introductory: trial))
        #expect(try await Self.subscribe(store).transaction.price == nil)
      }
    ),
    (
      "POST /sandbox/v1/codes",
      { store in
        let made: StoreCode = try await store.call(
          .post, "/sandbox/v1/codes", body: CodeRequest(product: StoreHarness.issue, uses: 1), status: 201)
        let redeemed: TransactionResponse = try await store.call(
          .post, "/store/v1/codes/\(made.code)", token: try await store.openAccount(), body: String?.none,
          status: 201)
        #expect(redeemed.transaction.product == StoreHarness.issue)
      }
    ),
    (
      "POST /sandbox/v1/licences",
      { store in
        let license = try await Self.license(store)
        #expect(license.accounts == [])
      }
    ),
    (
      "POST /sandbox/v1/licences/{licence}/assign",
      { store in
        let reader = try await store.openNamedAccount()
        #expect(
          try await Self.seat("assign", try await Self.license(store), reader, store) == [reader.account])
        #expect(try await store.all(reader.token).map(\.product) == [StoreHarness.issue])
      }
    ),
    (
      "POST /sandbox/v1/licences/{licence}/revoke",
      { store in
        let (reader, license) = (try await store.openNamedAccount(), try await Self.license(store))
        _ = try await Self.seat("assign", license, reader, store)
        #expect(try await Self.seat("revoke", license, reader, store) == [])
      }
    ),
    (
      "POST /sandbox/v1/families",
      { store in
        let (organizer, member) = (try await store.openNamedAccount(), try await store.openNamedAccount())
        try await store.buy(StoreHarness.issue, token: organizer.token)
        let _: StoreFamily = try await store.call(
          .post, "/sandbox/v1/families",
          body: StoreFamily(organizer: organizer.account, members: [member.account]))
        #expect(try await store.all(member.token).map(\.product) == [StoreHarness.issue])
      }
    ),
  ]

  private static func license(_ store: StoreHarness) async throws -> StoreLicense {
    try await store.call(
      .post, "/sandbox/v1/licences", body: LicenseRequest(product: StoreHarness.issue, seats: 1), status: 201)
  }

  private static func seat(
    _ step: String, _ license: StoreLicense, _ account: AccountResponse, _ store: StoreHarness
  ) async throws -> [String] {
    let changed: StoreLicense = try await store.call(
      .post, "/sandbox/v1/licences/\(license.license)/\(step)",
      body: LicenseSeatRequest(account: account.account))
    return changed.accounts
  }

  private static let google: [(route: String, use: Use)] = [
    (
      "GET /sandbox/v1/google/key-file",
      { store in
        let status = try await Self.access(to: store, with: try await Self.accessToken(store))
        #expect(status == 200)
      }
    ),
    (
      "POST /sandbox/v1/google/withdraw-tokens",
      { store in
        let token = try await Self.accessToken(store)
        #expect(try await store.send(.post, "/sandbox/v1/google/withdraw-tokens").status == 204)
        #expect(try await Self.access(to: store, with: token) == 401)
      }
    ),
    (
      "POST /sandbox/v1/google/test-notification",
      { store in
        #expect(try await store.send(.post, "/sandbox/v1/google/test-notification").status == 204)
        let documents = try await store.database.read { connection in
          try connection.query("SELECT document FROM google_messages").map { try $0.text("document") }
        }
        #expect(documents.count == 1 && documents[0].contains("testNotification"))
      }
    ),
  ]

  private static func accessToken(_ store: StoreHarness) async throws -> String {
    let keyFile = try await store.send(.get, "/sandbox/v1/google/key-file")
    let form = try GoogleServiceAccount(keyFile: keyFile.body).tokenRequest(at: store.clock.now())
    let answer = try await store.send(.post, "/token", body: Array(form.utf8))
    return try GoogleAccessToken(response: answer.body, askedAt: store.clock.now()).value
  }

  private static func access(to store: StoreHarness, with token: String) async throws -> Int {
    try await store.send(
      .get, "/androidpublisher/v3/applications/com.example.pullbox/purchases/voidedpurchases", token: token
    ).status
  }
}
