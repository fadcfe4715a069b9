import Commerce
import CoreTypes
import Testing

@testable import Receipts

@Suite("Asking a store about a receipt")
struct VerifyReceiptFlowTests {
  let receipt: UnverifiedAppReceipt
  let policy = VerifyReceiptPolicy(
    bundleIdentifiers: ["com.example.pullbox"], environments: [.sandbox],
    retryDelays: [.milliseconds(1), .milliseconds(2), .milliseconds(3)], retryAfter: .seconds(9))

  init() throws {
    receipt = try UnverifiedAppReceipt(encoded: Fixtures.authority.get().signer.sign(Fixtures.receipt()))
  }

  func answer(
    _ status: Int = 0, retryable: Bool? = nil, environment: String? = "Sandbox", receipt: AppReceipt? = nil
  ) -> VerifyReceiptFlow.Outcome {
    var response = VerifyReceiptResponse(status: .init(rawValue: status), isRetryable: retryable)
    response.environment = environment
    if status == 0 { response.receipt = .init(receipt ?? Fixtures.receipt(), requestDate: Fixtures.now) }
    return .response(response)
  }

  /// Feeds `outcomes` and tells the questions asked and the verdict, if there is one.
  func converse(
    _ outcomes: [VerifyReceiptFlow.Outcome], policy: VerifyReceiptPolicy? = nil,
    receipt: UnverifiedAppReceipt? = nil
  ) -> (questions: [StoreEnvironment], waits: [Duration], verdict: ReceiptVerdict?) {
    var conversation = VerifyReceiptFlow(
      about: receipt ?? self.receipt, policy: policy ?? self.policy)
    var step = conversation.start()
    var outcomes = outcomes[...]
    var questions: [StoreEnvironment] = []
    var waits: [Duration] = []
    while case .ask(let environment, let wait) = step {
      questions.append(environment)
      waits.append(wait)
      guard let outcome = outcomes.popFirst() else { return (questions, waits, nil) }
      step = conversation.handle(outcome)
    }
    guard case .finished(let verdict) = step else { return (questions, waits, nil) }
    return (questions, waits, verdict)
  }

  @Test("a genuine receipt is valid, with its purchases")
  func valid() {
    guard case .valid(let verified) = converse([answer()]).verdict else {
      Issue.record("not valid")
      return
    }
    #expect(
      verified.transactions(store: .sandbox).map(\.product.description) == ["com.example.heroes.issue1"])
  }

  @Test("a valid receipt without purchases is valid and owns nothing")
  func empty() {
    #expect(
      converse([answer(receipt: Fixtures.receipt([]))]).verdict
        == .valid(VerifiedAppReceipt(receipt: receipt.claims, purchases: [])))
  }

  @Test("a receipt of another application is refused without asking, and so is an answer about another one")
  func wrongApplication() throws {
    var other = Fixtures.receipt()
    other.bundleIdentifier = "com.example.other"
    other.rawBundleIdentifier = DERWriter.utf8("com.example.other")
    let signed = try UnverifiedAppReceipt(encoded: Fixtures.authority.get().signer.sign(other))
    let refused = converse([], receipt: signed)
    #expect(refused.questions.isEmpty)
    #expect(refused.verdict == .wrongApplication)
    #expect(converse([answer(receipt: other)]).verdict == .wrongApplication)
  }

  @Test("21002, 21002, 0 ends well after two waits")
  func transientMalformed() {
    let talk = converse([answer(21002), answer(21002), answer()])
    #expect(talk.waits == [.zero, .milliseconds(1), .milliseconds(2)])
    guard case .valid = talk.verdict else {
      Issue.record("not valid")
      return
    }
  }

  @Test(
    "four times 21002 ends undetermined, never as a forgery", arguments: [21002, 21005, 21009, 21100, 21199])
  func lastingMalformed(status: Int) {
    let talk = converse([answer(status), answer(status), answer(status), answer(status)])
    #expect(talk.questions.count == 4)
    #expect(
      talk.verdict
        == .undetermined(retryAfter: .seconds(9), reason: "the store answered with status \(status)"))
  }

  @Test("an internal data access error that says it is not retryable is not retried")
  func notRetryable() {
    let talk = converse([answer(21150, retryable: false)])
    #expect(talk.questions.count == 1)
    #expect(
      talk.verdict == .undetermined(retryAfter: .seconds(9), reason: "the store answered with status 21150"))
  }

  @Test("21003 is a forgery, 21008 another environment, 21010 an account that never bought anything")
  func terminal() {
    #expect(converse([answer(21003)]).verdict == .notAuthentic)
    #expect(converse([answer(21008)]).verdict == .wrongEnvironment)
    guard case .valid(let nothing) = converse([answer(21010)]).verdict else {
      Issue.record("not valid")
      return
    }
    #expect(nothing.transactions(store: .sandbox).isEmpty)
  }

  @Test(
    "statuses that speak of our request, or that nobody knows, decide nothing",
    arguments: [21000, 21001, 21004, 7])
  func unusable(status: Int) {
    let talk = converse([answer(status)])
    #expect(talk.questions.count == 1)
    guard case .undetermined = talk.verdict else {
      Issue.record("decided: \(String(describing: talk.verdict))")
      return
    }
  }

  @Test("21007 leads to the sandbox once, and the entitlement is tagged sandbox")
  func sandboxFallback() {
    var both = policy
    both.environments = [.production, .sandbox]
    let talk = converse([answer(21007), answer()], policy: both)
    #expect(talk.questions == [.production, .sandbox])
    guard case .valid(let verified) = talk.verdict else {
      Issue.record("not valid")
      return
    }
    #expect(verified.transactions(store: .apple).map(\.environment) == [.sandbox])
    #expect(converse([answer(21007), answer(21007)], policy: both).verdict == .wrongEnvironment)
  }

  @Test("where sandbox purchases do not count, a sandbox receipt is of the wrong environment")
  func productionOnly() {
    var production = policy
    production.environments = [.production]
    #expect(converse([answer(21007)], policy: production).verdict == .wrongEnvironment)
    #expect(converse([answer()], policy: production).verdict == .wrongEnvironment)
    #expect(converse([answer(environment: "Production")], policy: production).verdict == .wrongEnvironment)
  }

  @Test(
    "a production store asks each environment once about a sandbox receipt, and refuses it for where it is from"
  )
  func askedButNotCounted() {
    var production = policy
    production.environments = [.production]
    production.addresses = [.production, .sandbox]
    let talk = converse([answer(21007), answer()], policy: production)
    #expect(talk.questions == [.production, .sandbox])
    #expect(talk.verdict == .wrongEnvironment)
  }

  @Test("an environment vouches for its own receipts alone")
  func ownReceipts() throws {
    var claimed = Fixtures.receipt()
    claimed.environmentName = "Production"
    let signed = try UnverifiedAppReceipt(encoded: Fixtures.authority.get().signer.sign(claimed))
    var both = policy
    both.environments = [.production, .sandbox]
    both.addresses = [.sandbox]
    for environment in ["Production", nil] {
      let talk = converse([answer(environment: environment)], policy: both, receipt: signed)
      #expect(talk.questions == [.sandbox])
      #expect(talk.verdict == .wrongEnvironment)
    }
  }

  @Test("the grace of a subscription is that of its last period, and of no other subscription's")
  func grace() throws {
    func period(_ id: String, of original: String, until end: String) -> InAppPurchase {
      var purchase = Fixtures.purchase(id)
      purchase.originalTransactionIdentifier = original
      purchase.expiresDate = Fixtures.moment(end)
      return purchase
    }
    var response = VerifyReceiptResponse(status: .valid)
    response.environment = "Sandbox"
    response.receipt = .init(Fixtures.receipt(), requestDate: Fixtures.now)
    response.latestReceiptInfo = [
      period("8", of: "7", until: "2026-12-20T00:00:00Z"),
      period("7", of: "7", until: "2026-11-20T00:00:00Z"),
      period("9", of: "9", until: "2026-12-20T00:00:00Z"),
    ]
    var renewal = PendingRenewal(originalTransactionIdentifier: "7")
    renewal.gracePeriodExpiresDate = Fixtures.moment("2027-01-05T00:00:00Z")
    response.pendingRenewalInfo = [renewal, PendingRenewal(originalTransactionIdentifier: "9")]
    guard case .valid(let verified) = converse([.response(response)]).verdict else {
      Issue.record("not valid")
      return
    }
    let graces = verified.transactions(store: .sandbox).filter { $0.graceExpiresDate != nil }
    #expect(graces.map(\.id.description) == ["8"])
    #expect(graces.first?.graceExpiresDate == Fixtures.moment("2027-01-05T00:00:00Z"))
  }

  @Test("a license ends when its receipt or the store says, whichever is earlier")
  func license() {
    func ending(_ receipt: String?, _ told: String?) -> Timestamp? {
      var claims = Fixtures.receipt()
      claims.expirationDate = receipt.map(Fixtures.moment)
      return VerifiedAppReceipt(
        receipt: claims, purchases: [], expirationDate: told.map(Fixtures.moment)
      ).expirationDate
    }
    let (early, late) = ("2026-12-01T00:00:00Z", "2026-12-31T00:00:00Z")
    #expect(ending(nil, nil) == nil)
    #expect(ending(early, nil) == Fixtures.moment(early))
    #expect(ending(nil, early) == Fixtures.moment(early))
    #expect(ending(late, early) == Fixtures.moment(early))
    #expect(ending(early, late) == Fixtures.moment(early))
  }

  @Test("no answer is undetermined, with the store's own waiting time when it gave one")
  func failure() {
    #expect(
      converse([.failure(reason: "no connection")]).verdict
        == .undetermined(retryAfter: .seconds(9), reason: "no connection"))
    #expect(
      converse([.failure(reason: "busy", retryAfter: .seconds(60))]).verdict
        == .undetermined(retryAfter: .seconds(60), reason: "busy"))
  }

  @Test("the store's later knowledge of a transaction replaces the receipt's")
  func merge() {
    var response = VerifyReceiptResponse(status: .valid)
    response.environment = "Sandbox"
    response.receipt = .init(
      Fixtures.receipt([Fixtures.purchase("1"), Fixtures.purchase("2")]), requestDate: Fixtures.now)
    var refunded = Fixtures.purchase("2")
    refunded.cancellationDate = Fixtures.now
    response.latestReceiptInfo = [refunded, Fixtures.purchase("3")]
    guard case .valid(let verified) = converse([.response(response)]).verdict else {
      Issue.record("not valid")
      return
    }
    let transactions = verified.transactions(store: .sandbox)
    #expect(transactions.map(\.id.description) == ["1", "2", "3"])
    #expect(transactions.map(\.revokedDate) == [nil, Fixtures.now, nil])
  }

  @Test(
    "what the receipt says is as of its creation, what the store told beyond it as of the question, a refund of its own date at least"
  )
  func asOf() {
    let (created, asked) = (Fixtures.receipt().creationDate, Fixtures.moment("2026-11-23T00:00:00Z"))
    let refunded = Fixtures.moment("2026-11-22T00:00:00Z")
    var known = Fixtures.purchase("2")
    known.cancellationDate = refunded
    var response = VerifyReceiptResponse(status: .valid)
    response.environment = "Sandbox"
    response.receipt = .init(Fixtures.receipt([Fixtures.purchase("1"), known]), requestDate: asked)
    response.latestReceiptInfo = [Fixtures.purchase("3")]
    func moments() -> [Timestamp]? {
      guard case .valid(let verified) = converse([.response(response)]).verdict else { return nil }
      return verified.transactions(store: .sandbox).map(\.asOf)
    }
    #expect(moments() == [created, refunded, asked])
    // An answer without its date is worth what the receipt is worth.
    response.receipt?.requestDate = nil
    #expect(moments() == [created, refunded, created])
  }

  @Test("an upgraded subscription ends at its upgrade instead of being undone")
  func upgrade() throws {
    var upgraded = Fixtures.purchase("1")
    upgraded.expiresDate = Fixtures.moment("2026-12-21T09:00:00Z")
    upgraded.cancellationDate = Fixtures.moment("2026-12-01T00:00:00Z")
    upgraded.isUpgraded = true
    let transaction = try #require(
      upgraded.transaction(store: .apple, environment: .production, asOf: Fixtures.now))
    #expect(transaction.revokedDate == nil)
    #expect(transaction.expiresDate == Fixtures.moment("2026-12-01T00:00:00Z"))
  }
}
