import Commerce
import CoreTypes
import PullboxTesting
import Testing

@testable import Receipts

/// Apple's table of statuses, with answers as they come from a store.
@Suite("Each status of verifyReceipt")
struct VerifyReceiptStatusTests {
  enum Ending: Hashable {
    case valid
    case malformed
    case notAuthentic
    case wrongApplication
    case wrongEnvironment
    case undetermined
  }

  struct Talk {
    var questions: [StoreEnvironment] = []
    var waits: [Duration] = []
    var verdict: ReceiptVerdict?

    var ending: Ending? {
      switch verdict {
      case .valid: .valid
      case .malformed: .malformed
      case .notAuthentic: .notAuthentic
      case .wrongApplication: .wrongApplication
      case .wrongEnvironment: .wrongEnvironment
      case .undetermined: .undetermined
      case nil: nil
      }
    }

    var transactions: [VerifiedTransaction]? {
      if case .valid(let receipt) = verdict { receipt.transactions(store: .apple) } else { nil }
    }
  }

  static let both: Set<StoreEnvironment> = [.production, .sandbox]
  let production: UnverifiedAppReceipt
  let sandbox: UnverifiedAppReceipt

  init() throws {
    production = try ReceiptVectors.receipt("production")
    sandbox = try UnverifiedAppReceipt(encoded: Fixtures.authority.get().signer.sign(Fixtures.receipt()))
  }

  static let purchase =
    #"{"transaction_id":"7","product_id":"com.example.issue7","purchase_date_ms":"1706030834000"}"#

  /// An answer that vouches for a receipt with one purchase.
  static func vouching(_ environment: String, status: Int = 0) -> String {
    """
    {"status":\(status),"environment":"\(environment)",
     "receipt":{"bundle_id":"com.example.pullbox","in_app":[\(purchase)]}}
    """
  }

  /// Puts `answers` in turn, the last one for ever, until there is a verdict.
  func ask(
    _ answers: String..., about receipt: UnverifiedAppReceipt? = nil,
    in environments: Set<StoreEnvironment> = both
  ) throws -> Talk {
    var conversation = VerifyReceiptFlow(
      about: receipt ?? production,
      policy: VerifyReceiptPolicy(bundleIdentifiers: ["com.example.pullbox"], environments: environments))
    var talk = Talk()
    var rest = answers[...]
    var step = conversation.start()
    while case .ask(let environment, let wait) = step {
      talk.questions.append(environment)
      talk.waits.append(wait)
      try #require(talk.questions.count < 20, "it would never end")
      let answer = try #require(rest.count > 1 ? rest.popFirst() : rest.first)
      step = conversation.handle(.response(try VerifyReceiptResponse(json: Array(answer.utf8))))
    }
    if case .finished(let verdict) = step { talk.verdict = verdict }
    return talk
  }

  @Test(
    "each status, answered again and again, ends as the table says, after as many questions",
    arguments: [
      (vouching("Production"), 1, .valid), (#"{"status":21000}"#, 1, .undetermined),
      (#"{"status":21001}"#, 1, .undetermined), (#"{"status":21002}"#, 4, .undetermined),
      (#"{"status":21003}"#, 1, .notAuthentic), (#"{"status":21004}"#, 1, .undetermined),
      (#"{"status":21005}"#, 4, .undetermined), (vouching("Production", status: 21006), 1, .valid),
      (#"{"status":21007}"#, 2, .wrongEnvironment), (#"{"status":21008}"#, 1, .wrongEnvironment),
      (#"{"status":21009}"#, 4, .undetermined),
      (#"{"environment":"Production","status":21010,"is_retryable":false}"#, 1, .valid),
      (#"{"status":21100}"#, 4, .undetermined), (#"{"status":21199}"#, 4, .undetermined),
      (#"{"status":21150,"is_retryable":true}"#, 4, .undetermined),
      (#"{"status":21150,"is-retryable":"1"}"#, 4, .undetermined),
      (#"{"status":21100,"is_retryable":false}"#, 1, .undetermined),
      (#"{"status":21199,"is-retryable":"0"}"#, 1, .undetermined),
      (#"{"status":21099}"#, 1, .undetermined), (#"{"status":21200}"#, 1, .undetermined),
      (#"{"status":21011}"#, 1, .undetermined), (#"{"status":-1}"#, 1, .undetermined),
      (#"{"status":"21003"}"#, 1, .notAuthentic),
    ] as [(String, Int, Ending)])
  func table(answer: String, questions: Int, ending: Ending) throws {
    let talk = try ask(answer)
    #expect(talk.ending == ending)
    #expect(talk.questions.count == questions)
  }

  @Test(
    "outside of 21100 to 21199 the store's word on retrying changes nothing",
    arguments: ["true", "false", #""1""#, #""0""#])
  func retryable(flag: String) throws {
    for (status, questions, ending) in [
      (21002, 4, Ending.undetermined), (21003, 1, .notAuthentic), (21004, 1, .undetermined),
      (21005, 4, .undetermined), (21009, 4, .undetermined), (21010, 1, .valid),
    ] {
      let talk = try ask(#"{"status":\#(status),"is_retryable":\#(flag)}"#)
      #expect(talk.ending == ending, "\(status)")
      #expect(talk.questions.count == questions, "\(status)")
    }
  }

  @Test("a store that cannot decide is asked three times more at most, after longer and longer waits")
  func patience() throws {
    let policy = VerifyReceiptPolicy(bundleIdentifiers: [], environments: [])
    #expect(policy.retryDelays.count == 3)
    #expect(policy.retryDelays == policy.retryDelays.sorted())
    #expect(policy.retryDelays.allSatisfy { $0 > .zero })
    let talk = try ask(#"{"status":21002}"#)
    #expect(talk.waits == [.zero] + policy.retryDelays)
    guard case .undetermined(let retryAfter, let reason) = talk.verdict else {
      Issue.record("a store's weakness became a verdict")
      return
    }
    #expect(retryAfter == policy.retryAfter)
    #expect(reason.contains("21002"))
  }

  @Test("21002, 21002, 0 ends well; so do all statuses that pass", arguments: [21002, 21005, 21009, 21100])
  func passing(status: Int) throws {
    let weak = #"{"status":\#(status)}"#
    let talk = try ask(weak, weak, Self.vouching("Production"))
    #expect(talk.ending == .valid)
    #expect(talk.questions == [.production, .production, .production])
  }

  @Test("a sandbox receipt goes to production, then once to the sandbox, and what it gives is tagged sandbox")
  func sandboxFallback() throws {
    let talk = try ask(#"{"status":21007}"#, Self.vouching("Sandbox"), about: sandbox)
    #expect(talk.questions == [.production, .sandbox])
    #expect(talk.waits == [.zero, .zero])
    #expect(talk.transactions?.map(\.environment) == [.sandbox])
  }

  @Test("after 21007 patience begins anew, and the verdict is that of the last answer")
  func afterFallback() throws {
    let weak = #"{"status":21002}"#
    let elsewhere = #"{"status":21007}"#
    let long = try ask(
      weak, weak, weak, elsewhere, weak, weak, weak, Self.vouching("Sandbox"), about: sandbox)
    #expect(long.ending == .valid)
    #expect(long.questions == Array(repeating: .production, count: 4) + Array(repeating: .sandbox, count: 4))
    for (last, ending) in [
      (#"{"status":21003}"#, Ending.notAuthentic), (#"{"status":21008}"#, .wrongEnvironment),
      (elsewhere, .wrongEnvironment), (#"{"status":21004}"#, .undetermined), (weak, .undetermined),
      (Self.vouching("Production"), .wrongEnvironment),
    ] {
      #expect(try ask(elsewhere, last, about: sandbox).ending == ending, "\(last)")
    }
  }

  @Test("one receipt's way to the sandbox does not lead the next one there")
  func noMemory() throws {
    for _ in 0..<2 {
      let talk = try ask(#"{"status":21007}"#, Self.vouching("Sandbox"), about: sandbox)
      #expect(talk.questions.first == .production)
    }
  }

  @Test("a policy without production never asks production, and one without the sandbox never the sandbox")
  func oneEnvironment() throws {
    for answer in [#"{"status":21007}"#, #"{"status":21008}"#, #"{"status":21002}"#, #"{"status":0}"#] {
      #expect(try ask(answer, in: [.sandbox]).questions.allSatisfy { $0 == .sandbox })
      #expect(try ask(answer, in: [.production]).questions.allSatisfy { $0 == .production })
    }
    #expect(try ask(#"{"status":21007}"#, in: [.sandbox]).ending == .wrongEnvironment)
    #expect(try ask(#"{"status":21007}"#, in: [.production]).ending == .wrongEnvironment)
    #expect(try ask(#"{"status":21008}"#, in: [.sandbox]).ending == .wrongEnvironment)
  }

  @Test("a genuine receipt counts only when it, the store and the policy name one environment")
  func environments() throws {
    #expect(try ask(Self.vouching("Production")).ending == .valid)
    #expect(try ask(Self.vouching("Sandbox")).ending == .wrongEnvironment)
    #expect(try ask(Self.vouching("Xcode")).ending == .wrongEnvironment)
    #expect(try ask(Self.vouching("Production"), in: [.sandbox]).ending == .wrongEnvironment)
    #expect(try ask(Self.vouching("Production"), about: sandbox).ending == .wrongEnvironment)
    #expect(try ask(Self.vouching("Sandbox"), about: sandbox, in: [.production]).ending == .wrongEnvironment)
  }

  @Test(
    "a receipt of a developer's own machine never counts, whatever a store says",
    arguments: ["LocalTesting", "Xcode", "", "production", "Beta"])
  func localReceipts(name: String) throws {
    var receipt = Fixtures.receipt()
    receipt.environmentName = name
    let local = try UnverifiedAppReceipt(encoded: Fixtures.authority.get().signer.sign(receipt))
    for answer in [
      Self.vouching("Production"), Self.vouching("Sandbox"), Self.vouching("Xcode"),
      Self.vouching("LocalTesting"), Self.vouching(""),
      #"{"status":0,"receipt":{"bundle_id":"com.example.pullbox","in_app":[\#(Self.purchase)]}}"#,
    ] {
      #expect(try ask(answer, about: local).ending == .wrongEnvironment, "\(answer)")
    }
  }

  @Test(
    "a valid receipt of another application is refused: before asking, and when the store names another one")
  func applications() throws {
    var conversation = VerifyReceiptFlow(
      about: production,
      policy: VerifyReceiptPolicy(bundleIdentifiers: ["com.example.other"], environments: Self.both))
    guard case .finished(.wrongApplication) = conversation.start() else {
      Issue.record("another application's receipt was asked about")
      return
    }
    let other = Self.vouching("Production").replacing("com.example.pullbox", with: "com.example.other")
    guard
      case .finished(.wrongApplication) = conversation.handle(.response(try .init(json: Array(other.utf8))))
    else {
      Issue.record("another application's receipt was accepted")
      return
    }
    for name in ["com.example.other", "com.example.pullbox2", "COM.EXAMPLE.PULLBOX", ""] {
      let answer = Self.vouching("Production").replacing("com.example.pullbox", with: name)
      #expect(try ask(answer).ending == .wrongApplication, "\(name)")
    }
  }

  @Test("status 0 without a receipt decides nothing, and one without purchases owns nothing")
  func emptyAnswers() throws {
    #expect(try ask(#"{"status":0,"environment":"Production"}"#).ending == .undetermined)
    for purchases in [#""in_app":[]"#, #""in_app":null"#, #""x":1"#] {
      let answer = """
        {"status":0,"environment":"Production","receipt":{"bundle_id":"com.example.pullbox",\(purchases)}}
        """
      let talk = try ask(answer)
      #expect(talk.ending == .valid)
      #expect(talk.transactions?.sold == [], "what the receipt itself claims does not count")
    }
  }

  @Test("an account that is gone owns nothing, whatever its receipt says")
  func accountGone() throws {
    let talk = try ask(#"{"environment":"Production","status":21010,"is_retryable":false}"#)
    #expect(talk.transactions == [])
    guard case .valid(let verified) = talk.verdict else { return }
    #expect(verified.receipt.purchases.isEmpty)
    #expect(!production.claims.purchases.isEmpty)
  }

  @Test("an old-style answer about a subscription that has ended is data, with the date of its end")
  func expiredSubscription() throws {
    let answer = """
      {"status":21006,"receipt":{"bid":"com.example.pullbox","product_id":"com.example.monthly",
       "quantity":"1","transaction_id":"1000000012345678","original_transaction_id":"1000000012345678",
       "purchase_date":"2011-11-01 10:00:00 Etc/GMT","purchase_date_ms":"1320141600000",
       "expires_date":"1322733600000","expires_date_formatted":"2011-12-01 10:00:00 Etc/GMT",
       "expires_date_formatted_pst":"2011-12-01 02:00:00 America/Los_Angeles","bvrs":"1.0",
       "item_id":"460000000"},
       "latest_expired_receipt_info":{"product_id":"com.example.monthly"},"auto_renew_status":0}
      """
    let transaction = try #require(try ask(answer).transactions?.first)
    #expect(transaction.expiresDate == Fixtures.moment("2011-12-01T10:00:00Z"))
    #expect(transaction.purchaseDate == Fixtures.moment("2011-11-01T10:00:00Z"))
    #expect(transaction.revokedDate == nil)
  }

  @Test(
    "entries are merged by transaction and put in the order of their purchase, in whatever order they come")
  func merging() throws {
    let entries = [("3", 3), ("1", 1), ("2", 2)].map { id, month in
      """
      {"transaction_id":"\(id)","original_transaction_id":"1","product_id":"com.example.monthly",
       "purchase_date":"2024-0\(month)-01 00:00:00 Etc/GMT"}
      """
    }
    let later = """
      {"transaction_id":"2","original_transaction_id":"1","product_id":"com.example.monthly",
       "purchase_date":"2024-02-01 00:00:00 Etc/GMT","cancellation_date_ms":"1706832000000",
       "cancellation_reason":"1"}
      """
    let head = """
      {"status":0,"environment":"Production","receipt":{"bundle_id":"com.example.pullbox","in_app":[
      """
    let list = try ask(
      head + "\(entries[2]),\(entries[1])]},\"latest_receipt_info\":[\(entries[0]),\(later)]}")
    #expect(list.transactions?.sold.map(\.id.description) == ["1", "2", "3"])
    #expect(
      list.transactions?.sold.map(\.revokedDate) == [nil, Fixtures.moment("2024-02-02T00:00:00Z"), nil])
    let object = try ask(head + "\(entries[1])]},\"latest_receipt_info\":\(later)}")
    #expect(object.transactions?.sold.map(\.id.description) == ["1", "2"])
  }

  @Test("a product that was refunded and bought again is two transactions, one of them revoked")
  func rebuy() throws {
    let answer = """
      {"status":0,"environment":"Production","receipt":{"bundle_id":"com.example.pullbox","in_app":[
       {"transaction_id":"2","product_id":"com.example.issue7","purchase_date_ms":"1706745600000"},
       {"transaction_id":"1","product_id":"com.example.issue7","purchase_date_ms":"1704067200000",
        "cancellation_date":"2024-01-10 00:00:00 Etc/GMT"}]}}
      """
    let transactions = try #require(try ask(answer).transactions).sold
    #expect(transactions.map(\.revokedDate) == [Fixtures.moment("2024-01-10T00:00:00Z"), nil])
    #expect(transactions.map(\.product.description) == ["com.example.issue7", "com.example.issue7"])
  }

  @Test(
    "no answer at all is undetermined at once, and the wait is the store's or the policy's"
  )
  func failures() throws {
    let policy = VerifyReceiptPolicy(bundleIdentifiers: ["com.example.pullbox"], environments: Self.both)
    for before in [[], [#"{"status":21002}"#], [#"{"status":21007}"#]] {
      var conversation = VerifyReceiptFlow(about: production, policy: policy)
      for answer in before {
        _ = conversation.handle(.response(try VerifyReceiptResponse(json: Array(answer.utf8))))
      }
      var other = conversation
      guard case .finished(let first) = conversation.handle(.failure(reason: "no route")),
        case .finished(let second) = other.handle(.failure(reason: "busy", retryAfter: .seconds(120)))
      else {
        Issue.record("a failure was asked about again")
        return
      }
      #expect(first == .undetermined(retryAfter: policy.retryAfter, reason: "no route"))
      #expect(second == .undetermined(retryAfter: .seconds(120), reason: "busy"))
    }
  }

  @Test(
    "whatever is answered, questions end and a verdict is what its last answer allows",
    arguments: 0..<10 as Range<UInt64>)
  func anySequence(seed: UInt64) throws {
    var generator = SplitMix(seed: seed)
    for _ in 0..<40 { try anySequence(using: &generator) }
  }

  func anySequence(using generator: inout SplitMix) throws {
    let statuses = [0, 21000, 21002, 21003, 21004, 21005, 21006, 21007, 21008, 21009, 21010, 21100, 21150]
    let environments: Set<StoreEnvironment> =
      [Self.both, [.production], [.sandbox]].randomElement(using: &generator) ?? []
    let receipt = Bool.random(using: &generator) ? production : sandbox
    var conversation = VerifyReceiptFlow(
      about: receipt,
      policy: VerifyReceiptPolicy(bundleIdentifiers: ["com.example.pullbox"], environments: environments))
    var step = conversation.start()
    var last = 0
    var answering = ""
    var questions: [StoreEnvironment] = []
    while case .ask(let environment, _) = step {
      questions.append(environment)
      try #require(questions.count <= 8)
      last = statuses.randomElement(using: &generator) ?? 0
      answering = Bool.random(using: &generator) ? "Production" : "Sandbox"
      let body = [0, 21006].contains(last) ? Self.vouching(answering, status: last) : #"{"status":\#(last)}"#
      step = conversation.handle(.response(try VerifyReceiptResponse(json: Array(body.utf8))))
    }
    #expect(Set(questions).isSubset(of: environments))
    #expect(zip(questions, questions.dropFirst()).allSatisfy { $0 == $1 || $1 == .sandbox })
    guard case .finished(let verdict) = step else { return }
    switch verdict {
    case .valid(let verified):
      #expect([0, 21006, 21010].contains(last))
      let named: Set<StoreEnvironment> = Set(verified.transactions(store: .apple).map(\.environment))
      #expect(named.isSubset(of: environments))
      if last != 21010 { #expect(receipt.claims.environment?.rawValue == answering) }
    case .notAuthentic: #expect(last == 21003)
    case .wrongEnvironment: #expect([0, 21006, 21007, 21008].contains(last))
    case .undetermined: #expect(![0, 21003, 21006, 21007, 21008, 21010].contains(last))
    case .malformed, .wrongApplication: Issue.record("no answer said so")
    }
  }
}
