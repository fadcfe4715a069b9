import CoreTypes
import Database
import DeliveryTesting
import PullboxTesting
import ServiceRuntime
import Testing

@testable import ContentDelivery
@testable import ContentGrants
@testable import DeliveryRecords

@Suite("Bytes sent by the hour", .timeLimit(.minutes(1)))
struct DeliveredHoursTests {
  private let file: StateFile
  private let database: Database
  /// 2026-11-30T06:00:00Z.
  private let six = Timestamp(millisecondsSinceEpoch: 1_796_018_400_000)

  init() throws {
    file = try StateFile()
    database = try file.open()
  }

  private func hours() async throws -> [Int64] {
    try await database.read {
      try $0.query("SELECT bytes FROM delivered_hours ORDER BY hour, node").map { try $0.integer("bytes") }
    }
  }

  private func sum(_ since: Int64, _ until: Int64) async throws -> Int64 {
    let six = six
    return try await database.read {
      try DeliveredHoursTable.bytes(
        since: six + .seconds(since * 3600), until: six + .seconds(until * 3600), in: $0
      ).rawValue
    }
  }

  private func record(
    _ hours: DeliveredHours, _ total: Int64, minute: Int64, node: Int64 = 0, in other: Database? = nil
  ) async throws {
    hours.note(total: ByteCount(total), at: six + .seconds(minute * 60))
    try await hours.write(by: node, in: other ?? database)
  }

  @Test("an hour is named by its first moment, also before 1970")
  func names() {
    let hour: Int64 = 3_600_000
    for (moment, first) in [
      (0, 0), (hour - 1, 0), (hour, hour), (-1, -hour), (-hour, -hour), (-hour - 1, -2 * hour),
    ] {
      #expect(
        DeliveredHoursTable.hour(of: Timestamp(millisecondsSinceEpoch: moment)).millisecondsSinceEpoch
          == first)
    }
    #expect(
      DeliveredHoursTable.hour(of: Timestamp(millisecondsSinceEpoch: .min)).millisecondsSinceEpoch
        == Int64.min / hour * hour)
    #expect(
      DeliveredHoursTable.hour(of: Timestamp(millisecondsSinceEpoch: .max)).millisecondsSinceEpoch
        == Int64.max / hour * hour)
  }

  @Test(
    "bytes count in the hour in which they are noted, beside those of other processes and nodes"
  )
  func adding() async throws {
    let first = DeliveredHours()
    try await record(first, 100, minute: 1)
    try await record(first, 130, minute: 59)
    try await record(first, 130, minute: 60)
    try await record(first, 200, minute: 61)
    #expect(try await hours() == [130, 70])
    let second = DeliveredHours()
    try await record(second, 5, minute: 62)
    try await record(second, 12, minute: 63)
    try await record(DeliveredHours(), 1000, minute: 63, node: 7)
    #expect(try await hours() == [130, 82, 1000])
    #expect(try await sum(0, 1) == 130)
    #expect(try await sum(1, 2) == 1082)
    #expect(try await sum(0, 2) == 1212)
    #expect(try await sum(2, 9) == 0)
  }

  @Test("a clock that is set back adds to the hour that was over")
  func clockSetBack() async throws {
    let sent = DeliveredHours()
    try await record(sent, 10, minute: 30)
    try await record(sent, 30, minute: 90)
    try await record(sent, 35, minute: 31)
    try await record(sent, 36, minute: 91)
    #expect(try await hours() == [15, 21])
  }

  @Test("what cannot be written down is written with the next bytes, each in its hour, once")
  func failure() async throws {
    let sent = DeliveredHours()
    let closed = try file.open()
    closed.close()
    try await record(sent, 10, minute: 1)
    await #expect(throws: DatabaseError.self) { try await record(sent, 30, minute: 2, in: closed) }
    await #expect(throws: DatabaseError.self) { try await record(sent, 60, minute: 62, in: closed) }
    #expect(try await hours() == [10])
    try await record(sent, 60, minute: 130)
    #expect(try await hours() == [30, 30])
    try await record(sent, 60, minute: 131)
    #expect(try await hours() == [30, 30])
  }

  @Test(
    "a write whose answer is lost counts once, whatever became of it",
    arguments: [DoubtfulEngine.Fate.happened, .lost])
  func doubt(fate: DoubtfulEngine.Fate) async throws {
    let engine = DoubtfulEngine(on: database)
    let doubtful = Database(engine: engine, longestWait: nil)
    let sent = DeliveredHours()
    engine.fates.withLock { $0 = [fate] }
    await #expect(throws: DatabaseError.self) { try await record(sent, 10, minute: 1, in: doubtful) }
    try await record(sent, 13, minute: 2, in: doubtful)
    #expect(try await hours() == [13])
  }

  @Test("what is noted while a write is on its way is written by the next one, and none of it twice")
  func meanwhile() async throws {
    let engine = DoubtfulEngine(on: database)
    let watched = Database(engine: engine, longestWait: nil)
    let sent = DeliveredHours()
    let (one, two) = (six + .seconds(60), six + .seconds(120))
    engine.beforeWrite.withLock { $0 = { sent.note(total: ByteCount(30), at: two) } }
    sent.note(total: ByteCount(10), at: one)
    try await sent.write(by: 0, in: watched)
    #expect(try await hours() == [10])
    engine.beforeWrite.withLock { $0 = nil }
    for _ in 0..<2 {
      try await sent.write(by: 0, in: watched)
      #expect(try await hours() == [30])
    }
  }

  @Test(
    "of an hour that gives way to later ones nothing counts twice, and what is not written counts to the next"
  )
  func givingWay() async throws {
    let sent = DeliveredHours()
    let closed = try file.open()
    closed.close()
    try await record(sent, 10, minute: 1)
    await #expect(throws: DatabaseError.self) { try await record(sent, 30, minute: 2, in: closed) }
    for hour: Int64 in 1...48 {
      await #expect(throws: DatabaseError.self) {
        try await record(sent, 30 + hour, minute: hour * 60, in: closed)
      }
    }
    try await record(sent, 78, minute: 49 * 60)
    #expect(try await hours() == [10, 21] + [Int64](repeating: 1, count: 47))
  }

  @Test("an hour that gives way while its write's answer is lost counts once")
  func givingWayInDoubt() async throws {
    let engine = DoubtfulEngine(on: database)
    let doubtful = Database(engine: engine, longestWait: nil)
    let sent = DeliveredHours()
    let closed = try file.open()
    closed.close()
    engine.fates.withLock { $0 = [.happened] }
    await #expect(throws: DatabaseError.self) { try await record(sent, 10, minute: 1, in: doubtful) }
    for hour: Int64 in 1...48 {
      await #expect(throws: DatabaseError.self) {
        try await record(sent, 10 + hour, minute: hour * 60, in: closed)
      }
    }
    try await record(sent, 58, minute: 49 * 60)
    #expect(try await hours() == [10] + [Int64](repeating: 1, count: 48))
  }

  @Test(
    "while the database is away 48 hours are kept, and what was sent before counts to the first")
  func bound() async throws {
    let sent = DeliveredHours()
    let closed = try file.open()
    closed.close()
    for hour: Int64 in 0..<50 {
      await #expect(throws: DatabaseError.self) {
        try await record(sent, hour + 1, minute: hour * 60, in: closed)
      }
    }
    try await record(sent, 50, minute: 50 * 60)
    let written = try await hours()
    #expect(written == [3] + [Int64](repeating: 1, count: DeliveredHours.maximumHours - 1))
  }

  @Test("hours are forgotten from the oldest on, a few at a time")
  func forgetting() async throws {
    let sent = DeliveredHours()
    for hour: Int64 in 0..<5 { try await record(sent, hour + 1, minute: hour * 60) }
    let cutoff = six + .seconds(3 * 3600)
    let forgotten = try await database.write(locking: []) { connection in
      [
        try DeliveredHoursTable.forget(before: cutoff, limit: 2, in: connection),
        try DeliveredHoursTable.forget(before: cutoff, limit: 2, in: connection),
      ]
    }
    #expect(forgotten == [true, false])
    #expect(try await hours() == [1, 1])
  }
}
