import Commerce
import ContentCatalog
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryTesting
import Entitlements
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import Testing

@testable import ContentDelivery
@testable import ContentGrants
@testable import DeliveryRecords

@Suite("Which waiting feeds news of a customer wakes", .timeLimit(.minutes(1)))
struct FeedWakeTests {
  private let file: StateFile
  private let database: Database
  private let clock = ManualWallClock(Timestamp(millisecondsSinceEpoch: 1_795_249_800_000))
  private let timer = ManualMonotonicClock()
  private let feeds: FeedService

  init() throws {
    file = try StateFile()
    database = try file.open()
    let secret = MessageAuthenticationKey(secret: Array(repeating: 2, count: 32))
    let keys = try #require(TicketKeys([TicketKeys.Key(identifier: 1, secret: secret)]))
    let limits = RateLimits(bodiesPerGrant: 1, bodiesPerDevice: 1, grant: nil, device: nil)
    let settings = DeliverySettings(
      keys: keys, ticketLifetime: .seconds(60), classes: RateClasses(standard: limits))
    // A clock that stands still: nothing looks for changes of its own accord.
    feeds = FeedService(
      database: database, catalog: CatalogCache(database: database), rules: EntitlementRules(),
      settings: LiveSettings(settings, generation: Generation()), clock: clock,
      timer: timer, pace: ReleasePace(), publicURL: "", log: Log(level: .error))
  }

  private func purchase(_ number: Int, account: String? = nil) throws -> VerifiedTransaction {
    VerifiedTransaction(
      vouchedForBy: .sandbox, in: .sandbox, id: .numbered(number), originalID: .numbered(number),
      product: try #require(ProductIdentifier("com.example.a")), purchaseDate: clock.now(),
      account: account.flatMap { ApplicationAccount($0) }, asOf: clock.now())
  }

  /// Writes the purchase down, with that many feeds of its customer, and answers these.
  private func enroll(_ purchase: VerifiedTransaction, feeds count: Int) async throws -> [Int64] {
    _ = try await GrantStore(database: database, clock: clock).record([purchase], by: .init()) { _ in }
    let now = clock.now()
    return try await database.write(locking: [.everything]) { connection in
      let customer = try #require(try LedgerTable.find(purchase.key, in: connection)).customer
      return try (0..<count).map { number in
        let device = try #require(DeviceIdentifier("\(purchase.id)-\(number)"))
        let placed = try FeedTable.put(
          of: device, at: .sandbox, environment: .sandbox, customer: customer, epoch: 1, at: now,
          in: connection)
        return try #require(placed).feed.number
      }
    }
  }

  /// Waits at these feeds, and answers which of them `body` wakes.
  private func woken(_ numbers: [Int64], by body: () async throws -> Void) async throws -> Set<Int64> {
    let waiters = numbers.map { feeds.waiters.add($0) }
    try await body()
    var woken: Set<Int64> = []
    for waiter in waiters {
      if await waiter.signal.wait(atMost: .zero, clock: SystemMonotonicClock()) { woken.insert(waiter.feed) }
      feeds.waiters.remove(waiter)
    }
    return woken
  }

  @Test(
    "news of a customer wakes all of that customer's feeds and no others, however many they are",
    arguments: [1, 99, 100, 101, 250])
  func others(count: Int) async throws {
    let purchase = try purchase(1)
    let own = try await enroll(purchase, feeds: count)
    let other = try await enroll(try self.purchase(2), feeds: 2)
    let told = try await woken(own + other) { await feeds.noteNews(of: [purchase]) }
    #expect(told == Set(own))
    let device = try #require(DeviceIdentifier("new"))
    let shown = try await woken(own + other) {
      #expect(await feeds.enroll(device, at: .sandbox, showing: [purchase]) != nil)
    }
    #expect(shown == Set(own))
  }

  private func reads() throws -> UInt64 { try database.statistics().reads.waits.counts.reduce(0, +) }

  @Test(
    "a poll that begins again behind an answer with nothing asks the database nothing, unless something was heard since"
  )
  func quietPoll() async throws {
    let purchase = try purchase(1)
    _ = try await enroll(purchase, feeds: 0)
    let device = try #require(DeviceIdentifier("reader"))
    let reference = try #require(await feeds.enroll(device, at: .sandbox, showing: [purchase]))
    func ask(_ cursor: FeedService.Cursor?, waiting seconds: Int64) async throws -> FeedService.Answer {
      try await feeds.answer(
        token: reference.token, device: device, after: cursor, waiting: .seconds(seconds))
    }
    /// Waits for nothing until the poll is over, and answers the cursor.
    func pollToItsEnd(_ cursor: FeedService.Cursor) async throws -> FeedService.Cursor {
      guard case .later(let poll) = try await ask(cursor, waiting: 60) else { throw Told() }
      timer.advance(by: .seconds(60))
      feeds.waiters.end(poll)
      guard case .reading(let reading) = try await feeds.answer(to: poll) else { throw Told() }
      #expect(reading.page.items.isEmpty)
      return reading.page.cursor
    }
    guard case .reading(let whole) = try await ask(nil, waiting: 0) else { throw Told() }
    let cursor = try await pollToItsEnd(whole.page.cursor)
    var before = try reads()
    guard case .later(let second) = try await ask(cursor, waiting: 60) else { throw Told() }
    #expect(try reads() == before)
    // It waits, and hears of news as any poll does.
    await feeds.noteNews(of: [purchase])
    #expect(await feeds.waiters.nextPolls(limit: 8, clock: timer).map { $0 === second } == [true])
    feeds.waiters.didAnswer(second)

    for hears in [false, true] {
      let cursor = try await pollToItsEnd(cursor)
      if hears { await feeds.noteNews(of: [purchase]) } else { timer.advance(by: .seconds(61)) }
      before = try reads()
      guard case .later(let poll) = try await ask(cursor, waiting: 60) else { throw Told() }
      #expect(try reads() > before)
      feeds.waiters.didAnswer(poll)
    }
  }

  private struct Told: Error {}

  @Test("the feeds that customers had before they became one are all that one's")
  func merged() async throws {
    var own: [Int64] = []
    for number in 1...4 { own += try await enroll(try purchase(number), feeds: 3) }
    // The same account of the application.
    let grants = GrantStore(database: database, clock: clock)
    clock.advance(by: .seconds(1))
    let joined = try (1...4).map { try purchase($0, account: "ada") }
    for purchase in joined {
      _ = try await grants.record([purchase], by: .init(joinsAccounts: true)) { _ in }
    }
    let other = try await enroll(try purchase(5), feeds: 1)
    let told = try await woken(own + other) { await feeds.noteNews(of: [joined[2]]) }
    #expect(told == Set(own))
  }

  @Test(
    "the feeds of a customer are read in pages, each of which looks at so many at most",
    arguments: [1, 2, 3, 7])
  func pages(limit: Int) async throws {
    let purchase = try purchase(1)
    let own = try await enroll(purchase, feeds: 7)
    _ = try await enroll(try self.purchase(2), feeds: 7)
    let found = try await database.read { connection in
      let customer = try #require(try LedgerTable.find(purchase.key, in: connection)).customer
      var found: [Int64] = []
      var place: FeedTable.CustomerPlace?
      repeat {
        let page = try FeedTable.feeds(of: customer, after: place, limit: limit, in: connection)
        #expect(page.feeds.count <= limit)
        found += page.feeds
        place = page.next
      } while place != nil
      return found
    }
    #expect(found == own)
  }
}
