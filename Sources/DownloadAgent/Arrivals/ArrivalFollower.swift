import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import PullboxAPI
import ServiceRuntime
import SystemCalls

/// Follows the feed of the store's account: what is told there is fetched by the agent's policy, without a command. One
/// question is open at a time, for ``wait``; a feed that is not answered is asked again at growing intervals.
///
/// Where it stands is saved with what is to be fetched and what is listed, in one write: so nothing is told twice, and what is here
/// or was removed here is not fetched again. The first answer of a feed is only where it begins: what was there before is the
/// reader's to restore.
///
/// Where the policy is to fetch nothing and to list nothing, the feed is asked once a day, for what it tells of the ownership of what is
/// in the library.
///
/// ```swift
/// async let following: Void = arrivals.run()      // until the task is cancelled
/// ```
actor ArrivalFollower {
  /// How long the server may keep a question open: with ``pace``, one question a minute while nothing happens. Proxies give up on answers
  /// that take longer than a minute or so.
  static let wait: Duration = .seconds(59)
  /// Between two questions, whatever the server answers: one that answers at once must not be asked without end.
  static let pace: Duration = .seconds(1)
  /// How long it is left alone where the server knows no feeds.
  static let pauseWithoutFeeds: Duration = .seconds(3600)
  /// A store may renew a little late: how often a receipt is looked at again after a subscription's end.
  static let receiptChecks = 6
  /// Entries that are listed, at most: the latest.
  static let maximumListed = 1000

  /// When the feed is asked.
  struct Rhythm: Sendable {
    /// Before the first question.
    var delay: Duration = .zero
    /// How long the server may keep a question open.
    var wait: Duration
    /// Between two questions.
    var pace: Duration
    /// After a question that was not answered, at least.
    var pauseAfterFailure: Duration = .zero

    /// For what is to be fetched, or listed.
    static let ofArrivals = Rhythm(wait: ArrivalFollower.wait, pace: ArrivalFollower.pace)
    /// For what is told of ownership alone. An agent that ends soon after its start does not ask.
    static let ofOwnership = Rhythm(
      delay: .seconds(600), wait: .zero, pace: .seconds(86_400), pauseAfterFailure: .seconds(3600))
  }

  /// The database with the place in the feed.
  let database: AgentDatabase
  /// The client of the delivery server.
  let server: DeliveryClient
  /// The client of the store, whose receipts are dropped when another is needed.
  let store: StoreQueueClient
  /// The manager that shows receipts to the server.
  let transactions: TransactionManager
  /// The manager that fetches.
  let downloads: DownloadManager
  /// The keeper of the license, which is renewed where the feed answers.
  let licenses: LicenseKeeper
  /// The hub that observers hear from.
  let hub: EventHub
  /// The policies by which entries are fetched or listed.
  let policies: ArrivalPolicies
  /// The keeper of titles and covers, which runs beside.
  let listings: ListingKeeper
  /// The clock of pauses.
  let clock: any MonotonicClock
  /// The clock of dates in the feed.
  let wallClock: any WallClock
  /// The log of failures; none of them ends the following.
  let log: Log
  /// The pauses after questions that failed.
  let backoff: Backoff
  /// How long until it is looked again whether what was under way is here.
  let secondLook: Duration
  /// The rhythm where something may be fetched or listed.
  private let arrivalRhythm: Rhythm
  /// The rhythm where neither may be.
  private let ownershipRhythm: Rhythm
  /// The pauses between looks at the receipt after a subscription's end: up to 2 s, 6 s, 18 s and so on.
  let receiptBackoff = Backoff(initial: .seconds(2), factor: 3, cap: .seconds(600), jitter: 0.2)

  /// Answers of the feed that were taken.
  var answers = 0
  /// The thread of the actor, since its database blocks.
  private let thread = BlockingThread(name: "arrivals")
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.asUnownedSerialExecutor() }
  /// The address and the token of the feed; nil while neither is known.
  var reference: FeedReference?
  /// The reference that came with the receipt last.
  var shown: FeedReference?
  /// Whether the place of an earlier process was read.
  private var isRestored = false
  /// The place in the feed behind the last answer that was saved; nil before the first.
  var cursor: String?
  /// The entries to be fetched, at once or in their slots.
  var due: [ProductIdentifier: FeedEntry] = [:] {
    didSet { slots.update(due, wall: wallClock.now(), now: clock.now()) }
  }
  /// The times at which due entries may be fetched.
  var slots = ArrivalSlots()
  /// The entries that wait for the reader to ask for them.
  var listed: [ProductIdentifier: FeedEntry] = [:]
  /// Fetched by itself, and not in the library yet: whether it corrects what is there.
  var awaited: [ProductIdentifier: Bool] = [:]
  /// Looks at the receipt that are left since the last subscription's end.
  var receiptChecksLeft = 0
  /// Raised when looks at the receipt are due.
  let receiptWakeUp = AsyncSignal()
  /// Raised when the way to the server is there again.
  nonisolated let wayOpened = AsyncSignal()
  /// Raised when entries are due.
  let slotWakeUp = AsyncSignal()

  /// A follower that asks nothing before ``run()``. It reads its place in the feed at the first question.
  init(
    database: AgentDatabase, server: DeliveryClient, store: StoreQueueClient,
    transactions: TransactionManager, downloads: DownloadManager, licenses: LicenseKeeper, hub: EventHub,
    policies: ArrivalPolicies,
    listings: ListingKeeper, clock: any MonotonicClock, wallClock: any WallClock, log: Log,
    backoff: Backoff = Backoff(initial: .seconds(1), cap: .seconds(300)),
    secondLook: Duration = .seconds(60), arrivalRhythm: Rhythm = .ofArrivals,
    ownershipRhythm: Rhythm = .ofOwnership
  ) {
    self.database = database
    self.server = server
    self.store = store
    self.transactions = transactions
    self.downloads = downloads
    self.licenses = licenses
    self.hub = hub
    self.policies = policies
    self.listings = listings
    self.clock = clock
    self.wallClock = wallClock
    self.log = log
    self.backoff = backoff
    self.secondLook = secondLook
    self.arrivalRhythm = arrivalRhythm
    self.ownershipRhythm = ownershipRhythm
  }

  /// Runs until the task is cancelled.
  func run() async {
    server.path.network.signalOpenings(to: wayOpened)
    server.path.network.signalOpenings(to: listings.wakeUp)
    guard !policies.areNothing else { return await follow(ownershipRhythm) }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.follow(self.arrivalRhythm) }
      group.addTask { await self.watchSlots() }
      group.addTask { await self.watchReceipt() }
      group.addTask { await self.watchPurchases() }
      group.addTask { await self.watchLibrary() }
      group.addTask { await self.listings.run() }
    }
  }

  /// Returns the arrivals that wait for the reader to ask for them, the newest first.
  func news() async throws -> [NewsEntry] {
    try restore()
    let held = try await heldVersions()
    for (product, entry) in listed {
      if entry.version.map({ version in held[product].map { $0 < version } ?? true }) ?? false { continue }
      try database.removeArrival(of: product)
      listed[product] = nil
    }
    let library = downloads.steps.library
    return Self.newestFirst(listed.values).map { entry in
      NewsEntry(
        entry, title: library.listings[entry.product]?.title, cover: library.cover(of: entry.product))
    }
  }

  /// Sorts by date, the newest first. Entries of one date are sorted by name; those without a date come last.
  static func newestFirst(_ entries: some Sequence<FeedEntry>) -> [FeedEntry] {
    entries.sorted { left, right in
      guard left.publicationDate != right.publicationDate else { return left.product < right.product }
      guard let date = left.publicationDate else { return false }
      return right.publicationDate.map { date > $0 } ?? true
    }
  }

  /// Sleeps; returns early when the task is cancelled.
  func pause(_ duration: Duration) async {
    // Cancelled when the agent stops.
    try? await clock.sleep(for: duration)
  }

  /// Reads once where an earlier process stood.
  func restore() throws {
    guard !isRestored else { return }
    let arrivals = try database.arrivals()
    (cursor, due, listed) = (arrivals.cursor, arrivals.due, arrivals.listed)
    isRestored = true
    slotWakeUp.signal()
  }

  /// The highest undamaged version of each product in the library.
  func heldVersions() async throws -> [ProductIdentifier: ContentVersion] {
    let items = try await downloads.steps.library.items()
    return Dictionary(
      items.filter { $0.state != .damaged }.map { ($0.product, $0.version) }, uniquingKeysWith: max)
  }
}
