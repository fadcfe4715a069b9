import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryTesting
import PullboxAPI
import PullboxTesting
import Receipts
import ServiceAPI
import Testing

@testable import ContentDelivery
@testable import ContentGrants
@testable import DeliveryRecords
@testable import DeliveryService

@Suite("What is forgotten, and what is not")
struct RetentionTests {
  private let file: StateFile
  private let database: Database
  private let clock = ManualWallClock(Timestamp(millisecondsSinceEpoch: 1_790_000_000_000))
  private let rules = Retention.Rules(history: .seconds(100), calls: .seconds(10), proofs: .seconds(10))

  init() throws {
    file = try StateFile()
    database = try file.open()
  }

  private var grants: GrantStore { GrantStore(database: database, clock: clock) }

  private func retain(_ rules: Retention.Rules? = nil) async throws {
    try await Retention(database: database, clock: clock, rules: rules ?? self.rules).run()
  }

  /// A grant of a product of its own to a device of its own.
  private func grant(_ name: String, transaction: String) async throws -> GrantRecord {
    let product = try #require(ProductIdentifier("com.example.\(name)"))
    let content = ReleasedContent(
      product: product, version: try #require(ContentVersion("1.0")), digest: .of(Array(name.utf8)),
      length: .zero, manifestDigest: .of([1]), cover: nil)
    let basis = GrantStore.Basis(
      transaction: .sandbox(try #require(TransactionIdentifier(transaction)), content.product),
      content: content, owed: [])
    let device = Device(id: try #require(DeviceIdentifier(name)), publicKey: key.verificationKey)
    let now = clock.now()
    let issued = try await database.write(locking: [.everything]) { connection in
      try #require(try GrantStore.grants(on: [basis], to: device, at: now, in: connection).first).get()
    }
    return issued.grant
  }

  private let key = SigningKey()

  private func complete(_ grant: GrantRecord) async throws -> GrantStore.CompletionOutcome {
    let report = CompletionReport(
      digest: grant.digest, version: grant.version, length: grant.length, placedAt: clock.now(),
      grant: grant.id,
      device: grant.device)
    let store = grants
    let outcome = try await store.complete(
      try await store.completionBasis(of: grant.id),
      with: .signed(try JSONWebSignature(signing: APIJSON.encode(report), with: key)),
      for: GrantCredential(evidence: .nothing, method: "POST", path: ""),
      lease: OutboxLease(
        holder: "a", now: clock.now(), until: clock.now() + .seconds(120), stores: [.sandbox]))
    return try #require(outcome)
  }

  @discardableResult
  private func finish(_ grant: GrantRecord) async throws -> Int64 {
    let entry = try #require(try await complete(grant).outbox)
    try await grants.accepted(entry)
    return entry.id
  }

  private func history(_ grant: GrantRecord) async throws -> [GrantState] {
    try await database.read { try GrantTable.history(of: grant.number, in: $0).map(\.state) }
  }

  private func count(_ table: String) async throws -> Int64 {
    try await database.read { try $0.first("SELECT count(*) AS n FROM \(table)")?.integer("n") ?? -1 }
  }

  @Test("histories of finished grants go when they are old; those of others stay, however many lie before")
  func events() async throws {
    let live = try await grant("live", transaction: "1")
    for number in 0..<RetentionTable.batch {
      _ = try await grant("live\(number)", transaction: "live\(number)")
    }
    let finished = try await grant("finished", transaction: "2")
    try await finish(finished)
    #expect(try await history(finished) == [.granted, .completed, .finished])
    clock.advance(by: .seconds(99))
    let young = try await grant("young", transaction: "3")
    try await finish(young)
    try await retain()
    #expect(try await history(finished).count == 3)
    clock.advance(by: .seconds(2))
    try await retain()
    #expect(try await history(finished).isEmpty)
    #expect(try await grants.find(finished.id).machine.name == .finished)
    #expect(try await history(live) == [.granted])
    #expect(try await history(young).count == 3)
  }

  @Test("an event that a clock has dated which was ahead keeps no other from being forgotten")
  func eventOfTheFuture() async throws {
    clock.advance(by: .seconds(1_000_000))
    let live = try await grant("live", transaction: "1")
    clock.advance(by: .seconds(-1_000_000))
    let finished = try await grant("finished", transaction: "2")
    try await finish(finished)
    clock.advance(by: .seconds(101))
    try await retain()
    #expect(try await history(finished).isEmpty)
    #expect(try await history(live) == [.granted])
  }

  @Test(
    "what is kept of old rows is looked at again once a day, and not with every look",
    .enabled(if: !TestDatabase.isOnServer))
  func walks() async throws {
    let live = try await grant("live", transaction: "1")
    let now = clock.now()
    try await database.write(locking: [.everything]) { connection in
      try connection.execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO grant_events (grant_number, state, at) SELECT ?, 'granted', ? FROM n
        """, [.integer(10 * RetentionTable.batch), .integer(live.number), .timestamp(now)])
    }
    clock.advance(by: .seconds(101))
    let retention = Retention(database: database, clock: clock, rules: rules)
    func steps() async throws -> Int {
      _ = try await database.read { $0.takeSteps() }
      try await retention.run()
      let taken = try await database.read { $0.takeSteps() }
      return taken.first { $0.sql.hasPrefix("SELECT id, at FROM grant_events") }?.steps ?? 0
    }
    let first = try await steps()
    clock.advance(by: Retention.interval)
    #expect(try await steps() < first / 5)
    clock.advance(by: Retention.walkInterval)
    #expect(try await steps() == first)
  }

  @Test(
    "proofs that were good long ago are forgotten; which ones are too many is found out before the write",
    .enabled(if: !TestDatabase.isOnServer))
  func proofs() async throws {
    let start = clock.now()
    try await database.write(locking: [.everything]) { connection in
      try connection.execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1199)
        INSERT INTO remembered_proofs (store, digest, device, environment, transactions, good)
        SELECT 'sandbox', randomblob(32), 'd', 'Sandbox', '1', ? + i FROM n
        """, [.timestamp(start)])
    }
    let excess = try await database.read { try RememberedProofTable.excess(beyond: 100, in: $0) }
    #expect(excess == start + .milliseconds(1099))
    #expect(try await database.read { try RememberedProofTable.excess(beyond: 1200, in: $0) } == nil)
    clock.advance(by: rules.proofs + .milliseconds(1100))
    try await retain()
    #expect(try await count("remembered_proofs") == 100)
  }

  @Test("a notification is known for 200 days after it was signed, and the newest of its store are")
  func notifications() async throws {
    func insert(_ uuid: String, of store: StoreIdentifier = .apple, age: Duration) async throws {
      let record = NotificationTable.Record(
        store: store, uuid: uuid, type: "TEST", signed: clock.now() - age, environment: .sandbox,
        effect: .none, received: clock.now())
      let isNew = try await database.write(locking: [.everything]) {
        try NotificationTable.insert(record, in: $0)
      }
      #expect(isNew)
    }
    func known() async throws -> [String] {
      try await database.read {
        try $0.query("SELECT uuid FROM notifications ORDER BY uuid").map { try $0.text("uuid") }
      }
    }
    let day = Duration.seconds(86_400)
    try await insert("old", age: day * 200 + .milliseconds(1))
    try await insert("other-old", of: .sandbox, age: day * 300)
    try await insert("young", age: day * 200)
    try await retain()
    #expect(try await known() == ["young"])
    for number in 1...5 { try await insert("n\(number)", age: day * number) }
    try await insert("other", of: .sandbox, age: day * 100)
    let cutoff = clock.now() - day * 200
    let more = try await database.write(locking: [.everything]) { connection in
      try NotificationTable.forget(before: cutoff, capacity: 3, limit: 500, in: connection)
    }
    #expect(!more)
    #expect(try await known() == ["n1", "n2", "n3", "other"])
  }

  @Test("a call that was taken is forgotten, and the transaction stays finished for all who report again")
  func calls() async throws {
    let first = try await grant("a", transaction: "1")
    try await finish(first)
    clock.advance(by: .seconds(11))
    try await retain()
    #expect(try await count("outbox") == 0)
    #expect(try await complete(first).grant.machine.name == .finished)
    // Another device of the same buyer: the store need not hear of it again.
    let second = try await grant("b", transaction: "1")
    let outcome = try await complete(second)
    #expect(outcome.outbox == nil)
    #expect(outcome.grant.machine.name == .finished)
    #expect(try await count("outbox") == 0)
  }

  @Test("a call is kept while it waits, and while a grant of its transaction is not finished")
  func neededCalls() async throws {
    let waiting = try await grant("a", transaction: "1")
    _ = try await complete(waiting)
    try await finish(try await grant("b", transaction: "2"))
    _ = try await grant("c", transaction: "2")
    clock.advance(by: .seconds(1000))
    try await retain()
    #expect(try await count("outbox") == 2)
  }

  @Test("old runs go, but for the last, and for those that excuse a count")
  func runs() async throws {
    let clock = clock
    for _ in 0..<4 {
      try await database.write(locking: [.everything]) {
        _ = try ServerRunTable.begin(at: clock.now(), in: $0)
      }
      clock.advance(by: .seconds(200))
    }
    try await retain()
    #expect(try await count("runs") == 4)
    clock.advance(by: ServerRunTable.grace)
    try await retain()
    #expect(try await count("runs") == 1)
  }

  @Test("with zero nothing is ever forgotten")
  func never() async throws {
    try await finish(try await grant("a", transaction: "1"))
    clock.advance(by: .seconds(1_000_000_000))
    try await retain(Retention.Rules(history: .zero, calls: .zero, proofs: .zero))
    #expect(try await count("outbox") == 1)
    #expect(try await count("grant_events") == 3)
  }
}
