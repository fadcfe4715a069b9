import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentGrants
@testable import DeliveryRecords

@Suite("How a transaction stands by all that was said of it")
struct TransactionStandingTests {
  private typealias Word = TransactionStanding.StoreWord
  private typealias Decision = TransactionStanding.OperatorWord

  private func time(_ seconds: Int64) -> Timestamp { Timestamp(millisecondsSinceEpoch: seconds * 1000) }

  private func good(_ asOf: Int64) -> TransactionStanding.Statement {
    .store(Word(asOf: time(asOf), revoked: nil))
  }

  private func refund(_ date: Int64, asOf: Int64) -> TransactionStanding.Statement {
    .store(Word(asOf: time(asOf), revoked: time(date)))
  }

  private func revoke(_ asOf: Int64) -> TransactionStanding.Statement {
    .operator(Decision(asOf: time(asOf), decision: .revoke))
  }

  private func reinstate(_ asOf: Int64, excusing date: Int64? = nil) -> TransactionStanding.Statement {
    .operator(Decision(asOf: time(asOf), decision: .reinstate(excusing: date.map(time))))
  }

  private func standing(_ statements: some Sequence<TransactionStanding.Statement>) -> TransactionStanding {
    var standing = TransactionStanding()
    for statement in statements { standing.merge(statement) }
    return standing
  }

  @Test(
    "a store's later word counts, an earlier one says nothing, and of two of one moment the one that revokes")
  func storeWords() {
    #expect(standing([]).revocation == nil)
    #expect(standing([good(1), refund(2, asOf: 3)]).revocation == .store)
    #expect(standing([refund(2, asOf: 3), good(1)]).revocation == .store)
    #expect(standing([refund(2, asOf: 3), good(3)]).revocation == .store)
    #expect(standing([refund(2, asOf: 3), good(4)]).revocation == nil)
    #expect(standing([refund(2, asOf: 3), good(4), refund(5, asOf: 6)]).revocation == .store)
  }

  @Test(
    "an operator's word yields to an operator's later word, and to a refund of a later date than the one it was about"
  )
  func operatorWords() {
    #expect(standing([revoke(1), good(9)]).revocation == .operator)
    #expect(standing([revoke(1), reinstate(2), good(9)]).revocation == nil)
    #expect(standing([reinstate(2), revoke(1)]).revocation == nil)
    #expect(standing([refund(2, asOf: 3), reinstate(4, excusing: 2)]).revocation == nil)
    #expect(standing([reinstate(4, excusing: 2), refund(2, asOf: 9)]).revocation == nil)
    #expect(standing([reinstate(4, excusing: 2), refund(5, asOf: 9)]).revocation == .store)
    // Given back before any refund was known: what comes to light later was not decided about.
    #expect(standing([revoke(1), reinstate(4), refund(2, asOf: 9)]).revocation == .store)
  }

  @Test("an operator decides about what is known, and later than before also where the clock was set back")
  func deciding() {
    var standing = standing([refund(2, asOf: 3)])
    standing.decide(false, at: time(10))
    #expect(standing.operatorWord?.decision == .reinstate(excusing: time(2)))
    #expect(standing.revocation == nil)
    standing.decide(true, at: time(5))
    #expect(standing.revocation == .operator)
    standing.decide(false, at: time(5))
    #expect(standing.revocation == nil)
  }

  /// Statements of few moments, so that many are of one.
  private func statement(_ random: inout SplitMix) -> TransactionStanding.Statement {
    let moment = Int64.random(in: 1...6, using: &random)
    let date = Int64.random(in: 1...6, using: &random)
    return switch Int.random(in: 0..<5, using: &random) {
    case 0, 1: good(moment)
    case 2: refund(min(date, moment), asOf: moment)
    case 3: revoke(moment)
    default: reinstate(moment, excusing: Bool.random(using: &random) ? date : nil)
    }
  }

  @Test("merging is commutative, associative and idempotent")
  func laws() {
    var random = SplitMix(seed: 12)
    func merged(_ left: TransactionStanding, _ right: TransactionStanding) -> TransactionStanding {
      var merged = left
      merged.merge(right)
      return merged
    }
    for _ in 0..<2000 {
      let (a, b, c) = (
        standing([statement(&random), statement(&random)]), standing([statement(&random)]),
        standing([statement(&random), statement(&random)])
      )
      #expect(merged(a, b) == merged(b, a))
      #expect(merged(merged(a, b), c) == merged(a, merged(b, c)))
      #expect(merged(a, a) == a)
      #expect(merged(merged(a, b), b) == merged(a, b))
    }
  }

  @Test(
    "a thousand orders of receipts, old receipts, notifications and operators end as in the order of their dates"
  )
  func orders() {
    var random = SplitMix(seed: 2013)
    for _ in 0..<1000 {
      let statements = (0..<Int.random(in: 2...9, using: &random)).map { _ in statement(&random) }
      let sorted = statements.sorted { $0.asOf < $1.asOf }
      #expect(standing(statements.shuffled(using: &random)) == standing(sorted))
      #expect(standing(statements + statements.shuffled(using: &random)) == standing(sorted))
    }
  }

  @Test("in whatever order proofs arrive, the database ends with the same grants revoked")
  func database() async throws {
    let (store, file) = (StoreIdentifier.sandbox, try StateFile())
    let database = try file.open()
    let grants = GrantStore(database: database, clock: ManualWallClock(time(100)))
    var random = SplitMix(seed: 16)
    for number in 0..<60 {
      let id = try #require(TransactionIdentifier("t-\(number)"))
      let product = try #require(ProductIdentifier("com.example.a"))
      let words = (0..<4).map { _ -> Word in
        let moment = Int64.random(in: 1...6, using: &random)
        return Word(asOf: time(moment), revoked: Bool.random(using: &random) ? time(moment) : nil)
      }
      let transactions = words.map { word in
        VerifiedTransaction(
          vouchedForBy: store, in: .sandbox, id: id, originalID: id, product: product,
          purchaseDate: time(0), revokedDate: word.revoked, asOf: word.asOf)
      }
      let record = GrantRecord(
        id: try #require(GrantIdentifier(RandomBytes.make(16))),
        handle: .make(at: Timestamp(millisecondsSinceEpoch: 0)), store: store,
        environment: .sandbox,
        transaction: id, product: product, version: try #require(ContentVersion("1.0")),
        device: try #require(DeviceIdentifier("d")), publicKey: nil, renewalDigest: nil, digest: .of([1]),
        length: ByteCount(1), manifestDigest: .of([2]), machine: GrantMachine(), created: time(0))
      let first = Word(asOf: time(0))
      try await database.write(locking: [.everything]) { connection in
        try GrantTable.insert(record, in: connection)
        try TransactionTable.setWord(first, on: record.transactionKey, in: connection)
      }
      let last = try #require(words.max())
      for transaction in transactions.shuffled(using: &random) {
        _ = try await grants.record([transaction], by: .init()) { _ in }
      }
      let again = try await grants.record(transactions, by: .init()) { _ in
        Issue.record("nothing is new")
      }
      #expect(again.transactions.allSatisfy { $0.revokedDate == last.revoked && $0.asOf == last.asOf })
      let state = try await database.read { try GrantTable.find(record.id, in: $0)?.machine.name }
      #expect(state == (last.revoked == nil ? .granted : .revoked), "\(words)")
    }
  }

  /// The statements that reach a server about one transaction, in the order in which they do.
  private struct Course {
    enum Step {
      case receipt(Word)
      case notification(Word)
      case operatorRevokes
    }

    let grant: GrantRecord
    let steps: [Step]
    let isRevoked: Bool
  }

  /// Moments are hours apart: what a receipt says is not written down where it is hardly later than what is known.
  private func course(_ number: Int, _ random: inout SplitMix) throws -> Course {
    let moments = Array(1...9).shuffled(using: &random).prefix(Int.random(in: 2...5, using: &random))
    let words = moments.map { moment in
      let date = time(Int64(moment) * 7200)
      return Word(asOf: date, revoked: Bool.random(using: &random) ? date : nil)
    }
    var steps = words.map { Bool.random(using: &random) ? Course.Step.receipt($0) : .notification($0) }
    let hasOperator = Bool.random(using: &random)
    if hasOperator { steps.append(.operatorRevokes) }
    let latest = try #require(words.max())
    return Course(
      grant: GrantRecord(
        id: try #require(GrantIdentifier(RandomBytes.make(16))), handle: .make(at: time(Int64(number))),
        store: .sandbox, environment: .sandbox,
        transaction: try #require(TransactionIdentifier("t-\(number)")),
        product: try #require(ProductIdentifier("com.example.a")),
        version: try #require(ContentVersion("1.0")),
        device: try #require(DeviceIdentifier("d")), publicKey: nil, renewalDigest: nil, digest: .of([1]),
        length: ByteCount(1), manifestDigest: .of([2]), machine: GrantMachine(), created: time(0)),
      steps: steps.shuffled(using: &random), isRevoked: hasOperator || latest.revoked != nil)
  }

  @Test(
    "a thousand orders of fresh receipts, old ones, notifications and an operator end in the database as in the order of their dates",
    .timeLimit(.minutes(2)))
  func everySource() async throws {
    let file = try StateFile()
    let database = try file.open()
    let grants = GrantStore(database: database, clock: ManualWallClock(time(100_000)))
    var random = SplitMix(seed: 23)
    let courses = try (0..<1000).map { try course($0, &random) }
    try await database.write(locking: [.everything]) { connection in
      for course in courses {
        try GrantTable.insert(course.grant, in: connection)
        try TransactionTable.setWord(
          Word(asOf: time(0)), on: course.grant.transactionKey, in: connection)
      }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, course) in courses.enumerated() {
        if number >= 32 { try await group.next() }
        group.addTask { try await Self.run(course, by: grants) }
      }
      try await group.waitForAll()
    }
    let revoked = Set(try await database.read { try GrantTable.revoked(in: $0) })
    for course in courses {
      #expect(revoked.contains(course.grant.handle) == course.isRevoked, "\(course.steps)")
    }
    #expect((200..<950).contains(revoked.count), "both ends are common")
  }

  private static func run(_ course: Course, by grants: GrantStore) async throws {
    let grant = course.grant
    func record(_ word: Word, by rule: GrantStore.LedgerRule) async throws {
      let told = VerifiedTransaction(
        vouchedForBy: grant.store, in: grant.environment, id: grant.transaction,
        originalID: grant.transaction, product: grant.product, purchaseDate: grant.created,
        revokedDate: word.revoked, asOf: word.asOf)
      _ = try await grants.record([told], by: rule) { _ in }
    }
    for step in course.steps {
      switch step {
      case .receipt(let word): try await record(word, by: .answer())
      case .notification(let word): try await record(word, by: GrantStore.LedgerRule())
      case .operatorRevokes:
        _ = try await grants.setRevoked(
          true, of: grant.handle.shortName, by: "operator", reason: nil
        ) { _ in }
      }
    }
  }
}

extension TransactionStanding.Statement {
  fileprivate var asOf: Timestamp {
    switch self {
    case .store(let word): word.asOf
    case .operator(let word): word.asOf
    }
  }
}
