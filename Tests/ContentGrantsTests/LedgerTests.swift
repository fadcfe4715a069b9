import Commerce
import CoreTypes
import Database
import DeliveryModel
import DeliverySchema
import DeliveryTesting
import PullboxAPI
import PullboxTesting
import Testing

@testable import ContentGrants
@testable import DeliveryRecords
@testable import PaymentStores

@Suite("The ledger of verified transactions, and whose they are")
struct LedgerTests {
  private let file: StateFile
  private let database: Database
  private let clock = ManualWallClock(Timestamp(millisecondsSinceEpoch: 1_795_249_800_000))

  init() throws {
    file = try StateFile()
    database = try file.open()
  }

  private var grants: GrantStore { GrantStore(database: database, clock: clock) }

  private func key(_ id: String, _ environment: StoreEnvironment = .production) throws -> TransactionKey {
    TransactionKey(store: .apple, environment: environment, id: try #require(TransactionIdentifier(id)))
  }

  private func purchase(
    _ id: String, original: String? = nil, account: String? = nil,
    in environment: StoreEnvironment = .production, revoked: Int64? = nil,
    acknowledgement: Acknowledgement? = nil, asOf seconds: Int64 = 10
  ) throws -> VerifiedTransaction {
    VerifiedTransaction(
      vouchedForBy: .apple, in: environment, id: try #require(TransactionIdentifier(id)),
      originalID: try #require(TransactionIdentifier(original ?? id)),
      product: try #require(ProductIdentifier("com.example.a")),
      purchaseDate: Timestamp(millisecondsSinceEpoch: 1000),
      expiresDate: Timestamp(millisecondsSinceEpoch: 90_000),
      graceExpiresDate: Timestamp(millisecondsSinceEpoch: 95_000),
      revokedDate: revoked.map { Timestamp(millisecondsSinceEpoch: $0 * 1000) }, quantity: 2,
      price: Price(amount: "2.99", currency: "EUR"), account: account.flatMap { ApplicationAccount($0) },
      acknowledgement: acknowledgement, asOf: Timestamp(millisecondsSinceEpoch: seconds * 1000))
  }

  @discardableResult
  private func record(
    _ transactions: VerifiedTransaction..., by rule: GrantStore.LedgerRule = .init(joinsAccounts: true),
    device: String? = nil
  ) async throws -> [VerifiedTransaction] {
    let device = try device.map { try #require(DeviceIdentifier($0)) }
    return try await grants.record(transactions, by: rule, shownBy: device) { _ in }.transactions
  }

  private func customer(
    of id: String, _ environment: StoreEnvironment = .production
  ) async throws -> CustomerIdentifier {
    let key = try key(id, environment)
    return try #require(try await database.read { try LedgerTable.find(key, in: $0)?.customer })
  }

  private func ids(of customer: CustomerIdentifier) async throws -> Set<String> {
    Set(
      try await database.read { try LedgerTable.transactions(of: customer, in: $0).map(\.id.description) })
  }

  /// Rows that statements have changed.
  private func changes() async throws -> Int64 {
    try await database.write(locking: [.everything]) {
      try #require(try $0.first("SELECT total_changes() AS count")).integer("count")
    }
  }

  @Test("a transaction is kept as its store told it")
  func kept() async throws {
    let told = try purchase("1", account: "ada")
    try await record(told)
    let key = try key("1")
    #expect(try await database.read { try LedgerTable.find(key, in: $0)?.transaction } == told)
  }

  @Test("how a store is told of the delivery is kept, and the later word on when that is due counts")
  func acknowledgement() async throws {
    let told = try purchase("1", acknowledgement: .init(.consume, reference: "token", deadline: date(60)))
    try await record(told)
    let key = try key("1")
    #expect(
      try await database.read { try LedgerTable.acknowledgement(of: key, in: $0) } == told.acknowledgement)
    // A statement that does not tell leaves it, and one that it was done ends it.
    try await record(try purchase("1", asOf: 20))
    #expect(
      try await database.read { try LedgerTable.acknowledgement(of: key, in: $0) } == told.acknowledgement)
    let done = Acknowledgement(.consume, reference: "token", deadline: nil)
    try await record(try purchase("1", acknowledgement: done, asOf: 30))
    try await record(told)
    #expect(try await database.read { try LedgerTable.acknowledgement(of: key, in: $0) } == done)
  }

  private func date(_ seconds: Int64) -> Timestamp { Timestamp(millisecondsSinceEpoch: seconds * 1000) }

  @Test("of two statements the later one counts, and what only one tells is kept")
  func later() async throws {
    let bare = try purchase("1", asOf: 20)
    try await record(bare)
    try await record(try purchase("1", account: "ada", revoked: 15, asOf: 15))
    let key = try key("1")
    let kept = try #require(try await database.read { try LedgerTable.find(key, in: $0)?.transaction })
    #expect(kept.revokedDate == nil)
    #expect(kept.asOf == bare.asOf)
    #expect(kept.account == ApplicationAccount("ada"))
  }

  @Test(
    "the same number in the other environment is another transaction, with a word and a customer of its own")
  func environments() async throws {
    try await record(try purchase("1", account: "ada"))
    try await record(try purchase("1", account: "ada", in: .sandbox, revoked: 5))
    let (paid, played) = (try key("1"), try key("1", .sandbox))
    let words = try await database.read {
      (try TransactionTable.word(on: paid, in: $0), try TransactionTable.word(on: played, in: $0))
    }
    #expect(words.0?.revoked == nil)
    #expect(words.1?.revoked != nil)
    let one = try await customer(of: "1")
    #expect(try await customer(of: "1", .sandbox) != one)
  }

  @Test(
    "an answer that tells nothing new writes nothing until an hour has passed, and a notification is exact",
    .enabled(
      if: TestDatabase.options.rehearsal == .none, "what is counted counts twice where bodies run twice"),
    .enabled(if: !TestDatabase.isOnServer))
  func nothingNew() async throws {
    try await record(try purchase("1"), by: .answer(), device: "d")
    let before = try await changes()
    try await record(try purchase("1", asOf: 3600), by: .answer(), device: "d")
    #expect(try await changes() == before)
    try await record(try purchase("1", asOf: 3611), by: .answer(), device: "d")
    #expect(try await changes() == before + 1)
    try await record(try purchase("1", asOf: 3612))
    #expect(try await changes() == before + 2)
    clock.advance(by: CustomerTable.deviceFreshness)
    try await record(try purchase("1", asOf: 3612), by: .answer(), device: "d")
    #expect(try await changes() == before + 3)
  }

  @Test("a renewal is the customer's of the first purchase, whichever comes first")
  func renewals() async throws {
    try await record(try purchase("2", original: "1"))
    try await record(try purchase("1"))
    try await record(try purchase("3", original: "1"))
    #expect(try await ids(of: try await customer(of: "1")) == ["1", "2", "3"])
  }

  @Test("customers who turn out to be one are one, with all their devices, and both names lead there")
  func merge() async throws {
    try await record(try purchase("1"), device: "old")
    try await record(try purchase("2"), device: "new")
    let names = [try await customer(of: "1"), try await customer(of: "2")]
    #expect(names[0] != names[1])
    try await record(try purchase("1"), try purchase("2"), device: "old")
    for name in names { #expect(try await ids(of: name) == ["1", "2"]) }
    let devices = try await database.read {
      try CustomerTable.devices(of: names[1], limit: 10, in: $0).map(\.device.description)
    }
    #expect(Set(devices) == ["old", "new"])

    // A third that is found later redirects both.
    try await record(try purchase("3"))
    let third = try await customer(of: "3")
    try await record(try purchase("3"), try purchase("1"))
    for name in names + [third] { #expect(try await ids(of: name) == ["1", "2", "3"]) }
  }

  @Test(
    "purchases of one application account are one customer's, those of two in one proof are two customers'")
  func accounts() async throws {
    try await record(try purchase("1", account: "ada"))
    try await record(try purchase("2", account: "ada"))
    let ada = try await customer(of: "1")
    #expect(try await ids(of: ada) == ["1", "2"])
    try await record(
      try purchase("2", account: "ada"), try purchase("3", account: "ben"),
      try purchase("4", original: "3"), try purchase("5"))
    let ben = try await customer(of: "3")
    #expect(try await ids(of: ada) == ["1", "2"])
    #expect(try await ids(of: ben) == ["3", "4"])
    let other = try await customer(of: "5")
    #expect(other != ada && other != ben)
    // A proof that names no account joins none of the two.
    try await record(try purchase("1"), try purchase("3"))
    #expect(try await ids(of: ada) == ["1", "2"])
    #expect(try await ids(of: ben) == ["3", "4"])
  }

  @Test("a later receipt, which names no accounts, moves no account's purchase to another customer")
  func receiptWithoutAccounts() async throws {
    try await record(try purchase("1", account: "ada"))
    try await record(try purchase("2", account: "ben"))
    let (ada, ben) = (try await customer(of: "1"), try await customer(of: "2"))
    #expect(ada != ben)
    try await record(try purchase("1", asOf: 20), try purchase("2", asOf: 20))
    #expect(try await ids(of: ada) == ["1"])
    #expect(try await ids(of: ben) == ["2"])
  }

  private func revision(
    _ said: VerifiedTransaction, after recorded: VerifiedTransaction
  ) -> VerifiedTransaction {
    LedgerRevision(
      of: said, word: .init(asOf: recorded.asOf, revoked: nil), recorded: recorded, freshness: .zero
    ).transaction
  }

  private func period(
    expires: Int64 = 90_000, grace: Int64? = nil, license: Int64? = nil, tellsLicenses: Bool = false,
    asOf: Int64
  ) throws -> VerifiedTransaction {
    VerifiedTransaction(
      vouchedForBy: .apple, in: .production, id: try #require(TransactionIdentifier("1")),
      originalID: try #require(TransactionIdentifier("1")),
      product: try #require(ProductIdentifier("com.example.a")),
      purchaseDate: Timestamp(millisecondsSinceEpoch: 1000),
      expiresDate: Timestamp(millisecondsSinceEpoch: expires),
      graceExpiresDate: grace.map { Timestamp(millisecondsSinceEpoch: $0) },
      licenseEndDate: license.map { Timestamp(millisecondsSinceEpoch: $0) },
      licenseAsOf: tellsLicenses ? Timestamp(millisecondsSinceEpoch: asOf) : nil,
      asOf: Timestamp(millisecondsSinceEpoch: asOf))
  }

  @Test("a later statement of a store that would not tell of a refund takes none back; one that would does")
  func silentOnRefunds() throws {
    let sold = try period(asOf: 10)
    let refunded = Timestamp(millisecondsSinceEpoch: 15)
    let recorded = sold.revised(revokedDate: refunded, asOf: Timestamp(millisecondsSinceEpoch: 20))
    func revision(tellsRefunds: Bool) -> LedgerRevision {
      let said = VerifiedTransaction(
        vouchedForBy: sold.store, in: sold.environment, id: sold.id, originalID: sold.originalID,
        product: sold.product, purchaseDate: sold.purchaseDate, expiresDate: sold.expiresDate,
        asOf: Timestamp(millisecondsSinceEpoch: 30), tellsRefunds: tellsRefunds)
      return LedgerRevision(
        of: said, word: .init(asOf: recorded.asOf, revoked: refunded), recorded: recorded, freshness: .zero)
    }
    let silent = revision(tellsRefunds: false)
    #expect(silent.transaction.revokedDate == refunded && !silent.isRevocationNews)
    #expect(silent.transaction.asOf == Timestamp(millisecondsSinceEpoch: 30))
    let reversed = revision(tellsRefunds: true)
    #expect(reversed.transaction.revokedDate == nil && reversed.isRevocationNews)
  }

  @Test(
    "of two statements of one moment the one by which the service ends earlier counts, in whatever order they come"
  )
  func oneMoment() throws {
    let long = try period(expires: 90_000, asOf: 10)
    let short = try period(expires: 50_000, asOf: 10)
    let graceful = try period(expires: 50_000, grace: 95_000, asOf: 10)
    for (said, recorded) in [(long, short), (short, long)] {
      let merged = revision(said, after: recorded)
      #expect(merged.expiresDate == short.expiresDate && merged.asOf == short.asOf)
    }
    // What only one of them tells is kept all the same.
    for (said, recorded) in [(graceful, short), (short, graceful)] {
      #expect(revision(said, after: recorded).graceExpiresDate == graceful.graceExpiresDate)
    }
    // A later statement extends the period again.
    let extended = try period(expires: 99_000, asOf: 11)
    #expect(revision(extended, after: short).expiresDate == extended.expiresDate)
    #expect(revision(short, after: extended).expiresDate == extended.expiresDate)
  }

  @Test(
    "a purchase that another one replaced ends there, though both were asked about in the same millisecond")
  func replacedInOneMoment() async throws {
    let read = try purchase("1", asOf: 20)
    let ended = read.ended(at: date(50), asOf: read.asOf)
    let key = try key("1")
    // The answer about the token that was replaced comes before the other one, and after it.
    try await record(read)
    for said in [ended, read] {
      try await record(said)
      let kept = try #require(try await database.read { try LedgerTable.find(key, in: $0)?.transaction })
      #expect(kept.expiresDate == date(50) && kept.asOf == read.asOf)
    }
  }

  @Test("a purchase that another one replaced says nothing of a refund that was heard of since it was read")
  func refundedWhileReplaced() async throws {
    let read = try purchase("1", asOf: 8)
    try await record(read)
    try await record(try purchase("1", revoked: 9, asOf: 9))
    try await record(read.ended(at: date(10), asOf: date(10)))
    let key = try key("1")
    let kept = try #require(try await database.read { try LedgerTable.find(key, in: $0)?.transaction })
    #expect(kept.revokedDate == date(9))
    #expect(kept.expiresDate == date(10))
  }

  @Test(
    "a later statement that knows of no grace and no license leaves both; one that moves the period's end ends the grace"
  )
  func graceAndLicense() throws {
    let recorded = try period(grace: 95_000, license: 80_000, asOf: 10)
    let same = revision(try period(asOf: 20), after: recorded)
    #expect(same.asOf == Timestamp(millisecondsSinceEpoch: 20))
    #expect(same.graceExpiresDate == recorded.graceExpiresDate)
    #expect(same.licenseEndDate == recorded.licenseEndDate)
    let moved = revision(try period(expires: 99_000, asOf: 20), after: recorded)
    #expect(moved.graceExpiresDate == nil)
    let other = revision(try period(grace: 97_000, license: 70_000, asOf: 20), after: recorded)
    #expect(other.graceExpiresDate == Timestamp(millisecondsSinceEpoch: 97_000))
    #expect(other.licenseEndDate == Timestamp(millisecondsSinceEpoch: 70_000))
    // The earlier statement may be the one that knows, and come last.
    #expect(revision(recorded, after: try period(asOf: 20)).graceExpiresDate == recorded.graceExpiresDate)
  }

  @Test(
    "of statements that tell of licenses the latest counts, also that there is none, in whatever order they come"
  )
  func licenses() throws {
    let withdrawn = try period(license: 80_000, tellsLicenses: true, asOf: 10)
    let given = try period(tellsLicenses: true, asOf: 20)
    let again = try period(license: 95_000, tellsLicenses: true, asOf: 40)
    let silent = [try period(asOf: 5), try period(asOf: 30)]
    func ends(_ said: [VerifiedTransaction]) -> Set<Int64?> {
      var ends: Set<Int64?> = []
      for first in said.indices {
        for second in said.indices where second != first {
          let rest = said.indices.filter { $0 != first && $0 != second }
          for order in [rest, rest.reversed()] {
            let state = ([second] + order).reduce(said[first]) { revision(said[$1], after: $0) }
            ends.insert(state.licenseEndDate?.millisecondsSinceEpoch)
          }
        }
      }
      return ends
    }
    #expect(ends([withdrawn] + silent) == [80_000])
    #expect(ends([withdrawn, given] + silent) == [nil])
    #expect(ends([withdrawn, given, again, silent[1]]) == [95_000])
  }

  @Test(
    "a statement that repeats what is known of a license is news once it is later than the rule's freshness")
  func freshLicense() throws {
    let recorded = try period(tellsLicenses: true, asOf: 10)
    func isNews(_ said: VerifiedTransaction) -> Bool {
      LedgerRevision(
        of: said, word: .init(asOf: recorded.asOf, revoked: nil), recorded: recorded,
        freshness: .milliseconds(50)
      ).isNews
    }
    #expect(!isNews(try period(tellsLicenses: true, asOf: 60)))
    #expect(isNews(try period(tellsLicenses: true, asOf: 61)))
    #expect(isNews(try period(license: 80_000, tellsLicenses: true, asOf: 20)))
  }

  @Test("where accounts are not joined, purchases that name one are the customers' of their own proofs")
  func separate() async throws {
    let rule = GrantStore.LedgerRule()
    try await record(try purchase("1", account: "ada"), try purchase("2", account: "ada"), by: rule)
    try await record(try purchase("3", account: "ada"), by: rule)
    try await record(try purchase("4", original: "3", account: "ada"), by: rule)
    #expect(try await ids(of: try await customer(of: "1")) == ["1", "2"])
    #expect(try await ids(of: try await customer(of: "3")) == ["3", "4"])
  }

  @Test(
    "a transaction that was never heard of is left to its first grant where an answer says so, a refund is not"
  )
  func leftToGrant() async throws {
    let rule = GrantStore.LedgerRule.answer(takesNew: false)
    try await record(try purchase("1"), by: rule)
    try await record(try purchase("2", revoked: 5), by: rule)
    let keys = [try key("1"), try key("2")]
    let found = try await database.read { connection in
      try keys.map { try LedgerTable.find($0, in: connection)?.transaction.revokedDate }
    }
    #expect(found[0] == nil)
    #expect(found[1] == Timestamp(millisecondsSinceEpoch: 5000))
  }

  @Test("grants, debts and calls of before count as of the sandbox", .enabled(if: !TestDatabase.isOnServer))
  func migration() throws {
    let file = try StateFile()
    let old = try file.open(Array(Migrations.all.prefix(15)))
    try old.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        """
        INSERT INTO grants (id, handle, store, transaction_id, product, version, device, digest, length, manifest_digest,
          state, created)
        VALUES ('a', x'00', 'apple', 't', 'p', '1.0', 'd', zeroblob(32), 1, zeroblob(32), 'granted', 1000)
        """)
      try connection.execute("INSERT INTO transactions VALUES ('apple', 't', 7, 6)")
      try connection.execute("INSERT INTO obligations VALUES ('apple', 't', 'd', 'p')")
      try connection.execute(
        "INSERT INTO outbox (store, kind, subject, next_attempt, created) VALUES ('apple', 'finish', 't', 0, 1)"
      )
    }
    old.close()
    let database = try file.open()
    defer { database.close() }
    let tables = ["grants", "transactions", "obligations", "outbox"]
    let environments = try database.readBlocking { connection in
      try tables.map { try connection.first("SELECT environment FROM \($0)")?.text("environment") }
    }
    #expect(environments == Array(repeating: "Sandbox", count: 4))
    let counts = try database.readBlocking { try CounterTable.grants(in: $0).filter { $0.count > 0 } }
    #expect(counts == [CounterTable.GrantCount(state: "granted", environment: "Sandbox", count: 1)])
    let calls = try database.readBlocking { try OutboxTable.counts(in: $0).map(\.waiting) }
    #expect(calls == [1])
  }
}
