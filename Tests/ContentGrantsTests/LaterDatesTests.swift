import Commerce
import CoreTypes
import Database
import DeliveryModel
import DeliveryTesting
import PullboxTesting
import Testing

@testable import ContentGrants
@testable import DeliveryRecords

@Suite("Dates of answers that repeat what is known")
struct LaterDatesTests {
  private func key(_ id: String = "1") throws -> TransactionKey {
    TransactionKey(store: .apple, environment: .production, id: try #require(TransactionIdentifier(id)))
  }

  private func at(_ seconds: Int64) -> Timestamp { Timestamp(millisecondsSinceEpoch: seconds * 1000) }

  private func dated(_ id: String = "1", beside written: Int64, asOf: Int64) throws -> LaterDates.Dated {
    LaterDates.Dated(key: try key(id), heard: .init(written: at(written), asOf: at(asOf)))
  }

  private func purchase(asOf: Int64, revoked: Int64? = nil, license: Int64? = nil) throws
    -> VerifiedTransaction
  {
    VerifiedTransaction(
      vouchedForBy: .apple, in: .production, id: try key().id, originalID: try key().id,
      product: try #require(ProductIdentifier("com.example.a")), purchaseDate: at(0),
      revokedDate: revoked.map(at), licenseAsOf: license.map(at), asOf: at(asOf))
  }

  private func written(_ database: Database) async throws -> VerifiedTransaction? {
    let key = try key()
    return try await database.read { try LedgerTable.find(key, in: $0)?.transaction }
  }

  @Test("the latest date counts, whatever the order in which the answers come")
  func latest() throws {
    let dates = LaterDates()
    #expect(dates.note([try dated(beside: 10, asOf: 30)]) == .kept)
    #expect(dates.note([try dated(beside: 10, asOf: 20)]) == .kept)
    #expect(dates.heard(of: [try key()])[try key()]?.asOf == at(30))
  }

  @Test("a date is not kept beside a row that is being written, or was since it was read")
  func beside() throws {
    let (dates, key) = (LaterDates(), try key())
    dates.begin([key])
    #expect(dates.note([try dated(beside: 10, asOf: 20)]) == .outdated)
    #expect(dates.note([try dated("2", beside: 10, asOf: 20)]) == .kept)
    #expect(dates.note([try dated(beside: 10, asOf: 20)], isWriter: true) == .kept)
    dates.wrote([key: at(15)])
    dates.end([key])
    #expect(dates.note([try dated(beside: 10, asOf: 20)]) == .outdated)
    #expect(dates.note([try dated(beside: 15, asOf: 20)]) == .kept)
    // All of them, or none.
    #expect(dates.note([try dated("3", beside: 10, asOf: 20), try dated(beside: 10, asOf: 30)]) == .outdated)
    #expect(dates.heard(of: [try self.key("3")]).isEmpty)
  }

  @Test("what was written down is forgotten with the second pass, and what came meanwhile is kept")
  func passes() throws {
    let (dates, key) = (LaterDates(), try key())
    #expect(dates.note([try dated(beside: 10, asOf: 20)]) == .kept)
    let part = dates.unwritten(limit: 10)
    #expect(part == [try dated(beside: 10, asOf: 20)])
    #expect(dates.note([try dated(beside: 10, asOf: 30)]) == .kept)
    dates.confirm(part)
    #expect(dates.unwritten(limit: 10) == [try dated(beside: 20, asOf: 30)])
    dates.confirm(dates.unwritten(limit: 10))
    dates.forgetOld()
    #expect(dates.heard(of: [key])[key]?.written == at(30))
    dates.forgetOld()
    #expect(dates.count == 0)
  }

  @Test("beyond the bound only what is kept already gets later dates, and what is written down makes room")
  func bound() throws {
    let dates = LaterDates()
    let many = try (0..<LaterDates.maximumCount).map { try dated("\($0)", beside: 1, asOf: 2) }
    #expect(dates.note(many) == .kept)
    #expect(dates.note([try dated("another", beside: 1, asOf: 2)]) == .full)
    #expect(dates.note([try dated("7", beside: 1, asOf: 3)]) == .kept)
    #expect(dates.count == LaterDates.maximumCount)
    dates.confirm(dates.unwritten(limit: 10))
    #expect(dates.note([try dated("another", beside: 1, asOf: 2)]) == .kept)
    #expect(dates.count == LaterDates.maximumCount - 9)
  }

  @Test("a repeated answer writes nothing, and its date once a minute: a process that starts then knows it")
  func flush() async throws {
    let file = try StateFile()
    let database = try file.open()
    let grants = GrantStore(database: database, clock: ManualWallClock())
    _ = try await grants.record([purchase(asOf: 10, license: 10)], by: .answer()) { _ in }
    _ = try await database.read { $0.takeSteps() }
    _ = try await grants.record([purchase(asOf: 30, license: 30)], by: .answer()) { _ in }
    let statements = try await database.read { $0.takeSteps() }.map(\.sql)
    #expect(!statements.contains { $0.hasPrefix("INSERT") || $0.hasPrefix("UPDATE") })
    #expect(try await written(database)?.asOf == at(10))
    try await grants.writeLaterDates()
    #expect(try await written(database)?.asOf == at(30))
    #expect(try await written(database)?.licenseAsOf == at(30))
    let next = GrantStore(database: database, clock: ManualWallClock())
    let late = try await next.record([purchase(asOf: 20, revoked: 15)], by: .init()) { _ in }
    #expect(!late.isRevocationNews && late.transactions.first?.revokedDate == nil)
  }

  @Test("an answer that read its row before a notification was written is written after it")
  func race() async throws {
    let file = try StateFile()
    let database = try file.open()
    let grants = GrantStore(database: database, clock: ManualWallClock())
    _ = try await grants.record([purchase(asOf: 10)], by: .answer()) { _ in }
    for round in Int64(1)...50 {
      let base = round * 100
      async let answer = grants.record([purchase(asOf: base + 20)], by: .answer()) { _ in }
      async let refund = grants.record([purchase(asOf: base + 10, revoked: base + 5)], by: .init()) { _ in }
      _ = try await (answer, refund)
      // The answer is the later word.
      let key = try key()
      let known = try await grants.record([purchase(asOf: base + 20)], by: .answer()) { _ in }
      #expect(known.transactions.first?.revokedDate == nil)
      #expect(try await database.read { try TransactionTable.word(on: key, in: $0)?.revoked } == nil)
    }
  }
}
