import Commerce
import CoreTypes
import Crypto
import Database
import Files
import Foundation
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Synchronization
import SystemCalls
import Testing

@testable import ContentGrants
@testable import DeliveryRecords
@testable import DeliveryService
@testable import PaymentStores
@testable import Receipts

/// By the table of endpoints and error codes of the App Store Server API.
@Suite("The App Store Server API", .timeLimit(.minutes(2)))
struct StoreInterfaceTests {
  private let package = (0..<3000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
  private let apple: FakeAppleStore

  init() throws {
    apple = try FakeAppleStore()
  }

  private func interface(
    addresses: [StoreEnvironment: String]? = nil, client: HTTPClient,
    timer: any MonotonicClock = SystemMonotonicClock()
  ) throws -> StoreInterfaceClient {
    let pem = try FileSystem.read(apple.directory.path("key.p8"), upTo: .kibibytes(8))
    let key = try StoreAPIKey(
      pem: String(decoding: pem, as: UTF8.self), issuer: "i", keyIdentifier: "k",
      bundle: FakeAppleStore.bundle)
    let gate = SignedDataGate(
      store: .apple,
      access: .init(
        roots: [apple.authority.root], checksOnline: false, bundles: [FakeAppleStore.bundle],
        applicationNumber: nil, environments: [.sandbox]), client: client, clock: apple.clock, timer: timer)
    return StoreInterfaceClient(
      gate: gate, access: .init(key: key, addresses: addresses ?? [.sandbox: apple.url]), client: client,
      clock: apple.clock, timer: timer)
  }

  private func identifier(_ text: String = "1") throws -> TransactionIdentifier {
    try #require(TransactionIdentifier(text))
  }

  private func fail(_ failures: (Int, Int, String?)...) {
    apple.state.withLock { state in
      state.failures = failures.map { status, code, retryAfter in
        (status, code == 0 ? "Unauthenticated" : #"{"errorCode":\#(code),"errorMessage":"x"}"#, retryAfter)
      }
    }
  }

  private func outcome(_ interface: StoreInterfaceClient) async throws -> StoreInterfaceClient.Failure.Kind? {
    do {
      _ = try await interface.transaction(try identifier())
      return nil
    } catch let failure as StoreInterfaceClient.Failure {
      return failure.kind
    }
  }

  @Test(
    "a history of 45 transactions is read over three pages, each transaction verified, with a token each time"
  )
  func pages() async throws {
    let client = try HTTPClient()
    defer { client.shutDown() }
    let known = (1...45).map { apple.transaction("\($0)", product: "com.example.issue\($0)") }
    apple.state.withLock { $0.history["1"] = known }
    let history = try await interface(client: client).history(of: identifier())
    #expect(history.isComplete)
    #expect(history.transactions.map(\.transactionId) == known.map(\.transactionId).reversed())
    #expect(apple.state.withLock { $0.calls.count } == 3)
    #expect(apple.state.withLock { $0.tokens.allSatisfy { $0.split(separator: ".").count == 3 } })
    await apple.stop()
  }

  @Test("of more than 250 pages of transactions the latest are read, and the one that is shown")
  func manyTransactions() async throws {
    let old = apple.transaction("1", product: "com.example.issue1")
    let known = [old] + (2...502).map { apple.transaction("\($0)", product: "com.example.issue\($0)") }
    apple.state.withLock {
      $0.history["1"] = known
      $0.pageLength = 2
    }
    let proof = Proof(store: "apple", signedTransaction: try apple.sign(old))
    try await ServerHarness.run(options: apple.option(api: true)) { server in
      for issue in ["com.example.issue1", "com.example.issue502"] {
        try await server.publish(package, as: issue)
        let request = GrantRequest(
          proof: proof, product: try #require(ProductIdentifier(issue)), device: server.device)
        let grant = try await server.api.call("POST", "/v1/grants", body: request, as: GrantResponse.self)
        #expect(try await server.fetch(grant.value).body == package)
      }
      #expect(apple.state.withLock { $0.calls.count { $0.contains("/history/") } } == 250)
      // The purchase counts as it stands, and not as it was signed.
      #expect(apple.state.withLock { $0.calls.contains("GET /inApps/v1/transactions/1") })
    }
    await apple.stop()
  }

  @Test("what may be otherwise in a moment is asked three times, what is final once")
  func retries() async throws {
    let client = try HTTPClient()
    defer { client.shutDown() }
    let interface = try interface(client: client, timer: ImpatientClock())
    apple.state.withLock { $0.history["1"] = [apple.transaction("1")] }
    for code in [4_040_002, 4_040_004, 4_040_006, 5_000_001] {
      fail((code / 10_000, code, nil), (code / 10_000, code, nil))
      #expect(try await outcome(interface) == nil, "\(code)")
    }
    fail((503, 5_000_001, nil), (503, 5_000_001, nil), (503, 5_000_001, nil))
    #expect(try await outcome(interface) == .refused(5_000_001))
    apple.state.withLock { $0.calls = [] }
    fail((400, 4_000_006, nil))
    #expect(try await outcome(interface) == .refused(4_000_006))
    fail((401, 0, nil))
    #expect(try await outcome(interface) == .refused(401))
    #expect(apple.state.withLock { $0.calls.count } == 2)
    await apple.stop()
  }

  @Test("a limit of rate says when to come again, in milliseconds since 1970 or in seconds")
  func rateLimited() async throws {
    let client = try HTTPClient()
    defer { client.shutDown() }
    let interface = try interface(client: client)
    let moment = (apple.clock.now() + .seconds(90)).millisecondsSinceEpoch
    for text in ["\(moment)", "90"] {
      fail((429, 4_290_000, text))
      #expect(try await outcome(interface) == .unavailable(retryAfter: .seconds(90)))
    }
    #expect(StoreWait.duration("soon", at: apple.clock.now()) == nil)
    #expect(StoreWait.duration("-5", at: apple.clock.now()) == .zero)
    #expect(StoreWait.duration("1", at: apple.clock.now()) == .seconds(1))
    await apple.stop()
  }

  @Test(
    "a transaction that production does not know is asked of the sandbox once; both not knowing it is final")
  func environments() async throws {
    let client = try HTTPClient()
    defer { client.shutDown() }
    // One address stands for both.
    let interface = try interface(addresses: [.production: apple.url, .sandbox: apple.url], client: client)
    apple.state.withLock { $0.history["1"] = [apple.transaction("1")] }
    for failure in [(404, 4_040_010), (401, 0)] {
      fail((failure.0, failure.1, nil))
      #expect(try await outcome(interface) == nil)
    }
    apple.state.withLock { ($0.history, $0.calls) = ([:], []) }
    #expect(try await outcome(interface) == .refused(4_040_010))
    #expect(apple.state.withLock { $0.calls.count } == 2)
    await apple.stop()
  }

  @Test("an answer that is not signed under a root is no answer")
  func untrusted() async throws {
    let client = try HTTPClient()
    defer { client.shutDown() }
    var foreign = apple.transaction("1")
    foreign.bundleId = "com.example.other"
    let known = foreign
    apple.state.withLock { $0.history["1"] = [known] }
    let failure = try #require(
      await #expect(throws: StoreInterfaceClient.Failure.self) {
        try await interface(client: client).history(of: identifier())
      })
    guard case .untrusted = failure.kind else {
      Issue.record("\(failure.kind)")
      return
    }
    await apple.stop()
  }

  @Test(
    "with a key, one signed transaction opens all that its customer bought, and its end is told to the store")
  func customer() async throws {
    try await ServerHarness.run(options: apple.option(api: true)) { server in
      try await server.publish(package)
      try await server.publish([1, 2, 3], as: "com.example.issue2")
      let (first, second) = (apple.transaction("1"), apple.transaction("2", product: "com.example.issue2"))
      apple.state.withLock { $0.history["1"] = [first, second] }
      let text = try apple.sign(first)
      func ask() async throws -> [String] {
        try await server.api.call(
          "POST", "/v1/entitlements",
          body: EntitlementsRequest(
            proof: Proof(store: "apple", signedTransaction: text), device: server.device),
          as: EntitlementsResponse.self
        ).value.products.map(\.product.description).sorted()
      }
      #expect(try await ask() == ["com.example.issue1", "com.example.issue2"])
      let request = GrantRequest(
        proof: Proof(store: "apple", signedTransaction: text),
        product: try #require(ProductIdentifier("com.example.issue1")), device: server.device)
      let grant = try await server.api.call("POST", "/v1/grants", body: request, as: GrantResponse.self).value
      _ = try await server.fetch(grant)
      _ = try await server.complete(grant)
      #expect(apple.state.withLock { $0.finished } == ["1"])
    }
    await apple.stop()
  }

  @Test(
    "the history's later word counts: a refund since the transaction was signed; unknown there, nothing is granted"
  )
  func refunded() async throws {
    try await ServerHarness.run(options: apple.option(api: true)) { server in
      try await server.publish(package)
      let text = try apple.sign(apple.transaction("1"))
      func refusal() async throws -> ProblemCode? {
        let request = GrantRequest(
          proof: Proof(store: "apple", signedTransaction: text),
          product: try #require(ProductIdentifier("com.example.issue1")), device: server.device)
        return try await server.problem {
          _ = try await server.api.call("POST", "/v1/grants", body: request, as: GrantResponse.self)
        }.code
      }
      apple.clock.advance(by: .seconds(10))
      var refunded = apple.refund(apple.transaction("1"), at: apple.clock.now())
      refunded.signedDate = SignedDate(apple.clock.now())
      let known = refunded
      apple.state.withLock { $0.history["1"] = [known] }
      #expect(try await refusal() == .entitlementRevoked)
    }
    try await ServerHarness.run(options: apple.option(api: true)) { server in
      try await server.publish(package)
      let text = try apple.sign(apple.transaction("5"))
      let request = GrantRequest(
        proof: Proof(store: "apple", signedTransaction: text),
        product: try #require(ProductIdentifier("com.example.issue1")), device: server.device)
      let problem = try await server.problem {
        _ = try await server.api.call("POST", "/v1/grants", body: request, as: GrantResponse.self)
      }
      #expect(problem.code == .receiptNotAuthentic)
    }
    await apple.stop()
  }

  @Test("notifications that never arrived are found in the store's history, page by page, each counted once")
  func gap() async throws {
    let refunds = try (1...45).map { number in
      let date = ServerHarness.start - .seconds(100 - number)
      return (
        at: date,
        payload: try apple.notification(
          "REFUND", apple.refund(apple.transaction("\(number)"), at: date), at: date)
      )
    }
    let forged = refunds[0].payload.split(separator: ".").dropLast().joined(separator: ".") + ".AAAA"
    apple.state.withLock { $0.notifications = refunds + [(at: ServerHarness.start, payload: forged)] }
    try await ServerHarness.run(options: apple.option(api: true)) { server in
      // The server reads the history by itself when it starts.
      let database = server.server.grants.grantStore.database
      func recovered() async throws -> Int64? {
        try await database.read { connection in
          try NotificationHistoryTable.position(of: .apple, .sandbox, in: connection)?.recovered
        }
      }
      while try await recovered() != 45 { await Task.yield() }
      try await server.server.notificationHistory.read()
      let stores = try await server.operatorAPI.get("/v1/operator/stores", as: StoreStatuses.self).stores
      #expect(stores.map(\.name) == ["apple", "sandbox"])
      let status = try #require(stores.first)
      #expect(status.kind == "apple")
      #expect(status.environments == ["Sandbox"])
      #expect(status.isReachable)
      #expect(status.recoveredNotifications == 45)
      #expect(status.lastNotification?.type == "REFUND")
      #expect(status.lastNotification?.signed == ServerHarness.start - .seconds(55))
      #expect(status.historyReadUntil == ServerHarness.start)
    }
    await apple.stop()
  }

  @Test("less history is asked for than stores keep: a question that begins earlier is refused")
  func depth() {
    #expect(NotificationHistory.depth(of: .sandbox) <= .seconds(30 * 86_400 - 600))
    #expect(NotificationHistory.depth(of: .production) <= .seconds(180 * 86_400 - 600))
  }

  @Test(
    "where a clock was ahead when history was read, all that the store keeps is read again",
    arguments: [
      (nil, -100), (0, -5), (-10, -15), (-200, -100), (5, 0), (6, -100), (60 * 24 * 365, -100),
    ] as [(Int64?, Int64)])
  func beginning(position: Int64?, beginning: Int64) {
    func at(_ minutes: Int64) -> Timestamp { ServerHarness.start + .seconds(minutes * 60) }
    #expect(
      NotificationHistory.beginning(after: position.map(at), at: at(0), depth: .seconds(6000))
        == at(beginning))
  }

  @Test("history whose certificate has ended since it was signed is taken, and is refused where it is posted")
  func expiredSince() async throws {
    var options = SignedDataAuthority.Options(responder: apple.url + "/ocsp", now: ServerHarness.start)
    options.leafValidity = (ServerHarness.start - .seconds(3600))...(ServerHarness.start - .seconds(30))
    let earlier = try SignedDataAuthority.generate(options)
    try DurableFile.write(Array(earlier.root.pem.utf8).span, to: apple.directory.path("earlier.pem"))
    let date = ServerHarness.start - .seconds(50)
    let refunded = apple.refund(apple.transaction("1"), at: date)
    let payload = try apple.notification("REFUND", refunded, at: date, by: earlier)
    try await ServerHarness.run(options: apple.option(roots: ["earlier.pem"], api: true)) { server in
      let posted = try await server.problem {
        _ = try await server.api.call(
          "POST", "/v1/notifications/apple", body: StoreNotification(signedPayload: payload),
          as: NotificationReceipt.self)
      }
      #expect(posted.code == .receiptNotAuthentic)
      try await server.awaitFirstReading()
      apple.state.withLock { $0.notifications = [(at: date, payload: payload)] }
      try await server.server.notificationHistory.read()
      let status = try await server.operatorAPI.get("/v1/operator/stores", as: StoreStatuses.self).stores
        .first
      #expect(status?.recoveredNotifications == 1)
      #expect(status?.historyReadUntil == ServerHarness.start)
    }
    await apple.stop()
  }

  @Test("a long history is read day by day: what was read stays read when the rest cannot be")
  func windows() async throws {
    let days = (1...3).map { ServerHarness.start - .seconds(86_400 * $0) }
    // Its certificates are older than what it signed.
    let apple = try FakeAppleStore(now: ServerHarness.start - .seconds(86_400 * 10))
    apple.clock.advance(by: .seconds(86_400 * 10))
    let payloads = try days.enumerated().map { index, date in
      (
        at: date,
        payload: try apple.notification(
          "REFUND", apple.refund(apple.transaction("\(index + 1)"), at: date), at: date)
      )
    }
    try await ServerHarness.run(options: apple.option(api: true)) { server in
      try await server.awaitFirstReading()
      try await server.server.grants.grantStore.database.write(locking: [.everything]) {
        try NotificationHistoryTable.setPosition(
          .apple, .sandbox, until: ServerHarness.start - .seconds(4 * 86_400), recovered: 0, in: $0)
      }
      apple.state.withLock { state in
        state.notifications = payloads
        state.calls = []
        state.failures = []
      }
      // The third of the questions is answered with what is final.
      apple.state.withLock { $0.failsAfter = 2 }
      try await server.server.notificationHistory.read()
      let first = try #require(try await server.readingPosition())
      #expect(first > days[2] && first < days[0], "\(first)")
      apple.state.withLock { $0.failsAfter = nil }
      try await server.server.notificationHistory.read()
      #expect(try await server.readingPosition() == ServerHarness.start)
      let status = try await server.operatorAPI.get("/v1/operator/stores", as: StoreStatuses.self).stores
        .first
      #expect(status?.recoveredNotifications == 3)
    }
    await apple.stop()
  }

  @Test("history that this server's configuration refused is read again, what is none is not")
  func refusedHistory() async throws {
    let date = ServerHarness.start - .seconds(50)
    let refunded = apple.refund(apple.transaction("1"), at: date)
    let other = try apple.notification("REFUND", refunded, at: date, bundle: "com.example.other")
    let begin = ServerHarness.start - .seconds(86_400)
    try await ServerHarness.run(options: apple.option(api: true)) { server in
      try await server.awaitFirstReading()
      try await server.server.grants.grantStore.database.write(locking: [.everything]) {
        try NotificationHistoryTable.setPosition(.apple, .sandbox, until: begin, recovered: 0, in: $0)
      }
      apple.state.withLock { $0.notifications = [(at: date, payload: other)] }
      let history = server.server.notificationHistory
      try await history.read()
      let until = try #require(try await server.readingPosition())
      #expect(until <= date, "what was refused is read again")
      apple.state.withLock { $0.notifications = [(at: date, payload: "garbage")] }
      try await history.read()
      #expect(try await server.readingPosition() == ServerHarness.start)
    }
    await apple.stop()
  }
}

/// Does not wait.
private struct ImpatientClock: MonotonicClock {
  private let clock = SystemMonotonicClock()
  func now() -> MonotonicInstant { clock.now() }
  func sleep(for duration: Duration) async throws {}
}
