import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryTesting
import PullboxAPI
import ServiceAPI
import Testing

@testable import DeliveryRecords

/// Writes without a lock rest on statements that say as what a row was found. On SQLite nothing comes between two statements; here the
/// row has changed before the second one.
@Suite("Statements that decide by themselves")
struct SingleStatementTests {
  private let file: StateFile
  private let database: Database
  private let now = Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)

  init() throws {
    file = try StateFile()
    database = try file.open()
  }

  private func write<Value: Sendable>(
    _ body: @escaping @Sendable (borrowing Connection) throws -> Value
  ) async throws -> Value {
    try await database.write(locking: [.everything], body)
  }

  @Test("what was found before a feed told more is not told, and nothing is told by a feed that is gone")
  func feed() async throws {
    let (device, product) = (
      try #require(DeviceIdentifier("device-1")), try #require(ProductIdentifier("com.example.a"))
    )
    let item = FeedItem(product: product, kind: .withdrawn, transaction: .numbered(1))
    let now = now
    let (first, second, gone, rest) = try await write { connection in
      let placed = try FeedTable.put(
        of: device, at: .sandbox, environment: nil, customer: nil, epoch: 1, at: now, in: connection)
      let feed = try #require(placed).feed
      let first = try FeedTable.tell([item], to: feed, in: connection)
      let second = try FeedTable.tell([], forgetting: [product], to: feed, in: connection)
      let kept = try FeedTable.items(of: feed.number, in: connection)
      #expect(kept.map(\.sequence) == [1])
      #expect(try FeedTable.forget(unusedSince: now + .milliseconds(1), limit: 5, in: connection) == 1)
      let gone = try FeedTable.tell([item], to: feed, in: connection)
      return (first, second, gone, try FeedTable.items(of: feed.number, in: connection))
    }
    #expect(first?.map(\.sequence) == [1])
    #expect(second == nil && gone == nil && rest.isEmpty)
  }

  @Test(
    "a call that was found waiting is not dropped once it is parked, and a call that is over is not retried")
  func calls() async throws {
    let now = now
    try await write { connection in
      let id = try OutboxTable.renew(
        .finish, of: .numbered(1), payload: "a", at: now, in: connection)
      #expect(try OutboxTable.parkDamaged(id, at: now, because: "no", in: connection))
      #expect(try !OutboxTable.drop(id, foundParked: false, at: now, in: connection))
      #expect(try OutboxTable.call(id, in: connection)?.state == .parked)
      #expect(try OutboxTable.drop(id, foundParked: true, at: now, in: connection))
      #expect(try OutboxTable.call(id, in: connection)?.state == .dropped)
      #expect(try OutboxTable.retry(id, in: connection))
      #expect(try !OutboxTable.drop(id, foundParked: true, at: now, in: connection))
      let entry = OutboxEntry(
        id: id, kind: .finish, subject: .numbered(1), payload: "a", attempts: 0, refusals: 0,
        nextAttempt: OutboxEntry.atOnce)
      #expect(try OutboxTable.markDone(entry, at: now, in: connection))
      #expect(try !OutboxTable.retry(id, in: connection))
    }
  }

  @Test("a lease is held until its end, unless a clock that was wrong took it")
  func lease() async throws {
    let (now, duration) = (now, Duration.seconds(60))
    // The last one would be held for longer than twice as long.
    let times = [now, now + duration - .milliseconds(1), now + duration, now - duration - .milliseconds(1)]
    let (before, isTaken, held) = try await write { connection in
      let before = try LeaseTable.isHeld("work", takenFor: duration, at: now, in: connection)
      let isTaken = try LeaseTable.take("work", for: "a", until: now + duration, at: now, in: connection)
      let held = try times.map { try LeaseTable.isHeld("work", takenFor: duration, at: $0, in: connection) }
      return (before, isTaken, held)
    }
    #expect(!before && isTaken)
    #expect(held == [true, true, false, false])
  }

  @Test("a package that is being removed stays so, whatever the plan said, until something needs it")
  func condemned() async throws {
    let (digest, now) = (SHA256Digest.of([1]), now)
    try await write { connection in
      try GarbageCollectionTable.condemn(digest, length: ByteCount(1), at: now, in: connection)
      try GarbageCollectionTable.unmark(digest, keepingCondemned: true, in: connection)
      #expect(try GarbageCollectionTable.condemned(in: connection).map(\.digest) == [digest])
      try GarbageCollectionTable.unmark(digest, in: connection)
      #expect(try GarbageCollectionTable.condemned(in: connection).isEmpty)
      try GarbageCollectionTable.mark(digest, since: now, in: connection)
      try GarbageCollectionTable.unmark(digest, keepingCondemned: true, in: connection)
      #expect(try GarbageCollectionTable.unneeded(in: connection).isEmpty)
    }
  }
}
