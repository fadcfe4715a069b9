import Commerce
import CoreTypes
import Crypto
import HTTPServer
import PullboxAPI
import PullboxTesting
import Receipts
import ServiceAPI
import Testing

@testable import SandboxStore

@Suite("Receipts and their verification")
struct VerificationTests {
  let store: StoreHarness

  init() throws {
    store = try StoreHarness()
  }

  @Test("a receipt holds what was bought, verifies with status 0, and is bound to the device")
  func genuine() async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.issue, token: token)
    let base64 = try await store.receipt(token)

    let answer = try await store.verify(base64)
    #expect(answer.status == .valid)
    #expect(answer.environment == "Sandbox")
    let receipt = try #require(answer.receipt)
    #expect(receipt.receiptType == "ProductionSandbox")
    #expect(receipt.bundleIdentifier == "com.example.pullbox")
    #expect(receipt.purchases.map(\.transactionIdentifier) == [bought.id.description])
    #expect(receipt.purchases.map(\.productIdentifier) == [StoreHarness.issue.description])
    #expect(receipt.purchases.map(\.purchaseDate) == [bought.purchaseDate])
    #expect(answer.latestReceiptInfo == nil)

    let claims = try UnverifiedAppReceipt(base64: base64).claims
    #expect(claims.deviceBinding.matches(try #require(DeviceIdentifier("reader-1"))))
    #expect(!claims.deviceBinding.matches(try #require(DeviceIdentifier("reader-2"))))
  }

  @Test("the store's answer ends a conversation with a valid receipt and its transactions")
  func conversation() async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.magazine, token: token)
    let receipt = try UnverifiedAppReceipt(base64: await store.receipt(token))
    var conversation = VerifyReceiptFlow(
      about: receipt,
      policy: VerifyReceiptPolicy(bundleIdentifiers: ["com.example.pullbox"], environments: [.sandbox]))
    let answer = try await store.verify(receipt.base64)
    guard case .finished(.valid(let verified)) = conversation.handle(.response(answer)) else {
      Issue.record("the conversation did not end well")
      return
    }
    let transactions = verified.transactions(store: .sandbox)
    #expect(transactions.map(\.id) == [bought.id])
    #expect(transactions.map(\.expiresDate) == [bought.expiresDate])
  }

  @Test("a subscription's answer tells what the store knows since the receipt was made")
  func latest() async throws {
    try await store.setTime("real", renewals: 0)
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    let receipt = try await store.receipt(token)
    store.clock.advance(by: .seconds(40 * 86_400))
    let second = try await store.buy(StoreHarness.magazine, token: token)

    let answer = try await store.verify(receipt)
    #expect(answer.receipt?.purchases.map(\.transactionIdentifier) == [first.id.description])
    #expect(
      answer.latestReceiptInfo?.map(\.transactionIdentifier) == [second.id.description, first.id.description])
    #expect(second.originalId == first.id)
    let latest = try await store.verify(try #require(answer.latestReceipt))
    #expect(latest.receipt?.purchases.count == 2)

    let recent: VerifyReceiptResponse = try await store.call(
      .post, "/verifyReceipt", body: VerifyReceiptRequest(receiptData: receipt, excludesOldTransactions: true)
    )
    #expect(recent.latestReceiptInfo?.map(\.transactionIdentifier) == [second.id.description])
  }

  @Test(
    "a receipt's base 64 may come in lines, and nothing else may stand in it",
    arguments: [("\n", 64), ("\r\n", 76), ("\n", 1_000_000)])
  func lines(end: String, columns: Int) async throws {
    let token = try await store.openAccount()
    try await store.buy(StoreHarness.issue, token: token)
    let receipt = try await store.receipt(token)
    let characters = Array(receipt)
    let text = stride(from: 0, to: characters.count, by: columns).map { start in
      String(characters[start..<min(start + columns, characters.count)]) + end
    }.joined()
    #expect(text != receipt)
    #expect(try await store.verify(text).status == .valid)
    #expect(try await store.verify(text + " ").status == .malformed)
  }

  @Test(
    "the store's answer says of a purchase what the application called its user, as it was given",
    arguments: [
      "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b",
      "8B6FD3A2-6E5D-4D0C-9C0C-0F7E8E2E5B11",
    ])
  func accounts(name: String) async throws {
    let token = try await store.openAccount()
    let order = try APIJSON.encode(
      PurchaseRequest(product: StoreHarness.issue, applicationUsername: name))
    _ = try await store.send(.post, "/store/v1/purchases", token: token, body: order)
    let answer = try await store.verify(store.receipt(token))
    #expect(answer.receipt?.purchases.map(\.appAccountToken) == [name])
  }

  @Test("a finished consumable leaves the receipt, everything else stays")
  func consumable() async throws {
    let token = try await store.openAccount()
    let coins = try await store.buy(StoreHarness.coins, token: token)
    let issue = try await store.buy(StoreHarness.issue, token: token)
    func held() async throws -> Set<String> {
      let answer = try await store.verify(store.receipt(token))
      return Set(answer.receipt?.purchases.map(\.transactionIdentifier) ?? [])
    }
    #expect(try await held() == [coins.id.description, issue.id.description])
    _ = try await store.finish(coins)
    _ = try await store.finish(issue)
    #expect(try await held() == [issue.id.description])
  }

  @Test("failed purchases never reach a receipt")
  func failed() async throws {
    let token = try await store.openAccount()
    _ = try await store.send(.post, "/sandbox/v1/purchases/fail-next", token: token)
    try await store.buy(StoreHarness.issue, token: token)
    #expect(try await store.verify(store.receipt(token)).receipt?.purchases == [])
  }

  @Test("a receipt for another application is genuine and empty")
  func otherBundle() async throws {
    let token = try await store.openAccount()
    try await store.buy(StoreHarness.issue, token: token)
    let receipt = try await store.receipt(token, query: "device=reader-1&bundle=com.example.other")
    let answer = try await store.verify(receipt)
    #expect(answer.status == .valid)
    #expect(answer.receipt?.bundleIdentifier == "com.example.other")
    #expect(answer.receipt?.purchases == [])
  }

  @Test("a receipt of another store, or with a changed octet, is not authentic")
  func notAuthentic() async throws {
    let token = try await store.openAccount()
    let genuine = try UnverifiedAppReceipt(base64: await store.receipt(token))
    let foreign = try ReceiptAuthority.generate(.init(now: store.clock.now())).signer.signBase64(
      genuine.claims)
    #expect(try await store.verify(foreign).status == .notAuthentic)

    var statuses: Set<Int> = []
    for position in stride(from: 0, to: genuine.encoded.count, by: 97) {
      var changed = genuine.encoded
      changed[position] ^= 0x10
      let answer = try await store.verify(Base64.encode(changed))
      statuses.insert(answer.status.rawValue)
    }
    #expect(statuses == [21002, 21003])
  }

  @Test(
    "once a shared secret is set, receipts with subscriptions need it, and a wrong one is always refused (21004)"
  )
  func sharedSecret() async throws {
    let store = try StoreHarness(sharedSecret: "0123456789abcdef")
    let token = try await store.openAccount()
    func status(_ password: String?) async throws -> Int {
      let request = VerifyReceiptRequest(receiptData: try await store.receipt(token), password: password)
      let answer: VerifyReceiptResponse = try await store.call(.post, "/verifyReceipt", body: request)
      return answer.status.rawValue
    }
    try await store.buy(StoreHarness.issue, token: token)
    #expect(try await status(nil) == 0)
    #expect(try await status("wrong") == 21004)
    try await store.buy(StoreHarness.magazine, token: token)
    #expect(try await status(nil) == 21004)
    #expect(try await status("wrong") == 21004)
    #expect(try await status("0123456789abcdef") == 0)
  }

  @Test(
    "a sandbox receipt is 21007 to a production store, a production receipt 21008 to a sandbox, with the status alone"
  )
  func environments() async throws {
    let production = try StoreHarness(environment: .production)
    let token = try await production.openAccount()
    let bought = try await production.buy(StoreHarness.issue, token: token)
    #expect(bought.environment == "Production")
    let receipt = try await production.receipt(token)
    let genuine = try await production.verify(receipt)
    #expect(genuine.status == .valid && genuine.environment == "Production")
    #expect(genuine.receipt?.receiptType == "Production")

    let body = try APIJSON.encode(VerifyReceiptRequest(receiptData: receipt))
    let refused = try await store.send(.post, "/verifyReceipt", body: body)
    #expect(String(decoding: refused.body, as: UTF8.self) == #"{"status":21008}"#)
    let sandboxReceipt = try await store.receipt(store.openAccount())
    #expect(try await production.verify(sandboxReceipt).status.rawValue == 21007)
  }

  @Test("what is no receipt is malformed, whatever it is")
  func malformed() async throws {
    for text in ["", "not base 64", "AAAA", String(repeating: "A", count: 1 << 20)] {
      #expect(try await store.verify(text).status == .malformed)
    }
    for body in ["", "{", "[]", "{}", #"{"receipt-data":1}"#] {
      let answer = try await store.send(.post, "/verifyReceipt", body: Array(body.utf8))
      #expect(answer.status == 200)
      #expect(try VerifyReceiptResponse(json: answer.body).status == .malformed)
    }
  }

  @Test("other methods than POST are told so in the body")
  func methods() async throws {
    for method in [HTTPMethod.get, .put, .patch, .delete] {
      let answer = try await store.send(method, "/verifyReceipt")
      #expect(answer.status == 200)
      #expect(try VerifyReceiptResponse(json: answer.body).status == .notPost)
    }
  }

  @Test("a body of 3,145,728 bytes is read, one byte more is too large")
  func bound() async throws {
    let limit = 3_145_728
    let fits = try await store.send(.post, "/verifyReceipt", body: [UInt8](repeating: 0x41, count: limit))
    #expect(try VerifyReceiptResponse(json: fits.body).status == .malformed)
    let tooLarge = try await store.refusal(
      .post, "/verifyReceipt", body: [UInt8](repeating: 0x41, count: limit + 1))
    #expect(tooLarge == .requestTooLarge)
  }
}
