import Commerce
import CoreTypes
import Database
import DeliveryModel
import DeliveryTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import Testing

@testable import ContentGrants
@testable import DeliveryRecords

@Suite("Purchases that a store takes back unless it is told of their delivery")
struct AcknowledgementTests {
  private let file: StateFile
  private let database: Database
  private let clock = ManualWallClock(Timestamp(millisecondsSinceEpoch: 1_795_249_800_000))

  init() throws {
    file = try StateFile()
    database = try file.open()
  }

  private func purchase(_ number: Int, revoked: Bool = false) throws -> VerifiedTransaction {
    let now = clock.now()
    return VerifiedTransaction(
      vouchedForBy: .sandbox, in: .sandbox, id: TransactionIdentifier.numbered(number),
      originalID: TransactionIdentifier.numbered(number),
      product: try #require(ProductIdentifier("com.example.a")),
      purchaseDate: now, revokedDate: revoked ? now : nil,
      acknowledgement: Acknowledgement(
        .acknowledge, reference: "token", deadline: now + .seconds(3 * 86_400)),
      asOf: now)
  }

  private func standing() async throws -> AcknowledgementTable.Standing {
    let now = clock.now()
    return try await database.read { try AcknowledgementTable.standing(of: .sandbox, at: now, in: $0) }
  }

  @Test("what is to be said anew while an earlier statement is on its way is said after it")
  func renewed() async throws {
    let grants = GrantStore(database: database, clock: clock)
    let now = clock.now()
    func renew(_ payload: String) async throws {
      _ = try await database.write(locking: [.everything]) {
        try OutboxTable.renew(.consumption, of: TransactionKey.numbered(1), payload: payload, at: now, in: $0)
      }
    }
    func due() async throws -> [OutboxTable.Found] {
      let lease = OutboxLease(holder: "a", now: now, until: now + .seconds(9), stores: [.sandbox])
      return try await database.read { try OutboxTable.due(to: .sandbox, for: lease, limit: 9, in: $0) }
    }
    try await renew("first")
    guard case .entry(let first)? = try await due().first else {
      Issue.record("there is no call")
      return
    }
    try await renew("second")
    #expect(try await !grants.accepted(first))
    guard case .entry(let second)? = try await due().first else {
      Issue.record("the second statement is lost")
      return
    }
    #expect(second.payload == "second")
    #expect(try await grants.accepted(second))
    #expect(try await due().isEmpty)
  }

  @Test("they are counted until the store was told, and urgent a day before it takes them back")
  func alarm() async throws {
    let grants = GrantStore(database: database, clock: clock)
    let alarm = AcknowledgementAlarm(
      stores: [.sandbox], database: database, clock: clock, log: Log(level: .error))
    let due = clock.now() + .seconds(3 * 86_400)
    let told = [try purchase(1), try purchase(2), try purchase(3, revoked: true)]
    _ = try await grants.record(told, by: .init()) { _ in }
    #expect(try await standing() == .init(waiting: 2, urgent: 0, next: due))
    #expect(try await alarm.look().isEmpty)
    clock.advance(by: .seconds(2 * 86_400))
    #expect(try await standing() == .init(waiting: 2, urgent: 2, next: due))
    #expect(try await alarm.look() == [.sandbox])

    let now = clock.now()
    let standing = try await database.write(locking: [.everything]) {
      try OutboxTable.add(
        .acknowledge, of: TransactionKey.numbered(1), payload: "token",
        lease: OutboxLease(holder: "a", now: now, until: now + .seconds(9), stores: [.sandbox]), at: now,
        in: $0)
    }
    guard case .waiting(let entry?) = standing else {
      Issue.record("\(standing)")
      return
    }
    #expect(try await self.standing().waiting == 2)
    try await grants.accepted(entry)
    #expect(try await self.standing() == .init(waiting: 1, urgent: 1, next: due))
    // An answer that the store gave before it was told, and that came after.
    _ = try await grants.record([try purchase(1)], by: .init()) { _ in }
    #expect(try await self.standing().waiting == 1)
    clock.advance(by: .seconds(9 * 86_400))
    #expect(try await self.standing().waiting == 0)
  }
}
