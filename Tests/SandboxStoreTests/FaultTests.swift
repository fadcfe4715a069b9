import Commerce
import CoreTypes
import Database
import HTTPServer
import PullboxAPI
import PullboxTesting
import Receipts
import SandboxRecords
import ServiceAPI
import Testing

@testable import SandboxStore

@Suite("What the store does wrong on purpose", .timeLimit(.minutes(1)))
struct FaultTests {
  let store: StoreHarness

  init() throws {
    store = try StoreHarness()
  }

  private func set(_ faults: StoreFaults) async throws {
    let answer: StoreFaults = try await store.call(.put, "/sandbox/v1/faults", body: faults)
    #expect(answer == faults)
  }

  @Test("an outage and a status meet customers and verifyReceipt, and not the controls")
  func outage() async throws {
    let token = try await store.openAccount()
    try await set(StoreFaults(outage: true))
    for path in ["/store/v1/transactions", "/store/v1/receipt?device=reader-1"] {
      #expect(try await store.refusal(.get, path, token: token) == .unavailable)
    }
    #expect(try await store.send(.post, "/verifyReceipt").status == 503)
    #expect(try await store.send(.get, "/healthz").status == 200)
    try await set(StoreFaults(status: 418))
    let answer = try await store.send(.get, "/store/v1/account", token: token)
    #expect(answer.status == 418 && answer.body.isEmpty)
    try await set(StoreFaults())
    #expect(try await store.send(.get, "/store/v1/account", token: token).status == 200)
  }

  @Test("what is set stays over a restart")
  func kept() async throws {
    try await set(StoreFaults(outage: true))
    store.database.close()
    let again = try StoreHarness(in: store.directory)
    try await again.store.restoreFaults()
    #expect(try await again.send(.post, "/verifyReceipt").status == 503)
  }

  @Test("answers come after the latency")
  func latency() async throws {
    let token = try await store.openAccount()
    try await set(StoreFaults(latency: 250))
    async let answer = store.send(.get, "/store/v1/account", token: token)
    await store.timer.waitForSleepers()
    #expect(store.timer.timeToNextSleeper == .milliseconds(250))
    store.timer.advance(by: .milliseconds(250))
    #expect(try await answer.status == 200)
  }

  @Test("verifyReceipt says the status that is set, a wrong signature is 21003, and 21002 where they are one")
  func statuses() async throws {
    let token = try await store.openAccount()
    try await store.buy(StoreHarness.issue, token: token)
    let genuine = try await store.receipt(token)
    try await set(StoreFaults(status: 21005))
    let answer = try await store.verify(genuine)
    #expect(answer.status.rawValue == 21005 && answer.receipt == nil)
    try await set(StoreFaults(wrongSignature: true))
    let wrong = try await store.receipt(token)
    #expect(try UnverifiedAppReceipt(base64: wrong).claims.purchases.count == 1)
    #expect(try await store.verify(wrong).status.rawValue == 21003)
    #expect(try await store.verify(genuine).status.rawValue == 0)
    try await set(StoreFaults(collapse21003: true))
    #expect(try await store.verify(wrong).status.rawValue == 21002)
    #expect(try await store.verify(genuine).status.rawValue == 0)
  }

  @Test("dates are ahead, or behind, by the skew, and the store takes its own receipts")
  func skew() async throws {
    let token = try await store.openAccount()
    try await store.buy(StoreHarness.issue, token: token)
    for seconds in [3600, -3600] {
      try await set(StoreFaults(skew: seconds))
      let answer = try await store.verify(store.receipt(token))
      let stated = store.clock.now() + .seconds(seconds)
      #expect(answer.status == .valid)
      #expect(answer.receipt?.creationDate == stated.wholeSeconds && answer.receipt?.requestDate == stated)
    }
  }

  @Test("signed data has dates that are ahead by the skew, and signatures that fit unless that is set")
  func signedData() async throws {
    let authority = try SignedDataAuthority.generate(
      .init(responder: "http://127.0.0.1/ocsp", now: store.clock.now().wholeSeconds))
    struct Signer: PayloadSigner {
      let authority: SignedDataAuthority
      func sign(_ payload: [UInt8]) throws -> String { try authority.sign(payload) }
    }
    let issuer = PayloadIssuer(
      signer: Signer(authority: authority), bundleIdentifier: "com.example.pullbox", environment: .sandbox,
      clock: store.clock, faults: store.store.faults)
    let verifier = SignedDataVerifier(roots: [authority.root], timer: SystemMonotonicClock())
    func verify() throws {
      _ = try verifier.verify(SignedData(text: issuer.appTransaction(account: 1)), at: store.clock.now())
    }
    try verify()
    try await set(StoreFaults(wrongSignature: true))
    #expect(throws: ReceiptError.self) { try verify() }
    try await set(StoreFaults(skew: -3600))
    try verify()
    let payload: AppTransactionPayload = try PlainSigner.payload(of: issuer.appTransaction(account: 1))
    let stated = store.clock.now() + .seconds(-3600)
    #expect(payload.receiptCreationDate == stated.millisecondsSinceEpoch)
  }

  @Test(
    "what has no meaning is refused",
    arguments: [
      StoreFaults(latency: -1), StoreFaults(latency: 60_001), StoreFaults(status: 200),
      StoreFaults(status: 20_999), StoreFaults(skew: 2_678_401),
    ])
  func refused(faults: StoreFaults) async throws {
    let body = try APIJSON.encode(faults)
    #expect(try await store.refusal(.put, "/sandbox/v1/faults", body: body) == .requestMalformed)
  }
}
