import Commerce
import CoreTypes
import Database
import Foundation
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Synchronization
import Testing

@testable import ContentDelivery
@testable import ContentGrants
@testable import DeliveryService
@testable import Receipts

@Suite("Notifications of stores", .timeLimit(.minutes(2)))
struct NotificationTests {
  private let package = (0..<3000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
  private let apple: FakeAppleStore

  init() throws {
    apple = try FakeAppleStore()
  }

  private func run(
    _ options: [String]? = nil, timer: any MonotonicClock = SystemMonotonicClock(),
    _ body: (ServerHarness) async throws -> Void
  ) async throws {
    try await ServerHarness.run(options: options ?? apple.option(), timer: timer) { server in
      try await server.publish(package)
      try await body(server)
    }
    await apple.stop()
  }

  private func grant(_ server: ServerHarness) async throws -> GrantResponse {
    let request = GrantRequest(
      proof: Proof(store: "apple", signedTransaction: try apple.sign(apple.transaction())),
      product: try #require(ProductIdentifier("com.example.issue1")), device: server.device)
    return try await server.api.call("POST", "/v1/grants", body: request, as: GrantResponse.self).value
  }

  /// The refusal's code; nil for 200.
  private func post(_ payload: String, _ server: ServerHarness) async throws -> ProblemCode? {
    do {
      _ = try await server.api.call(
        "POST", "/v1/notifications/apple", body: StoreNotification(signedPayload: payload),
        as: NotificationReceipt.self)
      return nil
    } catch APICallError.problem(let problem) {
      return problem.code
    }
  }

  private func rows(_ server: ServerHarness) async throws -> [String] {
    try await server.server.grants.grantStore.database.read { connection in
      try connection.query(
        "SELECT type, subtype, environment, transaction_id, effect FROM notifications ORDER BY signed"
      )
      .map {
        "\(try $0.text("type")) \(try $0.optionalText("transaction_id") ?? "-") \(try $0.text("effect"))"
      }
    }
  }

  private func counts(_ server: ServerHarness) async throws -> [String: Double] {
    let page = try await server.api.exchange("GET", "/metrics")
    let samples = try PrometheusPage(String(decoding: page.body, as: UTF8.self)).samples
    return Dictionary(
      uniqueKeysWithValues: samples.filter { $0.key.hasPrefix("pullbox_notifications_total") && $0.value > 0 }
        .map { (String($0.key.split(separator: "\"")[1]), $0.value) })
  }

  @Test("a refund ends the body that is running, and its reversal opens the content again from the same byte")
  func refund() async throws {
    let large = [UInt8](repeating: 7, count: 4 << 20)
    try await run { server in
      try await server.publish(large, version: "2.0")
      let grant = try await grant(server)
      let reader = try await server.slowReader(of: grant)
      let date = apple.clock.now() + .seconds(10)
      let refunded = apple.refund(apple.transaction(), at: date)
      #expect(try await post(try apple.notification("REFUND", refunded, at: date), server) == nil)
      // The connection ends long before the body does.
      await #expect(throws: (any Error).self) { _ = try await reader.receive(exactly: large.count) }
      let ticket = grant.download.ticket
      #expect(try await server.fetch(grant, ticket: ticket).status == 403)
      let later = date + .seconds(10)
      let reversed = try apple.notification("REFUND_REVERSED", apple.transaction(), at: later)
      #expect(try await post(reversed, server) == nil)
      let rest = try await server.fetch(grant, ticket: ticket, headers: [("Range", "bytes=1000-")])
      #expect(rest.body == Array(large[1000...]))
      #expect(
        try await rows(server) == [
          "REFUND 2000000000000001 statement", "REFUND_REVERSED 2000000000000001 statement",
        ])
    }
  }

  @Test("a notification counts once, however often it comes")
  func repeated() async throws {
    try await run { server in
      let grant = try await grant(server)
      let date = apple.clock.now() + .seconds(10)
      let payload = try apple.notification("REFUND", apple.refund(apple.transaction(), at: date), at: date)
      for _ in 0..<100 { #expect(try await post(payload, server) == nil) }
      #expect(try await rows(server).count == 1)
      #expect(try await counts(server) == ["counted": 1, "duplicate": 99])
      let history = try await server.status(grant).history
      #expect(history.count { $0.state == .revoked } == 1)
    }
  }

  @Test(
    "what a notification tells counts as of its own date, also where its parts were signed anew when it was sent again"
  )
  func lateParts() async throws {
    try await run { server in
      let grant = try await grant(server)
      let start = apple.clock.now()
      let refunded = apple.refund(apple.transaction(), at: start + .seconds(10))
      #expect(
        try await post(try apple.notification("REFUND", refunded, at: start + .seconds(10)), server) == nil)
      let sale = try apple.notification(
        "ONE_TIME_CHARGE", apple.transaction(), at: start + .seconds(5), transactionAt: start + .seconds(20))
      #expect(try await post(sale, server) == nil)
      #expect(try await server.fetch(grant).status == 403)
      // A refund that is told was known, whatever the date of the whole.
      let reversed = try apple.notification("REFUND_REVERSED", apple.transaction(), at: start + .seconds(30))
      #expect(try await post(reversed, server) == nil)
      #expect(try await server.fetch(grant).status == 200)
    }
  }

  @Test(
    "what comes from production names the application's number, where that is known: notifications and downloads alike"
  )
  func number() async throws {
    let apple = try FakeAppleStore(marksRoot: false)
    let entry = """
      {name: 'apple', kind: 'apple', bundles: ['\(FakeAppleStore.bundle)'], addresses: {production: '\(apple.url)'},
       roots: ['\(apple.directory.path("root.pem"))'], appAppleId: 42}
      """
    try await run(["--payment-store", entry]) { server in
      for (number, expected) in [(nil, .receiptWrongApplication), (41, .receiptWrongApplication), (42, nil)]
        as [(Int64?, ProblemCode?)]
      {
        let date = apple.clock.now()
        let told = try apple.notification(
          "ONE_TIME_CHARGE", apple.transaction(), at: date, environment: .production, number: number)
        #expect(try await post(told, server) == expected)

        var download = SignedAppTransaction()
        download.receiptType = .production
        download.appAppleId = number
        download.bundleId = FakeAppleStore.bundle
        download.appTransactionId = "download-7"
        download.originalApplicationVersion = "1.0"
        download.originalPurchaseDate = SignedDate(date)
        download.receiptCreationDate = SignedDate(date)
        let proof = Proof(store: "apple", signedTransaction: try apple.sign(download))
        do {
          _ = try await server.api.call(
            "POST", "/v1/entitlements", body: EntitlementsRequest(proof: proof, device: server.device),
            as: EntitlementsResponse.self)
          #expect(expected == nil)
        } catch APICallError.problem(let problem) {
          #expect(problem.code == expected)
        }
      }
    }
    await apple.stop()
  }

  @Test("yesterday's notification after today's changes nothing, whatever it says")
  func order() async throws {
    try await run { server in
      let grant = try await grant(server)
      let today = apple.clock.now() + .seconds(100)
      let yesterday = apple.clock.now() + .seconds(50)
      let refunded = apple.refund(apple.transaction(), at: yesterday)
      let reversal = try apple.notification("REFUND_REVERSED", apple.transaction(), at: today)
      let refund = try apple.notification("REFUND", refunded, at: yesterday)
      #expect(try await post(reversal, server) == nil)
      #expect(try await post(refund, server) == nil)
      #expect(try await server.fetch(grant).body == package)
      #expect(try await rows(server).count == 2)
      // The second refund of one transaction counts again.
      let again = apple.refund(apple.transaction(), at: today + .seconds(1))
      #expect(
        try await post(try apple.notification("REFUND", again, at: today + .seconds(1)), server) == nil)
      #expect(try await server.fetch(grant).status == 403)
    }
  }

  @Test("a late notification of a refund that was taken back before the last answer closes nothing")
  func olderThanAnAnswer() async throws {
    let timer = ManualMonotonicClock()
    apple.state.withLock { $0.history["2000000000000001"] = [apple.transaction()] }
    try await run(apple.option(api: true), timer: timer) { server in
      let grant = try await grant(server)
      let bought = apple.clock.now()
      apple.clock.advance(by: .seconds(600))
      server.clock.advance(by: .seconds(600))
      timer.advance(by: .seconds(600))
      // The same again, and as of now.
      var repeated = apple.transaction()
      repeated.signedDate = SignedDate(apple.clock.now())
      apple.state.withLock { $0.history["2000000000000001"] = [repeated] }
      _ = try await self.grant(server)
      let date = bought + .seconds(300)
      let refunded = apple.refund(apple.transaction(), at: date)
      #expect(try await post(try apple.notification("REFUND", refunded, at: date), server) == nil)
      #expect(try await server.fetch(grant).status == 200)
      // One that is later than the answer counts.
      let later = apple.clock.now() + .milliseconds(1)
      let again = apple.refund(apple.transaction(), at: later)
      #expect(try await post(try apple.notification("REFUND", again, at: later), server) == nil)
      #expect(try await server.fetch(grant).status == 403)
    }
  }

  @Test(
    "notifications for others, forged ones and what is none are refused by name, counted, and change nothing")
  func refused() async throws {
    let foreign = try SignedDataAuthority.generate(
      .init(responder: apple.url + "/ocsp", now: ServerHarness.start))
    try await run { server in
      let grant = try await grant(server)
      let date = apple.clock.now() + .seconds(10)
      let refunded = apple.refund(apple.transaction(), at: date)
      let genuine = try apple.notification("REFUND", refunded, at: date)
      let other = try apple.notification("REFUND", refunded, at: date, bundle: "com.example.other")
      var parts = genuine.split(separator: ".").map(String.init)
      parts[1] = String(other.split(separator: ".")[1])
      var mixed = SignedNotification()
      mixed.notificationType = .refund
      mixed.notificationUUID = "mixed"
      mixed.signedDate = SignedDate(date)
      var content = SignedNotification.Content()
      content.bundleId = FakeAppleStore.bundle
      content.environment = .sandbox
      var elsewhere = refunded
      elsewhere.bundleId = "com.example.other"
      content.signedTransactionInfo = try apple.sign(elsewhere)
      mixed.data = content
      var nameless = mixed
      nameless.notificationUUID = nil
      content.signedTransactionInfo = try apple.sign(refunded, by: foreign)
      var innerForged = mixed
      innerForged.data = content
      let cases: [(payload: String, code: ProblemCode)] = [
        (other, .receiptWrongApplication),
        (
          try apple.notification("REFUND", refunded, at: date, environment: .production),
          .receiptWrongEnvironment
        ),
        (try apple.notification("REFUND", refunded, at: date, environment: .xcode), .receiptWrongEnvironment),
        (try apple.notification("REFUND", refunded, at: date, by: foreign), .receiptNotAuthentic),
        (parts.joined(separator: "."), .receiptNotAuthentic),
        (
          try apple.notification("REFUND", refunded, at: date, bundle: "com.example.other", by: foreign),
          .receiptNotAuthentic
        ),
        (try apple.notification("REFUND", refunded, at: date + .seconds(600)), .receiptNotAuthentic),
        (try apple.sign(mixed), .receiptWrongApplication),
        (try apple.sign(innerForged), .receiptNotAuthentic),
        (try apple.sign(nameless), .receiptMalformed), ("garbage", .receiptMalformed),
        (try apple.notification("REFUND", refunded, at: date, uuid: "a\u{0}"), .receiptMalformed),
        (try apple.notification("REFUND\u{0}", refunded, at: date), .receiptMalformed),
      ]
      for (index, entry) in cases.enumerated() {
        #expect(try await post(entry.payload, server) == entry.code, "case \(index)")
      }
      #expect(try await rows(server) == [])
      #expect(try await server.fetch(grant).body == package)
      #expect(
        try await counts(server) == [
          "wrong-application": 2, "wrong-environment": 2, "not-authentic": 5, "malformed": 4,
        ])
      let long = try await server.problem {
        _ = try await server.api.exchange(
          "POST", "/v1/notifications/apple", bytes: [UInt8](repeating: 0x20, count: 300_000))
      }
      #expect(long.code == .requestTooLarge)
    }
  }

  @Test("with the responder away a notification is not acknowledged, and counts when it comes again")
  func undetermined() async throws {
    try await run { server in
      let date = apple.clock.now() + .seconds(10)
      let payload = try apple.notification("REFUND", apple.refund(apple.transaction(), at: date), at: date)
      apple.state.withLock { $0.isResponderDown = true }
      #expect(try await post(payload, server) == .verificationUndetermined)
      #expect(try await rows(server) == [])
      apple.state.withLock { $0.isResponderDown = false }
      #expect(try await post(payload, server) == nil)
      #expect(try await rows(server).count == 1)
    }
  }

  @Test("a refund that comes before the purchase is shown lets nothing be granted")
  func before() async throws {
    try await run { server in
      let date = apple.clock.now() + .seconds(10)
      let payload = try apple.notification("REFUND", apple.refund(apple.transaction(), at: date), at: date)
      #expect(try await post(payload, server) == nil)
      let problem = try await server.problem { _ = try await grant(server) }
      #expect(problem.code == .entitlementRevoked)
    }
  }

  @Test("what is about no transaction, and a type that is not known, is written down")
  func others() async throws {
    try await run { server in
      var test = SignedNotification()
      test.notificationType = .test
      test.notificationUUID = "1"
      test.signedDate = SignedDate(apple.clock.now())
      var content = SignedNotification.Content()
      content.bundleId = FakeAppleStore.bundle
      content.environment = .sandbox
      test.data = content
      let known = try await post(try apple.sign(test), server)
      #expect(known == nil)
      test.notificationType = .init(rawValue: "SOMETHING_NEW")
      test.notificationUUID = "2"
      #expect(try await post(try apple.sign(test), server) == nil)
      #expect(try await rows(server).sorted() == ["SOMETHING_NEW - none", "TEST - none"])
    }
  }

  @Test(
    "what is about a purchase outside of the store, or about a consent, is written down; what is about nothing is malformed"
  )
  func otherShapes() async throws {
    try await run { server in
      var notification = SignedNotification()
      notification.notificationType = .init(rawValue: "RESCIND_CONSENT")
      notification.notificationUUID = "1"
      notification.signedDate = SignedDate(apple.clock.now())
      var content = SignedNotification.Content()
      content.bundleId = FakeAppleStore.bundle
      content.environment = .sandbox
      notification.appData = content
      let consent = try await post(try apple.sign(notification), server)
      #expect(consent == nil)
      notification.appData = nil
      notification.notificationType = .init(rawValue: "EXTERNAL_PURCHASE_TOKEN")
      notification.notificationUUID = "2"
      content.environment = nil
      content.externalPurchaseId = "SANDBOX_a"
      notification.externalPurchaseToken = content
      #expect(try await post(try apple.sign(notification), server) == nil)
      // Production does not count here.
      content.externalPurchaseId = "a"
      notification.notificationUUID = "3"
      notification.externalPurchaseToken = content
      #expect(try await post(try apple.sign(notification), server) == .receiptWrongEnvironment)
      notification.externalPurchaseToken = nil
      #expect(try await post(try apple.sign(notification), server) == .receiptMalformed)
      #expect(
        try await rows(server).sorted() == [
          "EXTERNAL_PURCHASE_TOKEN - none", "RESCIND_CONSENT - none",
        ])
    }
  }

  @Test("a server whose stores have no roots knows no store that tells")
  func noRoots() async throws {
    try await run([]) { server in
      let refusal = try await post("a.b.c", server)
      #expect(refusal == .storeUnknown)
    }
  }
}
