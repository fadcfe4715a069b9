import Commerce
package import ContentCatalog
package import ContentDelivery
package import CoreTypes
import Crypto
package import Database
package import DeliveryModel
package import DeliveryRecords
package import Entitlements
package import Monitoring
import PaymentStores
package import PullboxAPI
import RouteAccess
package import ServiceRuntime
import Synchronization

/// Tells each device what becomes of what its customer owns: one feed for each device, store and customer, made when a proof is
/// shown, and read with a token.
///
/// A feed's news is found by comparison (``FeedPlan``), and written down before it is told: so nothing is lost or told
/// twice, however server and device end. A request that waits looks at the database when something wakes it (a change of the
/// catalog, a proof of the same customer, a refund), and when a period or a date comes of itself.
///
///     let reference = try await feeds.enroll(device, at: store, showing: transactions, base: base)
///     let answer = try await feeds.answer(token: token, device: device, after: cursor, waiting: .seconds(60))
package final class FeedService: Sendable {
  /// How long a token is good: as long as a ticket may be, so that the file of keys still has its key.
  package static let lifetime: Duration = .seconds(30 * 86_400)
  /// How long a request may wait.
  package static let waits = 0...300
  /// A feed that was not asked for so long is forgotten; its device shows its proof again.
  package static let memory: Duration = .seconds(400 * 86_400)
  /// How often it is looked for changes that another process has made.
  static let watchInterval: Duration = .seconds(15)
  /// How old a count of the devices may be.
  static let countInterval: Duration = .seconds(60)
  /// Transactions of a proof that are looked up to find its customer, at most.
  private static let lookups = 8
  /// For how long a proof that was shown is remembered where other nodes may forget its feed.
  static let enrollmentMemory: Duration = .seconds(60)
  /// How often at most a feed's use is written down, and unused feeds are looked for.
  package static let day: Duration = .seconds(86_400)

  /// The items that a feed tells, and its cursor behind them.
  package struct Page: Sendable {
    /// In the order of their sequence.
    package var items: [FeedItem]
    /// The place behind the items, with which the device comes next.
    var cursor: Cursor
    /// Everything that was ever told, because the cursor was not this feed's.
    package var isWhole: Bool
  }

  /// A place in one feed. On the wire it is `EPOCH-SEQUENCE`, and opaque to clients.
  package struct Cursor: Hashable, Sendable, CustomStringConvertible {
    /// The random number of the feed's life. It tells cursors from before a restore, and those of other feeds,
    /// apart.
    var epoch: Int64
    /// The sequence of the last item that was told, from 0.
    var sequence: Int64

    package var description: String { "\(epoch)-\(sequence)" }

    init(epoch: Int64, sequence: Int64) {
      self.epoch = epoch
      self.sequence = sequence
    }

    /// Nil for what is no cursor.
    init?(_ text: String) {
      let parts = text.split(separator: "-", omittingEmptySubsequences: false)
      guard parts.count == 2, text.utf8.count <= 40, let epoch = Int64(parts[0]),
        let sequence = Int64(parts[1]), epoch >= 0, sequence >= 0
      else { return nil }
      self.init(epoch: epoch, sequence: sequence)
    }
  }

  private struct Enrolled: Sendable {
    package struct Key: Hashable, Sendable {
      package var store: StoreIdentifier
      package var device: DeviceIdentifier
    }

    /// The approximate length of an entry in memory.
    static let length = ByteCount(200)

    var feed: Name
    /// Stands for the transactions.
    var shown: Int
    var since: MonotonicInstant
  }

  /// A feed as tokens name it.
  package struct Name: Hashable, Sendable {
    /// The row of the feed, which is never used again for another one.
    package var number: Int64
    /// ``FeedToken/tag(ofCustomer:)``.
    package var customer: UInt64

    package init(number: Int64, customer: UInt64) {
      self.number = number
      self.customer = customer
    }

    /// The name of a feed that was read, with the tag of its customer.
    package init(_ feed: FeedTable.Feed) {
      self.init(number: feed.number, customer: FeedToken.tag(ofCustomer: feed.customer?.bytes))
    }
  }

  /// The content of the answer to a request.
  package struct Reading: Sendable {
    var page: Page
    var feed: Name
    /// Whether the answer must bring a token: half the time of the one that the request came with is over.
    var renewsToken: Bool
  }

  /// The feeds, grants and the ledger.
  package let database: Database
  /// The products and versions that are offered now.
  package let catalog: CatalogCache
  /// The rules by which transactions open products.
  package let rules: EntitlementRules
  private let settings: LiveSettings
  /// The clock that subscriptions, releases and tokens are compared with.
  package let clock: any WallClock
  /// The clock that waits are measured by, which no operator sets.
  package let timer: any MonotonicClock
  /// How a release is spread over its devices.
  package let pace: ReleasePace
  /// The products that the last look has arranged, for the next look.
  let arranged: Mutex<RelatedProducts.Arranged?> = Mutex(nil)
  let counted: Mutex<(devices: Int, at: MonotonicInstant)?> = Mutex(nil)
  private let publicURL: String
  /// Products of one feed that are told of, at most.
  let maximumItems: Int
  let log: Log
  /// Tells other nodes of customers whose feeds have news; nil for the only server of a file.
  let news: ChangeSender?
  /// The keys that licenses are signed with.
  let licenseKeys: LicenseKeys
  let waiters = FeedWaiters()
  /// The proofs that devices have shown lately: showing one again asks the database nothing.
  private let enrolled = Mutex(
    RecentlyUsedCache<Enrolled.Key, Enrolled>(maximumCount: 65_536, maximumLength: .mebibytes(16)))
  let told = Atomic<Int>(0)
  let watcher: Worker
  let watched = Mutex(Watched())

  /// The state that the watcher has seen.
  struct Watched {
    var revision: CatalogRevision?
    var swept: MonotonicInstant?
  }

  /// `pace` is over how long a release's devices are spread.
  package init(
    database: Database, catalog: CatalogCache, rules: EntitlementRules, settings: LiveSettings,
    clock: any WallClock, timer: any MonotonicClock, pace: ReleasePace, publicURL: String,
    maximumItems: Int = FeedTable.maximumItems, log: Log
  ) {
    self.database = database
    self.catalog = catalog
    self.rules = rules
    self.settings = settings
    self.clock = clock
    self.timer = timer
    self.pace = pace
    self.publicURL = publicURL
    self.maximumItems = maximumItems
    self.log = log
    news = database.isShared ? ChangeSender(.feeds, database: database, timer: timer, log: log) : nil
    watcher = Worker(clock: timer)
    licenseKeys = LicenseKeys(database: database)
  }

  /// How long a license is good.
  var licenseLifetime: Duration { settings.value.licenseLifetime }

  /// A feed that was written down with something else.
  package struct Written: Sendable {
    fileprivate var feed: Name
    fileprivate var ended: Int64?
    /// The customers of whom the same write has told the ledger something; empty where that is not known.
    var customers: Set<CustomerIdentifier> = []
  }

  /// The epoch of a feed that may have to be made: for a write whose body may run twice.
  package static func epoch() -> Int64 { Int64.random(in: 0...(1 << 53)) }

  /// Writes down the feed that ``enroll(_:at:showing:written:base:)`` would write, in a write of the caller's that locks the
  /// device's feed. Nil where the customer is not known.
  static func put(
    _ device: DeviceIdentifier, at store: StoreIdentifier, of customer: CustomerIdentifier?,
    in environment: StoreEnvironment?, epoch: Int64, now: Timestamp, connection: borrowing Connection
  ) throws -> Written? {
    guard let customer else { return nil }
    return try FeedTable.put(
      of: device, at: store, environment: environment, customer: customer, epoch: epoch, at: now,
      in: connection
    ).map { Written(feed: Name($0.feed), ended: $0.ended) }
  }

  /// The feed on the device of the customer whose these transactions are; one that tells nothing where the ledger has none of them.
  /// `base` is put before its address where no public URL is configured. Nil where it cannot be written down: what was asked for is
  /// answered all the same.
  func enroll(
    _ device: DeviceIdentifier, at store: StoreIdentifier, showing transactions: [VerifiedTransaction],
    written: Written? = nil, base: String = ""
  ) async -> FeedReference? {
    let key = Enrolled.Key(store: store, device: device)
    let shown = Set(transactions).hashValue
    let earlier = enrolled.locked { $0.value(for: key) }
    let isFresh = earlier.map { news == nil || timer.now() - $0.since < Self.enrollmentMemory } ?? false
    if let earlier, isFresh, earlier.shown == shown, written.map({ $0.feed == earlier.feed }) ?? true {
      return reference(to: earlier.feed, of: device, base: base)
    }
    if let written {
      enrolled.locked {
        $0.insert(
          Enrolled(feed: written.feed, shown: shown, since: timer.now()), for: key, length: Enrolled.length)
      }
      waiters.wake([written.ended].compactMap(\.self))
      await noteNews(of: transactions, bought: written.customers)
      return reference(to: written.feed, of: device, base: base)
    }
    do {
      let latest = transactions.sorted { $0.purchaseDate > $1.purchaseDate }.prefix(Self.lookups)
      let (found, isEnding, customer) = try await database.read { connection in
        var customer: CustomerIdentifier?
        for transaction in latest where customer == nil {
          customer = try LedgerTable.find(transaction.key, in: connection)?.customer
        }
        return (
          try FeedTable.find(of: device, at: store, customer: customer, in: connection),
          try customer != nil
            && FeedTable.find(of: device, at: store, customer: nil, in: connection) != nil,
          customer
        )
      }
      var placed = found.map { FeedTable.Placed(feed: $0) }
      if placed == nil || isEnding {
        let (now, epoch) = (clock.now(), Self.epoch())
        placed = try await database.write(locking: [.feed(of: device, at: store)]) { connection in
          try FeedTable.put(
            of: device, at: store, environment: latest.first?.environment, customer: customer, epoch: epoch,
            at: now, in: connection)
        }
      }
      guard let placed else { return nil }
      let name = Name(placed.feed)
      enrolled.locked {
        $0.insert(Enrolled(feed: name, shown: shown, since: timer.now()), for: key, length: Enrolled.length)
      }
      waiters.wake([name.number] + [placed.ended].compactMap(\.self))
      // What this proof shows may be news to the customer's other devices.
      if let customer { await wakeFeeds(of: [customer]) }
      return reference(to: name, of: device, base: base)
    } catch {
      log.warning("a device's feed cannot be made", ["device": LogValue(device), "error": LogValue(error)])
      return nil
    }
  }

  /// The ledger has something new of these transactions: the devices of their customers that wait look at it. Where the customers are
  /// not known they are read.
  func noteNews(
    of transactions: [VerifiedTransaction], bought customers: Set<CustomerIdentifier> = []
  ) async {
    guard waiters.mustHear || news != nil else { return }
    guard customers.isEmpty else { return await wakeFeeds(of: customers) }
    do {
      let customers = try await database.read { connection in
        var customers: Set<CustomerIdentifier> = []
        for transaction in transactions.prefix(Self.lookups) {
          if let known = try LedgerTable.find(transaction.key, in: connection) {
            customers.insert(known.customer)
          }
        }
        return customers
      }
      await wakeFeeds(of: customers)
    } catch {
      logUnfound(error)
    }
  }

  /// Wakes those who wait at the feeds of these customers, at all nodes.
  private func wakeFeeds(of customers: Set<CustomerIdentifier>) async {
    news?.add(Set(customers.map { Hexadecimal.encode($0.bytes) }))
    await wakeWaiters(of: customers)
  }

  /// Wakes those who wait here at the feeds of these customers, and no others, as each page of feeds is found.
  func wakeWaiters(of customers: Set<CustomerIdentifier>) async {
    do {
      for customer in customers {
        var place: FeedTable.CustomerPlace?
        repeat {
          // Who comes from now on looks for itself.
          guard waiters.mustHear else { return }
          let start = place
          let page = try await database.read { try FeedTable.feeds(of: customer, after: start, in: $0) }
          waiters.wake(page.feeds)
          place = page.next
        } while place != nil
      }
    } catch {
      logUnfound(error)
    }
  }

  /// The waiting devices hear of the news when they ask next.
  private func logUnfound(_ error: any Error) {
    // Which of those that were answered with nothing it is about is not known.
    waiters.withQuiet { $0.forgetAll() }
    log.warning("waiting devices cannot be found", ["error": LogValue(error)])
  }

  /// The reference that replaces the one by which the feed was read.
  func reference(to feed: Name, of device: DeviceIdentifier, base: String) -> FeedReference {
    let now = clock.now()
    let expires = now + Self.lifetime
    let seconds = max(0, expires.secondsSinceEpoch)
    let token = FeedToken(
      expiry: UInt64(seconds), feed: feed.number, device: Ticket.tag(of: device), customer: feed.customer)
    return FeedReference(
      url: "\(publicURL.isEmpty ? base : publicURL)/v1/feed",
      token: token.sealed(with: settings.value.keys.sealing(at: now)),
      expires: Timestamp(millisecondsSinceEpoch: seconds * 1000))
  }

  /// Returns the item as its device is told of it.
  package func entry(_ item: FeedItem) -> FeedEntry {
    let product = catalog.latest[item.product]?.product
    let isOffered = item.length != nil
    let isKept = item.kind == .revoked && catalog.latest.keepsRevoked(item.product)
    return FeedEntry(
      kind: item.kind, product: item.product, publication: product?.publication,
      publicationDate: product?.publicationDate, version: isOffered ? item.version : nil,
      length: item.length, transaction: item.transaction, notBefore: item.notBefore, until: item.until,
      keep: isKept ? true : nil)
  }

  /// The feed is not there any more: a proof that its device shows makes another.
  func forgetEnrollment(in feed: Name) {
    enrolled.locked { $0.removeAll { $0.feed == feed } }
  }

  /// The catalog has changed, or what stores say of transactions.
  package func wake() { waiters.wake() }

  /// Ends every wait: the server stops.
  package func close() { waiters.close() }

  func open(
    _ token: String?, of device: DeviceIdentifier
  ) throws(Problem) -> (feed: Name, expiry: Timestamp) {
    guard let token else { throw Problem(.unauthorized, "a feed's token is needed in Authorization: Bearer") }
    let opened: FeedToken
    do {
      opened = try FeedToken(
        token, openedWith: settings.value.keys, now: UInt64(max(0, clock.now().secondsSinceEpoch)))
    } catch {
      switch error {
      case .expired: throw Problem(.unauthorized, "the feed's token has expired; show the proof again")
      case .invalid: throw Problem(.forbidden, "that is no token of this server's")
      }
    }
    guard opened.device == Ticket.tag(of: device) else {
      throw Problem(.forbidden, "the feed is another device's")
    }
    return (
      Name(number: opened.feed, customer: opened.customer),
      Timestamp(millisecondsSinceEpoch: Int64(clamping: opened.expiry) * 1000)
    )
  }
}

extension FeedService: MetricSource {
  /// Adds the entries that this process has told since its start, and the requests that wait now.
  package func register(in metrics: inout MetricRegistry) {
    metrics.register([
      .counter("pullbox_feed_entries_total", help: "Entries that feeds told to devices.") {
        self.told.load(ordering: .relaxed)
      },
      .gauge("pullbox_feed_waiting", help: "Requests that wait for something to tell.") {
        self.waiters.count
      },
    ])
  }
}
