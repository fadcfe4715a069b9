import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import PullboxAPI
import PullboxAPIClient
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

  let database: AgentDatabase
  let server: DeliveryClient
  let store: StoreQueueClient
  let transactions: TransactionManager
  let downloads: DownloadManager
  let hub: EventHub
  let policies: ArrivalPolicies
  let listings: ListingKeeper
  let clock: any MonotonicClock
  let wallClock: any WallClock
  let log: Log
  private let backoff: Backoff
  /// How long until it is looked again whether what was under way is here.
  private let secondLook: Duration
  private let ownershipRhythm: Rhythm
  private let receiptBackoff = Backoff(initial: .seconds(2), factor: 3, cap: .seconds(600), jitter: 0.2)

  /// Answers of the feed that were taken.
  private(set) var answers = 0
  private let thread = BlockingThread(name: "arrivals")
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.asUnownedSerialExecutor() }
  private var reference: FeedReference?
  /// The reference that came with the receipt last.
  private var shown: FeedReference?
  private var isRestored = false
  private var cursor: String?
  /// The entries to be fetched, at once or in their slots.
  private var due: [ProductIdentifier: FeedEntry] = [:] {
    didSet { slots.update(due, wall: wallClock.now(), now: clock.now()) }
  }
  private var slots = ArrivalSlots()
  private var listed: [ProductIdentifier: FeedEntry] = [:]
  /// Fetched by itself, and not in the library yet: whether it corrects what is there.
  private var awaited: [ProductIdentifier: Bool] = [:]
  private var receiptChecksLeft = 0
  private let receiptWakeUp = AsyncSignal()
  private let slotWakeUp = AsyncSignal()

  init(
    database: AgentDatabase, server: DeliveryClient, store: StoreQueueClient,
    transactions: TransactionManager, downloads: DownloadManager, hub: EventHub, policies: ArrivalPolicies,
    listings: ListingKeeper, clock: any MonotonicClock, wallClock: any WallClock, log: Log,
    backoff: Backoff = Backoff(initial: .seconds(1), cap: .seconds(300)),
    secondLook: Duration = .seconds(60), ownershipRhythm: Rhythm = .ofOwnership
  ) {
    self.database = database
    self.server = server
    self.store = store
    self.transactions = transactions
    self.downloads = downloads
    self.hub = hub
    self.policies = policies
    self.listings = listings
    self.clock = clock
    self.wallClock = wallClock
    self.log = log
    self.backoff = backoff
    self.secondLook = secondLook
    self.ownershipRhythm = ownershipRhythm
  }

  /// Runs until the task is cancelled.
  func run() async {
    guard !policies.areNothing else { return await follow(ownershipRhythm) }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.follow(.ofArrivals) }
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
  private static func newestFirst(_ entries: some Sequence<FeedEntry>) -> [FeedEntry] {
    entries.sorted { left, right in
      guard left.publicationDate != right.publicationDate else { return left.product < right.product }
      guard let date = left.publicationDate else { return false }
      return right.publicationDate.map { date > $0 } ?? true
    }
  }

  private func follow(_ rhythm: Rhythm) async {
    if rhythm.delay > .zero { await pause(rhythm.delay) }
    // The receipt is shown once for both: for the feed, and for what was bought while no agent ran.
    await transactions.hasLooked.wait()
    var failures = 0
    while !Task.isCancelled {
      do {
        if try await isOfInterest(), try await !ask(waiting: rhythm.wait) {
          await pause(max(Self.pauseWithoutFeeds, rhythm.pace))
          continue
        }
        failures = 0
        await pause(rhythm.pace)
      } catch {
        if Task.isCancelled { return }
        failures += 1
        let failure = StepFailure(error)
        var delay = max(backoff.delay(afterFailures: failures), rhythm.pauseAfterFailure)
        if case .retry(let told?) = failure.recovery { delay = max(delay, told) }
        log.info(
          "the feed cannot be read",
          [
            "reason": "\(failure.reason)",
            "cause": LogValue(failure.cause ?? failure.problem?.description ?? "-"),
          ])
        await pause(delay)
      }
    }
  }

  private func pause(_ duration: Duration) async {
    // Cancelled when the agent stops.
    try? await clock.sleep(for: duration)
  }

  /// Whether the feed may tell something that matters here: an empty library has nothing of which the ownership could end.
  private func isOfInterest() async throws -> Bool {
    guard policies.areNothing else { return true }
    return try await !downloads.steps.library.items().isEmpty
  }

  /// False where the server knows no feeds.
  private func ask(waiting wait: Duration) async throws -> Bool {
    try restore()
    guard let reference = try await currentReference() else { return false }
    let answer: FeedResponse
    do {
      answer = try await server.feed(reference, after: cursor, wait: wait)
    } catch {
      // The token is over, or of a server that was set up anew: the receipt brings another.
      if error.isRefusedToken { self.reference = nil }
      throw error
    }
    self.reference = answer.feed
    try await take(answer)
    answers += 1
    return true
  }

  /// Reads once where an earlier process stood.
  private func restore() throws {
    guard !isRestored else { return }
    let arrivals = try database.arrivals()
    (cursor, due, listed) = (arrivals.cursor, arrivals.due, arrivals.listed)
    isRestored = true
    slotWakeUp.signal()
  }

  /// A receipt that was shown meanwhile may have brought another feed: what was bought is a customer's.
  private func currentReference() async throws -> FeedReference? {
    if let latest = await transactions.latestFeed, latest != shown { (reference, shown) = (latest, latest) }
    if let reference, reference.expires > wallClock.now() { return reference }
    reference = try await transactions.feedReference()
    shown = reference
    return reference
  }

  private func take(_ answer: FeedResponse) async throws {
    try await noteOffered(answer.entries)
    // What cannot be saved is told again: the place in the feed is saved after it.
    for item in try await downloads.steps.library.noteOwnership(of: answer.entries) {
      hub.publish(.library(LibraryEvent(change: .changed, item: item)))
    }
    guard cursor != nil, !answer.entries.isEmpty || answer.isWhole else {
      if cursor != answer.cursor { try database.setFeedCursor(answer.cursor) }
      cursor = answer.cursor
      return
    }
    let held = try await heldVersions()
    // Of a feed that is another one than before, as at the first answer: what is not here is for a restore.
    let expected = Set(due.keys).union(listed.keys)
    let entries =
      answer.isWhole
      ? answer.entries.filter { held[$0.product] != nil || expected.contains($0.product) } : answer.entries
    let plan = ArrivalPlan(entries, policies: policies, held: held, expected: expected)
    // What a whole feed does not tell of is owned no more.
    var arrivals = AgentDatabase.Arrivals(
      cursor: answer.cursor, due: answer.isWhole ? [:] : due, listed: answer.isWhole ? [:] : listed)
    for entry in answer.entries {
      // What is told later counts: what was withdrawn is not fetched any more.
      arrivals.due[entry.product] = nil
      arrivals.listed[entry.product] = nil
    }
    for entry in plan.listed { arrivals.listed[entry.product] = entry }
    for oldest in Self.newestFirst(arrivals.listed.values).dropFirst(Self.maximumListed) {
      arrivals.listed[oldest.product] = nil
    }
    for entry in plan.fetched { arrivals.due[entry.product] = entry }
    let arriving = (plan.fetched + plan.listed).map(\.product)
    downloads.steps.library.listings.noteArrival(of: arriving)
    // What cannot be saved is told again.
    try database.save(arrivals, expectingListingsOf: arriving)
    (cursor, due, listed) = (arrivals.cursor, arrivals.due, arrivals.listed)
    for entry in plan.fetched { awaited[entry.product] = held[entry.product] != nil }
    for entry in entries { hub.publish(.owned(entry)) }
    if plan.needsReceipt {
      receiptChecksLeft = Self.receiptChecks
      receiptWakeUp.signal()
    }
    slotWakeUp.signal()
    listings.wakeUp.signal()
  }

  /// Notes the versions that the server offers now. Placed versions that are not offered any more rank behind the offered
  /// one, and so do those that are placed later. Calling it again with the same entries changes nothing.
  private func noteOffered(_ entries: [FeedEntry]) async throws {
    let offered = Dictionary(
      entries.compactMap { entry in entry.version.map { (entry.product, $0) } }, uniquingKeysWith: { $1 })
    guard !offered.isEmpty else { return }
    for item in try await downloads.steps.library.noteOffered(offered) {
      hub.publish(.library(LibraryEvent(change: .changed, item: item)))
    }
  }

  /// Begins the download. A version that comes while another one of its product is under way is looked at again.
  private func fetch(_ entry: FeedEntry) async throws {
    let held = try await heldVersions()[entry.product]
    let isHere = entry.version.map { version in held.map { version <= $0 } ?? false } ?? false
    var begins = false
    if !isHere { begins = try await downloads.addMissing(entry.product, for: entry.transaction) }
    if begins {
      log.info(
        "what has arrived is fetched",
        ["product": "\(entry.product)", "transaction": "\(entry.transaction)"])
    }
    // Another one may have come meanwhile.
    guard due[entry.product] == entry else { return }
    if isHere || begins {
      try database.removeArrival(of: entry.product)
      due[entry.product] = nil
    } else {
      slots.postpone(entry.product, until: clock.now() + secondLook)
    }
  }

  /// Fetches what is due.
  private func watchSlots() async {
    var failures = 0
    while !Task.isCancelled {
      let now = clock.now()
      let entries = Self.newestFirst(due.values.filter { slots.isDue($0.product, at: now) })
      // What was withdrawn meanwhile is not fetched.
      for entry in entries where due[entry.product] == entry {
        do {
          try await fetch(entry)
          failures = 0
        } catch {
          log.error(
            "a download cannot be created", ["product": "\(entry.product)", "error": LogValue(error)])
          failures += 1
          if due[entry.product] == entry {
            slots.postpone(entry.product, until: clock.now() + backoff.delay(afterFailures: failures))
          }
        }
      }
      await slotWakeUp.wait(
        atMost: slots.next.map { max($0 - clock.now(), .milliseconds(1)) }, clock: clock)
    }
  }

  /// After a subscription's end the store may have renewed it: a fresh receipt tells the server.
  private func watchReceipt() async {
    while !Task.isCancelled {
      guard receiptChecksLeft > 0 else {
        await receiptWakeUp.wait(atMost: nil, clock: clock)
        continue
      }
      let delay = receiptBackoff.delay(afterFailures: Self.receiptChecks - receiptChecksLeft)
      receiptChecksLeft -= 1
      if delay > .zero { await pause(delay) }
      await store.noteNewPurchase()
      _ = await showReceipt()
    }
  }

  /// Shows the receipt to the server whenever purchases have changed. The server learns of a purchase by another device
  /// of the account only from a receipt that this device shows: it has no feed of that customer before.
  private func watchPurchases() async {
    var failures = 0
    var delay: Duration?
    while !Task.isCancelled {
      if let delay {
        await pause(delay)
      } else {
        await transactions.receiptChanged.wait(atMost: nil, clock: clock)
      }
      // What is refused for good is refused until something else is bought.
      if case .retry(let told) = await showReceipt()?.recovery {
        failures += 1
        delay = max(backoff.delay(afterFailures: failures), told ?? .zero)
      } else {
        (failures, delay) = (0, nil)
      }
    }
  }

  /// Why it could not be shown; nil where it was.
  @discardableResult
  private func showReceipt() async -> StepFailure? {
    do {
      let owned = try await transactions.entitlements().products
      log.debug("the receipt was shown again", ["owned": "\(owned.count)"])
      return nil
    } catch {
      let failure = StepFailure(error)
      guard !Task.isCancelled else { return failure }
      log.info(
        "the receipt cannot be shown",
        [
          "reason": "\(failure.reason)",
          "cause": LogValue(failure.cause ?? failure.problem?.description ?? "-"),
        ])
      return failure
    }
  }

  /// Tells observers when something that has arrived is in the library.
  private func watchLibrary() async {
    while !Task.isCancelled {
      guard let observer = hub.subscribe() else {
        await pause(.seconds(60))
        continue
      }
      while let item = await observer.next() {
        guard case .event(.library(let event)) = item, event.change == .placed,
          let corrects = awaited.removeValue(forKey: event.item.product)
        else { continue }
        hub.publish(corrects ? .correctionReady(event.item) : .issueReady(event.item))
      }
      hub.unsubscribe(observer)
      // The hub is closed, or this observer fell behind.
      await pause(.seconds(1))
    }
  }

  private func heldVersions() async throws -> [ProductIdentifier: ContentVersion] {
    let items = try await downloads.steps.library.items()
    return Dictionary(
      items.filter { $0.state != .damaged }.map { ($0.product, $0.version) }, uniquingKeysWith: max)
  }
}

extension APICallError {
  fileprivate var isRefusedToken: Bool {
    guard case .problem(let problem) = self else { return false }
    return problem.status == 401 || problem.status == 403
  }
}
