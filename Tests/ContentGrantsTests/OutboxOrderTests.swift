import Commerce
import CoreTypes
import Database
import DeliveryModel
import DeliveryTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentGrants
@testable import DeliveryRecords

/// docs/stores.md: a store that sold several products by one order has one acknowledgement for all of them.
@Suite("Calls about several products of one order", .timeLimit(.minutes(1)))
struct OutboxOrderTests {
  private static let day: Duration = .seconds(86_400)

  private let file: StateFile
  private let database: Database
  private let timer = ManualMonotonicClock()
  private let clock = ManualWallClock(Timestamp(millisecondsSinceEpoch: 1_795_249_800_000))

  init() throws {
    file = try StateFile()
    database = try file.open()
  }

  private func harness(_ store: ScriptedStore) -> OutboxHarness {
    OutboxHarness([store], database: database, timer: timer, clock: clock)
  }

  /// Writes down that the products of one order were bought now. The store takes each back after three days.
  private func buy(_ numbers: ClosedRange<Int>) async throws {
    let now = clock.now()
    let product = try #require(ProductIdentifier("com.example.a"))
    let purchases = numbers.map { number in
      VerifiedTransaction(
        vouchedForBy: .sandbox, in: .sandbox, id: .numbered(number), originalID: .numbered(100),
        product: product, purchaseDate: now,
        acknowledgement: Acknowledgement(.acknowledge, reference: "token", deadline: now + Self.day * 3),
        asOf: now)
    }
    _ = try await GrantStore(database: database, clock: clock).record(purchases, by: .init()) { _ in }
  }

  /// Writes down that a product was delivered.
  private func deliver(_ number: Int, _ harness: OutboxHarness) async throws {
    let now = clock.now()
    _ = try await database.write(locking: [.everything]) {
      try OutboxTable.add(.acknowledge, of: .numbered(number), payload: "token", at: now, in: $0)
    }
    harness.outbox.wake()
  }

  @Test("a retry tells of no order before all of it is delivered, and says for what it waits and how long")
  func retried() async throws {
    let store = ScriptedStore(timer: timer) { _ in .answers(after: .zero) }
    let harness = harness(store)
    let start = clock.now()
    try await buy(1...3)
    try await harness.run {
      try await deliver(1, harness)
      try await harness.settle()
      let call = try #require(try await harness.calls().first)
      let retried = try await harness.outbox.retry(call.id, by: "ada")
      try await harness.settle()
      #expect(store.calls.isEmpty)
      for shown in [retried, try #require(try await harness.calls().first)] {
        #expect(shown.state == .waiting)
        #expect(shown.waitsFor == ["t2", "t3"])
        // The deadline, and the week after which its purchase counts as taken back.
        #expect(shown.heldUntil == start + Self.day * 10)
        #expect(shown.nextAttempt == nil)
      }
      try await deliver(2, harness)
      try await deliver(3, harness)
      #expect(try await harness.advance(upTo: .zero) { try await harness.calls(.done).count == 3 })
      for shown in try await harness.calls() {
        #expect(shown.waitsFor == nil)
        #expect(shown.heldUntil == nil)
      }
    }
  }

  @Test("a call that its order holds is made at the time that it tells, also where nothing else happens then")
  func held() async throws {
    let store = ScriptedStore(timer: timer) { _ in .answers(after: .zero) }
    let harness = harness(store)
    try await buy(1...2)
    try await deliver(1, harness)
    try await harness.run {
      try await harness.settle()
      #expect(try await harness.calls().first?.waitsFor == ["t2"])
      // Nothing is due for so long that no step is worth a look.
      clock.advance(by: Self.day * 10 - .seconds(30))
      timer.advance(by: Self.day * 10 - .seconds(30))
      try await harness.settle()
      #expect(store.calls.isEmpty)
      let end = harness.elapsed + Outbox.longestPause + .seconds(30)
      #expect(try await harness.advance(upTo: end) { try await harness.calls(.done).count == 1 })
    }
  }

  @Test("a retry makes a call at once whose next attempt lies ahead")
  func postponed() async throws {
    let store = ScriptedStore(timer: timer) { _ in .refuses("a wrong credential") }
    let harness = harness(store)
    try await harness.run {
      try await harness.add(1)
      try await harness.settle()
      let call = try #require(try await harness.calls(.waiting).first)
      let next = try #require(call.nextAttempt)
      #expect(next > clock.now())
      store.behave { _ in .answers(after: .zero) }
      #expect(try await harness.outbox.retry(call.id, by: "ada").heldUntil == nil)
      #expect(try await harness.advance(upTo: .zero) { try await harness.calls(.done).count == 1 })
      #expect(store.calls.count == 2)
    }
  }
}
