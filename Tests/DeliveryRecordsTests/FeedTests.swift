import Commerce
import CoreTypes
import Database
import DeliveryModel
import PullboxTesting
import Testing

@testable import DeliveryRecords
@testable import DeliverySchema

@Suite("The feed of a device")
struct FeedTests {
  @Test("a feed that was made before its customer had a name in the token keeps what it told and its number")
  func migration() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("server.db")
    let old = try Database.open(
      path: path, migrations: Array(Migrations.all.prefix { $0.name != Migrations.feedsOfCustomers.name }))
    try await old.write(locking: [.everything]) { connection in
      try connection.execute(
        """
        INSERT INTO feeds (number, device, store, environment, customer, epoch, sequence, used) VALUES
          (3, 'a', 'sandbox', 'Sandbox', zeroblob(16), 11, 5, 1), (4, 'b', 'sandbox', NULL, NULL, 12, 0, 2),
          (9, 'c', 'sandbox', NULL, NULL, 13, 0, 3)
        """)
      try connection.execute("DELETE FROM feeds WHERE number = 9")
    }
    old.close()
    let database = try Database.open(path: path, migrations: Migrations.all)
    let device = try #require(DeviceIdentifier("a"))
    let store = try #require(StoreIdentifier("sandbox"))
    let (feed, made) = try await database.write(locking: [.everything]) { connection in
      let feed = try FeedTable.all(of: device, in: connection).first
      let made = try FeedTable.put(
        of: device, at: store, environment: .sandbox,
        customer: .make(at: Timestamp(millisecondsSinceEpoch: 0)),
        epoch: 1, at: Timestamp(millisecondsSinceEpoch: 0), in: connection)
      return (feed, made)
    }
    #expect(feed?.number == 3 && feed?.epoch == 11 && feed?.sequence == 5 && feed?.customer != nil)
    #expect(made?.feed.number == 10)
    database.close()
  }
}
