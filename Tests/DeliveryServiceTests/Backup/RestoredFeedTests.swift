import Commerce
import CoreTypes
import DeliveryTesting
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import Synchronization
import Testing

@testable import DeliveryService

/// A restored server beside devices that were told more than the backup knows.
@Suite("Feeds and catalogs of a restored server", .enabled(if: !TestDatabase.isOnServer))
struct RestoredFeedTests {
  private let shop = FeedTests()
  private let place: TemporaryDirectory
  private let directory: BackupDirectory

  init() throws {
    place = try TemporaryDirectory()
    directory = BackupDirectory(place.path("backups"))
  }

  private func backUp(_ server: ServerHarness) throws {
    _ = try Backup(state: server.configuration.state, directory: directory).run()
  }

  private func restore(into place: TemporaryDirectory, after duration: Duration = .zero) throws {
    var restore = StateRestore(state: place.path("state"), directory: directory)
    restore.clock = ManualWallClock(ServerHarness.start + duration)
    _ = try restore.run()
  }

  /// Follows the feed as a device does that comes again with each cursor, until there is nothing more.
  private func follow(
    _ feed: FeedReference, after cursor: String, of server: ServerHarness
  ) async throws -> (whole: [String], news: [String], cursor: String) {
    var (whole, news, cursor) = ([String](), [String](), cursor)
    for _ in 0..<4 {
      let answer = try await shop.read(feed, after: cursor, of: server)
      cursor = answer.cursor
      if answer.isWhole { whole += shop.kinds(answer) } else { news += shop.kinds(answer) }
      if !answer.isWhole, answer.entries.isEmpty { return (whole, news, cursor) }
    }
    Issue.record("a feed that does not come to its end")
    return (whole, news, cursor)
  }

  @Test(
    "a device that was told more than the backup knows hears of all that is told after the restore, each once, however often and from whatever backup"
  )
  func cursorsAhead() async throws {
    let told = Mutex<(feed: FeedReference, cursor: String)?>(nil)
    try await ServerHarness.run { server in
      let feed = try await shop.show([try await shop.subscribe(on: server)], to: server)
      let begun = try await shop.read(feed, of: server)
      #expect(shop.kinds(begun) == ["issue-available 0"])
      try backUp(server)
      try await shop.publish(2, dated: server.clock.now(), on: server)
      let answer = try await shop.read(feed, after: begun.cursor, of: server)
      #expect(shop.kinds(answer) == ["issue-available 2"])
      told.withLock { $0 = (feed, answer.cursor) }
    }
    // The same backup twice: what the first restored server has told is undone as well.
    for _ in 0..<2 {
      let place = try TemporaryDirectory()
      try restore(into: place)
      try await ServerHarness.run(in: place) { server in
        let (feed, cursor) = try #require(told.withLock { $0 })
        try await shop.publish(1, dated: server.clock.now(), on: server)
        try await shop.publish(2, dated: server.clock.now(), on: server)
        let first = try await follow(feed, after: cursor, of: server)
        #expect(first.whole == ["issue-available 0"])
        #expect(first.news == ["issue-available 1", "issue-available 2"])
        // The answer was lost on the way: it is the same once more.
        #expect(try await follow(feed, after: cursor, of: server) == first)
        told.withLock { $0 = (feed, first.cursor) }
      }
    }
  }

  @Test(
    "a device that the backup does not know is asked for its proof, also where another has come meanwhile")
  func numbersOfLater() async throws {
    let later = Device(id: try #require(DeviceIdentifier("later-than-the-backup")))
    let other = Device(id: try #require(DeviceIdentifier("after-the-restore")))
    let known = Mutex<(purchase: InAppPurchase, feed: FeedReference)?>(nil)
    try await ServerHarness.run { server in
      let bought = try await shop.subscribe(on: server)
      _ = try await shop.show([bought], to: server)
      try backUp(server)
      let feed = try await shop.show([bought], of: later, to: server)
      _ = try await shop.read(feed, as: later, of: server)
      known.withLock { $0 = (bought, feed) }
    }
    try restore(into: place)
    try await ServerHarness.run(in: place) { server in
      let (bought, feed) = try #require(known.withLock { $0 })
      _ = try await shop.show([bought], of: other, to: server)
      let refused = try await server.problem { _ = try await shop.read(feed, as: later, of: server) }
      #expect(refused.status == 401)
      let anew = try await shop.show([bought], of: later, to: server)
      #expect(try await shop.read(anew, as: later, of: server).isWhole)
    }
  }

  @Test("a catalog that a client keeps by a date after the backup is not taken for the restored one")
  func catalogDates() async throws {
    let modified = Mutex<String?>(nil)
    try await ServerHarness.run { server in
      try await server.publish([1, 2, 3])
      try backUp(server)
      server.clock.advance(by: .seconds(3600))
      try await server.publish([4, 5, 6], as: "com.example.later")
      let kept = try await server.client.send(
        ClientRequest(
          method: "GET", url: server.api.url("/v1/products"), headers: [("Accept-Encoding", "gzip")]))
      modified.withLock { $0 = kept.headers["Last-Modified"] }
    }
    try restore(into: place, after: .seconds(7200))
    try await ServerHarness.run(in: place) { server in
      let date = try #require(modified.withLock { $0 })
      let asked = try await server.client.send(
        ClientRequest(
          method: "GET", url: server.api.url("/v1/products"),
          headers: [("Accept-Encoding", "gzip"), ("If-Modified-Since", date)]))
      #expect(asked.status == 200)
    }
  }
}
