import Commerce
import CoreTypes
import Crypto
import Dispatch
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import ServiceRuntime
import Synchronization
import SystemCalls
import Testing

@testable import ContentGrants
@testable import DeliveryService
@testable import PaymentStores

@Suite("Questions to the store", .timeLimit(.minutes(2)))
struct StoreQuestionTests {
  private let package = (0..<3000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }

  private func verifications(_ server: ServerHarness) -> Int {
    server.store.state.withLock { $0.verifications }
  }

  @Test("a thousand requests with one receipt at once ask the store once, and all get the grant")
  func oneQuestion() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      let request = GrantRequest(
        proof: Proof(receipt: receipt), product: try #require(ProductIdentifier("com.example.issue1")),
        device: Device(id: server.device.id, publicKey: SigningKey().verificationKey))
      let grants = server.server.grants
      server.store.state.withLock {
        $0.duringVerification = {
          while grants.verifier.waiterCount < 1000 { await Task.yield() }
        }
      }
      let answers = try await withThrowingTaskGroup { group in
        for _ in 0..<1000 { group.addTask { try await grants.grant(request) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(verifications(server) == 1)
      #expect(Set(answers.map(\.response.grant)).count == 1)
      #expect(answers.count { $0.isNew } == 1)
    }
  }

  @Test("a receipt is asked about once in five minutes")
  func repeated() async throws {
    let timer = ManualMonotonicClock()
    try await ServerHarness.run(timer: timer) { server in
      try await server.publish(package)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      for _ in 0..<3 { _ = try await server.grant(receipt: receipt) }
      #expect(verifications(server) == 1)
      timer.advance(by: .seconds(300))
      #expect(try await server.grant(receipt: receipt).status == 200)
      #expect(verifications(server) == 2)
    }
  }

  @Test("what the store said ends with the subscription's period, though five minutes have not passed")
  func subscription() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let end = server.clock.now() + .seconds(60)
      let receipt = try server.store.receipt(
        of: [server.purchase(), server.purchase(of: "com.example.monthly", id: "7", expires: end)],
        device: server.device.id)
      _ = try await server.grant(receipt: receipt)
      server.clock.advance(by: .seconds(59))
      _ = try await server.grant(receipt: receipt)
      #expect(verifications(server) == 1)
      server.clock.advance(by: .seconds(1))
      _ = try await server.grant(receipt: receipt)
      #expect(verifications(server) == 2)
    }
  }

  @Test("what the store said of a period is asked again when it ends earlier than that, whoever tells it")
  func curtailed() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let end = server.clock.now() + .seconds(86_400)
      func plan(until end: Timestamp) -> InAppPurchase {
        server.purchase(of: "com.example.monthly", id: "7", expires: end)
      }
      let receipt = try server.store.receipt(
        of: [server.purchase(), plan(until: end)], device: server.device.id)
      _ = try await server.grant(receipt: receipt)
      _ = try await server.grant(receipt: receipt)
      #expect(verifications(server) == 1)
      server.clock.advance(by: .seconds(1))
      let other = Device(id: try #require(DeviceIdentifier("another-device")))
      for (ends, asked) in [(end + .seconds(60), 2), (end, 4)] {
        let later = try server.store.receipt(of: [server.purchase(), plan(until: ends)], device: other.id)
        _ = try await server.grant(receipt: later, device: other)
        _ = try await server.grant(receipt: receipt)
        #expect(verifications(server) == asked, "\(ends)")
        server.clock.advance(by: .seconds(1))
      }
    }
  }

  @Test("what is known of a receipt opens nothing for another device")
  func anotherDevice() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      _ = try await server.grant(receipt: receipt)
      let thief = Device(id: try #require(DeviceIdentifier("another-device")))
      let problem = try await server.problem { _ = try await server.grant(receipt: receipt, device: thief) }
      #expect(problem.code == .receiptNotAuthentic)
      #expect(verifications(server) == 1)
      #expect(try await server.grant(receipt: receipt).status == 200)
    }
  }

  @Test("entitlements and grants of one receipt share what the store said")
  func entitlements() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      let request = EntitlementsRequest(proof: Proof(receipt: receipt), device: server.device)
      let listed = try await server.api.call(
        "POST", "/v1/entitlements", body: request, as: EntitlementsResponse.self)
      #expect(listed.value.products.map(\.state) == ["not-granted"])
      _ = try await server.grant(receipt: receipt)
      #expect(verifications(server) == 1)
    }
  }

  @Test("a refund that one device's receipt tells of is not hidden by what was said of another's")
  func refund() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let other = Device(id: try #require(DeviceIdentifier("another-device")))
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      _ = try await server.grant(receipt: receipt)
      let refunded = try server.store.receipt(
        of: [server.purchase(cancelled: server.clock.now())], device: other.id)
      let problem = try await server.problem { _ = try await server.grant(receipt: refunded, device: other) }
      #expect(problem.code == .entitlementRevoked)
      #expect(verifications(server) == 2)
      _ = try? await server.grant(receipt: receipt)
      #expect(verifications(server) == 3)
    }
  }

  @Test("what an operator took back stays taken back, whatever is known of the receipt")
  func revokedByOperator() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      let grant = try await server.grant(receipt: receipt).value
      let name = try #require(GrantShortName(try server.shortName(of: grant)))
      _ = try await server.server.grants.revoke(name, by: "operator", reason: nil)
      let problem = try await server.problem { _ = try await server.grant(receipt: receipt) }
      #expect(problem.code == .entitlementRevoked)
      #expect(verifications(server) == 1)
    }
  }

  @Test("a question without an answer is asked again by the next request")
  func undetermined() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      server.store.state.withLock { $0.isDown = true }
      for _ in 0..<2 {
        let problem = try await server.problem { _ = try await server.grant(receipt: receipt) }
        #expect(problem.code == .verificationUndetermined)
      }
      server.store.state.withLock { $0.isDown = false }
      #expect(try await server.grant(receipt: receipt).status == 201)
    }
  }

  @Test("a store that failed five times in a row is left alone, and asked again by one request every 30 s")
  func breaker() async throws {
    let timer = ManualMonotonicClock()
    try await ServerHarness.run(timer: timer) { server in
      try await server.publish(package)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      func questions() -> Int { server.store.state.withLock { $0.questions } }
      func refuse() async throws -> Problem {
        let problem = try await server.problem { _ = try await server.grant(receipt: receipt) }
        #expect(problem.code == .verificationUndetermined)
        return problem
      }
      server.store.state.withLock { $0.isDown = true }
      for _ in 0..<5 { _ = try await refuse() }
      #expect(questions() == 5)
      for _ in 0..<20 {
        // Until the probe, and up to half as long again, as every 503 is spread.
        let seconds = try #require(try await refuse().retryAfterSeconds)
        #expect((30...45).contains(seconds))
      }
      #expect(questions() == 5)
      timer.advance(by: .seconds(30))
      for _ in 0..<3 { _ = try await refuse() }
      #expect(questions() == 6)
      server.store.state.withLock { $0.isDown = false }
      // A receipt that cannot be read is no answer of the store's.
      _ = try await server.problem { _ = try await server.grant(receipt: "AAAA") }
      _ = try await refuse()
      timer.advance(by: .seconds(30))
      let malformed = try await server.problem { _ = try await server.grant(receipt: "BBBB") }
      #expect(malformed.code == .receiptMalformed)
      #expect(try await server.grant(receipt: receipt).status == 201)
      #expect(questions() == 7)
    }
  }

  @Test(
    "what a proof provokes the store to answer stops no question about another one",
    arguments: [0, 7, 21000, 21001, 21004])
  func provokedAnswer(status: Int) async throws {
    try await ServerHarness.run { server in
      let answer = VerifyReceiptResponse(status: VerifyReceiptStatus(rawValue: status))
      server.store.state.withLock { $0.answer = answer }
      try await expectStaysOpen(server)
    }
  }

  @Test("nor does a proof that the store refuses to take")
  func provokedRefusal() async throws {
    try await ServerHarness.run { server in
      server.store.state.withLock { $0.refusal = Problem(.requestTooLarge) }
      try await expectStaysOpen(server)
    }
  }

  @Test("receipts that the store cannot read decide nothing, and stop no question about another one")
  func unreadable() async throws {
    try await ServerHarness.run { server in
      server.store.state.withLock { $0.answer = VerifyReceiptResponse(status: .malformed) }
      try await expectStaysOpen(server)
      // Each was asked about four times.
      #expect(verifications(server) == 6 * 4 + 1)
    }
  }

  /// Six proofs are refused, and then another one is taken.
  private func expectStaysOpen(_ server: ServerHarness) async throws {
    try await server.publish(package)
    let codes = try await withThrowingTaskGroup { group in
      for number in 1...6 {
        let receipt = try server.store.receipt(
          of: [server.purchase(id: "\(number)")], device: server.device.id)
        group.addTask {
          try await server.problem { _ = try await server.grant(receipt: receipt) }.code
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(codes.allSatisfy { $0 == .verificationUndetermined })
    server.store.state.withLock { ($0.answer, $0.refusal) = (nil, nil) }
    let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
    #expect(try await server.grant(receipt: receipt).status == 201)
  }

  @Test("a store that says of itself that it fails is left alone, in whatever HTTP status it says so")
  func failsInWords() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      let answer = VerifyReceiptResponse(status: VerifyReceiptStatus(rawValue: 21150), isRetryable: false)
      server.store.state.withLock { $0.answer = answer }
      for _ in 0..<7 { _ = try await server.problem { _ = try await server.grant(receipt: receipt) } }
      #expect(verifications(server) == 5)
    }
  }

  @Test("a refusal is repeated without asking; the same for a receipt that cannot be read")
  func refused() async throws {
    let timer = ManualMonotonicClock()
    try await ServerHarness.run(timer: timer) { server in
      try await server.publish(package)
      let foreign = try server.store.receipt(
        of: [server.purchase()], device: server.device.id, environment: "Production")
      for _ in 0..<3 {
        let problem = try await server.problem { _ = try await server.grant(receipt: foreign) }
        #expect(problem.code == .receiptWrongEnvironment)
      }
      #expect(verifications(server) == 1)
      timer.advance(by: .seconds(30))
      _ = try await server.problem { _ = try await server.grant(receipt: foreign) }
      #expect(verifications(server) == 2)
    }
  }

  @Test(
    "a client is told in one sentence that the store cannot be asked; why is in the log, with the request")
  func fixedSentence() async throws {
    let lines = Mutex<[String]>([])
    let log = Log(level: .warning, format: .json) { line in
      lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
    }
    try await ServerHarness.run(log: log) { server in
      try await server.publish(package)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      let address = server.store.url
      await server.store.stop()
      let problem = try await server.problem { _ = try await server.grant(receipt: receipt) }
      #expect(problem.code == .verificationUndetermined)
      #expect(problem.detail == "the payment store cannot be asked at the moment")
      let request = try #require(problem.instance?.split(separator: ":").last)
      let line = try #require(lines.withLock { $0.first { $0.contains("the store cannot be asked") } })
      #expect(line.contains("\"request\":\"\(request)\""))
      #expect(line.contains(try #require(address.split(separator: ":").last)))
    }
  }

  @Test("grants and tickets go on while every thread that checks packages is busy")
  func packageChecksApart() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      let leave = DispatchSemaphore(value: 0)
      let checks = server.server.pools.checks
      for _ in 0..<checks.threads { _ = checks.start { leave.wait() } }
      async let waiting = server.publish([1, 2, 3], as: "com.example.issue2")
      let grant = try await server.grant(receipt: receipt).value
      #expect(try await server.fetch(grant).body == package)
      for _ in 0..<checks.threads { leave.signal() }
      #expect(try await waiting.length == ByteCount(3))
    }
  }

  @Test(
    "a receipt is read while every thread that opens packages is busy, and a package is opened while receipts wait"
  )
  func opensAndReceiptsApart() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      let pools = server.server.pools
      let leave = DispatchSemaphore(value: 0)
      for _ in 0..<pools.blobs.threads { _ = pools.blobs.start { leave.wait() } }
      let grant = try await server.grant(receipt: receipt).value
      for _ in 0..<pools.blobs.threads { leave.signal() }
      for _ in 0..<pools.receipts.threads { _ = pools.receipts.start { leave.wait() } }
      #expect(try await server.fetch(grant).body == package)
      for _ in 0..<pools.receipts.threads { leave.signal() }
    }
  }
}
