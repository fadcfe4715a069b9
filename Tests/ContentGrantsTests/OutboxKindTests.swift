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
@testable import PaymentStores

@Suite("What the outbox tells stores", .timeLimit(.minutes(1)))
struct OutboxKindTests {
  private let file: StateFile
  private let database: Database
  private let timer = ManualMonotonicClock()
  private let clock = ManualWallClock(Timestamp(millisecondsSinceEpoch: 1_795_249_800_000))

  init() throws {
    file = try StateFile()
    database = try file.open()
  }

  private func add(_ kind: OutboxEntry.Kind, payload: String?, _ number: Int) async throws {
    let now = clock.now()
    _ = try await database.write(locking: [.everything]) {
      try OutboxTable.add(kind, of: .numbered(number), payload: payload, at: now, in: $0)
    }
  }

  @Test("each kind of call is its own at the store, with what it needs")
  func kinds() async throws {
    let store = ScriptedStore(timer: timer) { _ in .answers(after: .zero) }
    let harness = OutboxHarness([store], database: database, timer: timer, clock: clock)
    let statement = ConsumptionStatement(
      of: [.init(sent: ByteCount(40), length: ByteCount(100), isCompleted: false)], hadSample: true)
    try await add(.finish, payload: nil, 1)
    try await add(.acknowledge, payload: "token-2", 2)
    try await add(.consume, payload: "token-3", 3)
    let text = String(decoding: try APIJSON.encode(statement), as: UTF8.self)
    try await add(.consumption, payload: text, 4)
    harness.outbox.wake()
    try await harness.run {
      let isDone = try await harness.advance(upTo: .seconds(10)) {
        try await harness.calls(.done).count == 4
      }
      #expect(isDone)
    }
    #expect(
      Set(store.told) == [
        .finished, .acknowledged("token-2"), .consumed("token-3"), .consumption(statement),
      ])
  }

  private func statement(of bytes: Int64) throws -> (value: ConsumptionStatement, payload: String) {
    let statement = ConsumptionStatement(
      of: [.init(sent: ByteCount(bytes), length: ByteCount(100), isCompleted: false)], hadSample: false)
    return (statement, String(decoding: try APIJSON.encode(statement), as: UTF8.self))
  }

  /// Writes the payload down anew, as when the store asks again what was delivered.
  private func renew(_ payload: String, _ number: Int, _ harness: OutboxHarness) async throws {
    let now = clock.now()
    let id = try await database.write(locking: [.everything]) {
      try OutboxTable.renew(.consumption, of: .numbered(number), payload: payload, at: now, in: $0)
    }
    harness.outbox.callAgain(id, of: .sandbox)
  }

  @Test("the number of a call that was forgotten is no other call's: the next one is made")
  func numbers() async throws {
    let store = ScriptedStore(timer: timer) { _ in .answers(after: .zero) }
    let harness = OutboxHarness([store], database: database, timer: timer, clock: clock)
    try await add(.consumption, payload: try statement(of: 40).payload, 1)
    harness.outbox.wake()
    try await harness.run {
      #expect(try await harness.advance(upTo: .seconds(10)) { try await harness.calls(.done).count == 1 })
      clock.advance(by: .seconds(1000))
      let cutoff = clock.now() - .seconds(10)
      _ = try await database.write(locking: [.everything]) {
        try RetentionTable.forgetCalls(doneBefore: cutoff, after: RetentionTable.Position(), in: $0)
      }
      #expect(try await harness.calls().isEmpty)
      let next = try #require(try await harness.addClaimed(2))
      async let isAccepted = harness.outbox.attempt(next)
      #expect(await isAccepted)
      #expect(store.calls == [TransactionIdentifier.numbered(1), TransactionIdentifier.numbered(2)])
    }
  }

  @Test("a statement that an operator has dropped is told after all when the store asks anew")
  func askedAnew() async throws {
    let store = ScriptedStore(timer: timer) { _ in .resets }
    let harness = OutboxHarness([store], database: database, timer: timer, clock: clock)
    let (first, second) = (try statement(of: 40), try statement(of: 50))
    try await add(.consumption, payload: first.payload, 1)
    harness.outbox.wake()
    try await harness.run {
      try await harness.settle()
      let call = try #require(try await harness.calls(.waiting).first)
      #expect(try await harness.outbox.drop(call.id, because: "a test", by: "ada").state == .dropped)
      store.behave { _ in .answers(after: .zero) }
      try await renew(second.payload, 1, harness)
      let isDone = try await harness.advance(upTo: harness.elapsed + .seconds(60)) {
        try await harness.calls(.done).count == 1
      }
      #expect(isDone)
      #expect(store.told.last == .consumption(second.value))
    }
  }

  @Test(
    "a refusal that comes after the store has asked anew says nothing of the new statement",
    arguments: [1, 20])
  func lateRefusal(maximumRefusals: Int) async throws {
    let store = ScriptedStore(timer: timer) { time in
      time < .seconds(1) ? .refuses("too early", after: .seconds(5)) : .answers(after: .zero)
    }
    let harness = OutboxHarness(
      [store], database: database, timer: timer, clock: clock,
      options: .init(maximumRefusals: maximumRefusals))
    let (first, second) = (try statement(of: 40), try statement(of: 50))
    try await add(.consumption, payload: first.payload, 1)
    harness.outbox.wake()
    try await harness.run {
      try await harness.settle()
      #expect(store.told == [.consumption(first.value)])
      try await renew(second.payload, 1, harness)
      let isDone = try await harness.advance(upTo: .seconds(6)) { try await harness.calls(.done).count == 1 }
      #expect(isDone)
      #expect(store.told == [.consumption(first.value), .consumption(second.value)])
      #expect(try await harness.calls().first?.refusals == 0)
    }
  }

  @Test("a statement on consumption that cannot be read is refused, and parked in the end")
  func damaged() async throws {
    let store = ScriptedStore(timer: timer) { _ in .answers(after: .zero) }
    let harness = OutboxHarness(
      [store], database: database, timer: timer, clock: clock, options: .init(maximumRefusals: 1))
    try await add(.consumption, payload: "{}", 1)
    harness.outbox.wake()
    try await harness.run {
      let isParked = try await harness.advance(upTo: .seconds(10)) {
        try await harness.calls(.parked).count == 1
      }
      #expect(isParked)
    }
    #expect(store.told.isEmpty)
  }

  @Test(
    "a transaction is ended by what its store is told, once it is delivered",
    arguments: [
      (Acknowledgement?.none, "finish", String?.none),
      (Acknowledgement(.acknowledge, reference: "token", deadline: nil), "acknowledge", "token"),
      (Acknowledgement(.consume, reference: "token", deadline: nil), "consume", "token"),
    ])
  func end(acknowledgement: Acknowledgement?, kind: String, payload: String?) async throws {
    let product = try #require(ProductIdentifier("com.example.a"))
    let device = try #require(DeviceIdentifier("device-1"))
    let start = Timestamp(millisecondsSinceEpoch: 0)
    let transaction = VerifiedTransaction(
      vouchedForBy: .sandbox, in: .sandbox, id: TransactionIdentifier.numbered(1),
      originalID: TransactionIdentifier.numbered(1), product: product, purchaseDate: start,
      acknowledgement: acknowledgement)
    let grants = GrantStore(database: database, clock: clock)
    let content = ReleasedContent(
      product: product, version: try #require(ContentVersion("1.0")), digest: .of([1]), length: .zero,
      manifestDigest: .of([2]), cover: nil)
    let grant = try await grants.grant(
      on: .init(transaction: transaction, content: content, owed: [product]),
      to: Device(id: device, publicKey: nil)
    ).grant
    let debt = ObligationTable.Debt(grant)
    // Nothing is told before the device has it.
    try await database.write(locking: [.everything]) {
      let settlement = try ObligationTable.settle(debt, at: start, in: $0)
      #expect(settlement == .open([]))
      var completed = grant
      _ = completed.machine.handle(.completionReported(missing: nil))
      try GrantTable.update(completed, from: grant.machine.state, at: start, detail: nil, in: $0)
      let standing = try ObligationTable.settle(debt, at: start, in: $0)
      #expect(standing == .waiting(taken: nil))
    }
    let row = try await database.read { try $0.first("SELECT kind, payload FROM outbox") }
    #expect(try row?.text("kind") == kind)
    #expect(try row?.optionalText("payload") == payload)
    // The sweep does not take it for a debt that was left behind.
    let debts = try await database.read {
      try ObligationTable.completed(after: nil, limit: 10, in: $0).debts
    }
    #expect(debts.isEmpty)
  }

  @Test("what is told of a purchase is what was sent and what the devices hold")
  func statement() {
    let half = ConsumptionStatement.Delivery(
      sent: ByteCount(50), length: ByteCount(100), isCompleted: false)
    let whole = ConsumptionStatement.Delivery(sent: ByteCount(90), length: ByteCount(100), isCompleted: true)
    let again = ConsumptionStatement.Delivery(
      sent: ByteCount(250), length: ByteCount(100), isCompleted: false)
    func told(_ deliveries: ConsumptionStatement.Delivery...) -> [Int] {
      let statement = ConsumptionStatement(of: deliveries, hadSample: false)
      return [statement.isDelivered ? 1 : 0, statement.share]
    }
    #expect(told() == [0, 0])
    #expect(told(half) == [0, 50_000])
    #expect(told(whole) == [1, 100_000])
    #expect(told(whole, half) == [0, 75_000])
    // All of it was sent, and more than once; no device has reported it.
    #expect(told(again) == [0, 100_000])
  }
}
