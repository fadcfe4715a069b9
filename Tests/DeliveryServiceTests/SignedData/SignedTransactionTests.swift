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
import ServiceRuntime
import Synchronization
import SystemCalls
import Testing

@testable import ContentGrants
@testable import DeliveryRecords
@testable import DeliveryService
@testable import PaymentStores
@testable import Receipts

@Suite("Signed transactions as proofs of purchase", .timeLimit(.minutes(2)))
struct SignedTransactionTests {
  private let package = (0..<3000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
  private let apple: FakeAppleStore

  init() throws {
    apple = try FakeAppleStore()
  }

  private func grant(
    _ text: String, _ server: ServerHarness, device: Device? = nil
  ) async throws -> APIResponse<GrantResponse> {
    let request = GrantRequest(
      proof: Proof(store: "apple", signedTransaction: text),
      product: try #require(ProductIdentifier("com.example.issue1")), device: device ?? server.device)
    return try await server.api.call("POST", "/v1/grants", body: request, as: GrantResponse.self)
  }

  /// The refusal's code; nil for a grant.
  private func refusal(of text: String, _ server: ServerHarness) async throws -> ProblemCode? {
    do {
      _ = try await grant(text, server)
      return nil
    } catch APICallError.problem(let problem) {
      return problem.code
    }
  }

  private func run(_ options: [String], _ body: (ServerHarness) async throws -> Void) async throws {
    try await ServerHarness.run(options: options) { server in
      try await server.publish(package)
      try await body(server)
    }
    await apple.stop()
  }

  @Test(
    "a signed transaction opens what it pays for, on each device, and its issuers are asked once in a quarter of an hour"
  )
  func genuine() async throws {
    try await run(apple.option()) { server in
      let text = try apple.sign(apple.transaction())
      let granted = try await grant(text, server)
      #expect(granted.status == 201)
      #expect(granted.value.transaction.description == "2000000000000001")
      #expect(try await server.fetch(granted.value).body == package)
      let other = Device(id: try #require(DeviceIdentifier("another-device")))
      #expect(try await grant(text, server, device: other).status == 201)
      let second = try apple.sign(apple.transaction("2000000000000002"))
      _ = try await grant(second, server)
      #expect(apple.state.withLock { $0.responderQuestions } == 2)
      let listed = try await server.api.call(
        "POST", "/v1/entitlements",
        body: EntitlementsRequest(
          proof: Proof(store: "apple", signedTransaction: text), device: server.device),
        as: EntitlementsResponse.self)
      #expect(listed.value.products.map(\.product.description) == ["com.example.issue1"])
    }
  }

  @Test("what was paid, and where, is in the ledger as the store has signed it")
  func price() async throws {
    try await run(apple.option()) { server in
      var sold = apple.transaction()
      (sold.price, sold.currency, sold.storefront) = (2990, "EUR", "FRA")
      _ = try await grant(try apple.sign(sold), server)
      let key = TransactionKey(
        store: .apple, environment: .sandbox, id: try #require(TransactionIdentifier("2000000000000001")))
      let known = try await server.server.grants.grantStore.database.read {
        try LedgerTable.find(key, in: $0)?.transaction
      }
      #expect(known?.price == Price(amount: "2.99", currency: "EUR"))
      #expect(known?.territory?.code == "FRA")
    }
  }

  @Test("everything that is not the store's word is refused by name, without a byte and without a grant")
  func refused() async throws {
    func stranger(_ change: (inout SignedDataAuthority.Options) -> Void = { _ in }) throws
      -> SignedDataAuthority
    {
      var options = SignedDataAuthority.Options(responder: apple.url + "/ocsp", now: ServerHarness.start)
      change(&options)
      return try SignedDataAuthority.generate(options)
    }
    let unmarkedLeaf = try stranger { $0.marksLeaf = false }
    let unmarkedIntermediate = try stranger { $0.marksIntermediate = false }
    let shortLeaf = try stranger {
      $0.leafValidity = (ServerHarness.start - .seconds(3600))...(ServerHarness.start + .seconds(3600))
    }
    for (name, authority) in [
      ("unmarked-leaf", unmarkedLeaf), ("unmarked-intermediate", unmarkedIntermediate), ("short", shortLeaf),
    ] {
      try DurableFile.write(Array(authority.root.pem.utf8).span, to: apple.directory.path("\(name).pem"))
    }
    let foreign = try stranger()
    let good = apple.transaction()
    let payload = Array(try JSONEncoder().encode(good))
    let own = [apple.authority.leaf, apple.authority.intermediate, apple.authority.root].map(\.der)
    let es256 = ["alg": "ES256"]
    func changed(_ change: (inout SignedTransaction) -> Void) -> SignedTransaction {
      var transaction = good
      change(&transaction)
      return transaction
    }
    let text = try apple.sign(good)
    let segments = text.split(separator: ".").map(String.init)
    let other = try apple.sign(changed { $0.productId = "com.example.issue2" }).split(separator: ".")
    let early = SignedDate(ServerHarness.start - .seconds(7200))
    var cases: [(name: String, text: String, code: ProblemCode)] = [
      ("a changed payload", "\(segments[0]).\(other[1]).\(segments[2])", .receiptNotAuthentic),
      ("a leaf without marker", try apple.sign(good, by: unmarkedLeaf), .receiptNotAuthentic),
      (
        "an intermediate without marker", try apple.sign(good, by: unmarkedIntermediate), .receiptNotAuthentic
      ),
      ("another root of the same names", try apple.sign(good, by: foreign), .receiptNotAuthentic),
      (
        "another root with the true one in its place",
        try foreign.sign(
          payload, header: es256,
          certificates: [foreign.leaf.der, foreign.intermediate.der, apple.authority.root.der]),
        .receiptNotAuthentic
      ),
      (
        "good certificates and another key", try foreign.sign(payload, header: es256, certificates: own),
        .receiptNotAuthentic
      ),
      (
        "no certificate", try apple.authority.sign(payload, header: es256, certificates: []),
        .receiptMalformed
      ),
      (
        "no list of certificates", try apple.authority.sign(payload, header: es256, certificates: nil),
        .receiptMalformed
      ),
      (
        "two certificates",
        try apple.authority.sign(payload, header: es256, certificates: Array(own.prefix(2))),
        .receiptMalformed
      ),
      (
        "four certificates",
        try foreign.sign(
          payload, header: es256,
          certificates: [foreign.leaf, foreign.intermediate, foreign.root, apple.authority.root].map(\.der)),
        .receiptMalformed
      ),
      (
        "garbage for certificates",
        try apple.authority.sign(payload, header: es256, certificates: [[1, 2], [3], []]), .receiptMalformed
      ),
      (
        "signed before its leaf counted",
        try apple.sign(changed { $0.signedDate = early }, by: shortLeaf), .receiptNotAuthentic
      ),
      (
        "signed ten minutes ahead",
        try apple.sign(changed { $0.signedDate = SignedDate(ServerHarness.start + .seconds(600)) }),
        .receiptNotAuthentic
      ),
      (
        "another application", try apple.sign(changed { $0.bundleId = "com.example.other" }),
        .receiptWrongApplication
      ),
      ("no application", try apple.sign(changed { $0.bundleId = nil }), .receiptWrongApplication),
      ("production", try apple.sign(changed { $0.environment = .production }), .receiptWrongEnvironment),
      ("Xcode", try apple.sign(changed { $0.environment = .xcode }), .receiptWrongEnvironment),
      ("LocalTesting", try apple.sign(changed { $0.environment = .localTesting }), .receiptWrongEnvironment),
      ("no environment", try apple.sign(changed { $0.environment = nil }), .receiptWrongEnvironment),
      ("no date", try apple.sign(changed { $0.signedDate = nil }), .receiptMalformed),
      ("no product", try apple.sign(changed { $0.productId = nil }), .receiptMalformed),
      ("no JSON", try apple.authority.sign(Array("[]".utf8)), .receiptMalformed),
      ("no signed data", "garbage", .receiptMalformed),
    ]
    for name in ["none", "HS256", "RS256"] {
      cases.append(
        (name, try apple.authority.sign(payload, header: ["alg": name], certificates: own), .receiptMalformed)
      )
    }
    let roots = ["unmarked-leaf.pem", "unmarked-intermediate.pem", "short.pem"]
    try await run(apple.option(roots: roots)) { server in
      for entry in cases {
        let code = try await refusal(of: entry.text, server)
        #expect(code == entry.code, "\(entry.name)")
      }
      let grants = try await server.operatorAPI.get("/v1/operator/grants", as: Page<OperatorGrant>.self)
      #expect(grants.items.isEmpty)
      #expect(try await refusal(of: text, server) == nil)
    }
  }

  @Test(
    "a leaf that has expired proves nothing while issuers are asked, and what it signed before where they are not"
  )
  func expiredLeaf() async throws {
    var options = SignedDataAuthority.Options(responder: apple.url + "/ocsp", now: ServerHarness.start)
    options.leafValidity = (ServerHarness.start - .seconds(3600))...(ServerHarness.start + .seconds(3600))
    let short = try SignedDataAuthority.generate(options)
    try DurableFile.write(Array(short.root.pem.utf8).span, to: apple.directory.path("short.pem"))
    let text = try apple.sign(apple.transaction(), by: short)
    var late = apple.transaction()
    late.signedDate = SignedDate(ServerHarness.start + .seconds(7000))
    let after = try apple.sign(late, by: short)
    for checks in [true, false] {
      try await ServerHarness.run(options: apple.option("onlineChecks: \(checks)", roots: ["short.pem"])) {
        server in
        try await server.publish(package)
        server.clock.advance(by: .seconds(7200))
        #expect(try await refusal(of: text, server) == (checks ? .receiptNotAuthentic : nil))
        #expect(try await refusal(of: after, server) == .receiptNotAuthentic)
      }
    }
    await apple.stop()
  }

  @Test("a revoked leaf is refused; while the responder does not answer nothing is decided")
  func revoked() async throws {
    try await run(apple.option()) { server in
      let text = try apple.sign(apple.transaction())
      apple.state.withLock { $0.isResponderDown = true }
      for _ in 0..<7 { #expect(try await refusal(of: text, server) == .verificationUndetermined) }
      apple.state.withLock { $0.isResponderDown = false }
      let serial = try apple.authority.leaf.serialNumber()
      apple.state.withLock { $0.revoked = [serial] }
      #expect(try await refusal(of: text, server) == .receiptNotAuthentic)
      apple.state.withLock { $0.revoked = [] }
      let second = try apple.sign(apple.transaction("2000000000000002"))
      #expect(try await refusal(of: second, server) == nil)
      // A transaction that was good is believed for a while, also without the responder.
      apple.state.withLock { $0.isResponderDown = true }
      let third = try apple.sign(apple.transaction("2000000000000003"))
      #expect(try await refusal(of: third, server) == nil)
    }
  }

  @Test("without online checks the responder is never asked")
  func offline() async throws {
    try await run(apple.option("onlineChecks: false")) { server in
      apple.state.withLock { $0.isResponderDown = true }
      let refusal = try await refusal(of: try apple.sign(apple.transaction()), server)
      #expect(refusal == nil)
      #expect(apple.state.withLock { $0.responderQuestions } == 0)
    }
  }

  @Test("a refund that a signed transaction tells of counts, and an older one does not undo it")
  func refunded() async throws {
    try await run(apple.option()) { server in
      let bought = apple.transaction()
      let text = try apple.sign(bought)
      let granted = try await grant(text, server).value
      apple.clock.advance(by: .seconds(60))
      server.clock.advance(by: .seconds(60))
      var refunded = apple.refund(apple.transaction(), at: apple.clock.now())
      refunded.signedDate = SignedDate(apple.clock.now())
      #expect(try await refusal(of: try apple.sign(refunded), server) == .entitlementRevoked)
      #expect(try await server.fetch(granted).status == 403)
      #expect(try await refusal(of: text, server) == .entitlementRevoked)
    }
  }

  @Test("a store without roots takes no signed transaction")
  func noRoots() async throws {
    let store =
      "{name: 'apple', kind: 'apple', bundles: ['\(FakeAppleStore.bundle)'], addresses: {sandbox: '\(apple.url)'}}"
    try await run(["--payment-store", store]) { server in
      let refusal = try await refusal(of: try apple.sign(apple.transaction()), server)
      #expect(refusal == .receiptMalformed)
    }
  }

  @Test("members and words that this version does not know change nothing")
  func unknown() async throws {
    try await run(apple.option()) { server in
      let date = ServerHarness.start.millisecondsSinceEpoch
      let text = try apple.authority.sign(
        Array(
          """
          {"transactionId":"9","originalTransactionId":"9","bundleId":"\(FakeAppleStore.bundle)","productId":"com.example.issue1",
          "purchaseDate":\(date).75,"expiresDate":1e30,"signedDate":\(date),"environment":"Sandbox","type":"Rental",
          "inAppOwnershipType":"LENT","new":{"a":[1,{"b":null}]},"transactionReason":"GIFT"}
          """.utf8))
      #expect(try await refusal(of: text, server) == nil)
    }
  }
}
