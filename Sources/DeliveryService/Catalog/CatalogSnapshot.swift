import Commerce
import CoreTypes
import Database
import PullboxAPI
import Synchronization
import SystemCalls

/// Every product, decoded, with what is released of it, as the catalog was at one revision. A value: who has one may
/// ask it on any thread, and its answers fit each other.
///
///     let catalog = try await cache.current()
///     let content = catalog.offered(product, to: device)
///     let report = rules.evaluate(transactions, catalog: catalog.related(to: ids), now: now)
struct CatalogSnapshot: Sendable {
  struct Entry: Sendable {
    var row: ProductTable.Entry
    var product: Product { row.product }
    /// What every device gets that is in no partial release.
    var releasedToAll: ReleasedContent?
    /// What a part of the devices gets in its place.
    var releasedToPart: PartialRelease?
  }

  struct PartialRelease: Sendable {
    var content: ReleasedContent
    var share: RolloutPercentage
  }

  /// What the database says of the products that have changed since a revision.
  struct Changes: Sendable {
    var revision: CatalogRevision
    /// Those that were removed; one that was made anew since is among ``products`` as well.
    var removed: [ProductIdentifier]
    var products: [ProductTable.StoredDocument]
    var releases: [(content: ReleasedContent, share: RolloutPercentage)]
    /// All of them.
    var publications: [OperatorPublication]
    /// All of them; nil where none has changed.
    var tiers: [PriceTier]?

    /// All that has changed since `revision`; nil where nothing has.
    static func since(
      _ revision: CatalogRevision, in connection: borrowing Connection
    ) throws -> Changes? {
      let current = try CatalogRevision.current(in: connection)
      guard current != revision else { return nil }
      return Changes(
        revision: current, removed: try ProductTable.removed(since: revision.number, in: connection),
        products: try ProductTable.changed(since: revision.number, in: connection),
        releases: try VersionTable.released(since: revision.number, in: connection),
        publications: try PublicationTable.all(in: connection),
        tiers: try PriceTierTable.haveChanged(since: revision.number, in: connection)
          ? try PriceTierTable.all(in: connection) : nil)
    }
  }

  /// Nothing is in it; every change is later.
  static let empty = CatalogSnapshot()

  private(set) var revision = CatalogRevision(number: -1, changed: Timestamp(millisecondsSinceEpoch: 0))
  private var entries: [ProductIdentifier: Entry] = [:]
  private var publications: [ProductIdentifier: Set<ProductIdentifier>] = [:]
  /// The publications that operators have described.
  private(set) var described: [ProductIdentifier: OperatorPublication] = [:]
  private var tiers: [PriceTierName: [String: Price]] = [:]
  private var availability = AvailabilityDates()
  /// Products that the purchase of an application may own.
  private var ownedWithApplications: Set<ProductIdentifier> = []
  /// What subscriptions open, of the publications that have a policy of their own.
  private(set) var policies: [ProductIdentifier: PublicationPolicy] = [:]

  private init() {}

  /// Whether this is the catalog as the database has it.
  func isCurrent(in connection: borrowing Connection) throws -> Bool {
    try CatalogRevision.current(in: connection).number <= revision.number
  }

  /// The number of products.
  var count: Int { entries.count }

  /// Every product, by identifier. Sorts them.
  var entriesInOrder: [Entry] { entries.values.sorted { $0.product.id < $1.product.id } }

  /// The publications that products name, in no order.
  var publicationNames: [ProductIdentifier] { publications.filter { !$0.value.isEmpty }.map(\.key) }

  /// What belongs to the publication or subscribes to it, in no order.
  func products(of publication: ProductIdentifier) -> [Entry] {
    (publications[publication] ?? []).compactMap { entries[$0] }
  }

  /// How many products that are.
  func productCount(of publication: ProductIdentifier) -> Int { publications[publication]?.count ?? 0 }

  /// What the product costs now, and what it cost.
  func prices(of product: Product) -> ProductPrices {
    ProductPrices(of: product, tier: product.priceTier.flatMap { tiers[$0] } ?? [:])
  }

  /// For how long, around that moment, no product comes on sale or goes off it by its dates.
  func steadySale(around now: Timestamp) -> SteadySale { availability.steady(around: now) }

  /// Everything that is cleared for sale to all devices at that moment, by identifier; of the products that belong to an
  /// application those of `application`.
  func productsForSale(at now: Timestamp, in application: ApplicationIdentifier?) -> ProductsForSale {
    let cleared = entriesInOrder.filter { entry in
      entry.row.isOnSale(at: now) && entry.product.isSold(in: application)
        && (entry.product.type.isSubscription ? hasIssue(for: entry.product) : entry.releasedToAll != nil)
    }
    return ProductsForSale(
      products: cleared.map { entry in
        ProductsForSale.Item(
          id: entry.product.id, type: entry.product.type, publication: entry.product.publication,
          changed: entry.row.changed)
      })
  }

  /// Nil when there is no such product.
  subscript(_ product: ProductIdentifier) -> Entry? { entries[product] }

  /// What that device gets now, as ``RolloutPlan/version(for:of:)`` says; nil when nothing is released to it.
  func offered(_ product: ProductIdentifier, to device: DeviceIdentifier) -> ReleasedContent? {
    guard let entry = entries[product] else { return nil }
    if let part = entry.releasedToPart, part.share.includes(device, of: product) { return part.content }
    return entry.releasedToAll
  }

  /// Whether an issue of the subscription's publication is released to all devices: its buyer would wait for ever else.
  func hasIssue(for subscription: Product) -> Bool {
    guard let publication = subscription.publication else { return false }
    return (publications[publication] ?? []).contains { id in
      entries[id].map { !$0.product.type.isSubscription && $0.releasedToAll != nil } ?? false
    }
  }

  /// The products that some proof of these may entitle to, by name: themselves, for a subscription everything in its publication,
  /// and for what is no product, as an application is none, what those may own who bought it.
  func related(to products: some Sequence<ProductIdentifier>) -> [Product] {
    var found: Set<ProductIdentifier> = []
    var opened: Set<ProductIdentifier> = []
    // Most transactions of a long history are for one subscription.
    for product in Set(products) {
      guard let entry = entries[product] else {
        found.formUnion(ownedWithApplications)
        continue
      }
      found.insert(product)
      if entry.product.type.isSubscription, let publication = entry.product.publication,
        opened.insert(publication).inserted
      {
        found.formUnion(publications[publication] ?? [])
      }
    }
    return found.sorted().compactMap { entries[$0]?.product }
  }

  /// Those of which ``EntitlementRecordTable`` may have something that the catalog says no more: payments for subscriptions, and
  /// purchases of applications.
  func recorded(_ transactions: [VerifiedTransaction]) -> [VerifiedTransaction] {
    transactions.filter { $0.origin != nil || self[$0.product]?.product.type.isSubscription == true }
  }

  /// Decodes what has changed, and puts it in the place of what was known. Throws for a document that is no
  /// product; then nothing has changed.
  func applying(_ changes: Changes) throws -> CatalogSnapshot {
    var next = self
    for id in changes.removed { next.remove(id) }
    for stored in changes.products {
      let entry = try stored.entry()
      let id = entry.product.id
      next.availability.replace(next.entries[id]?.product, by: entry.product)
      if let old = next.entries[id]?.product.publication { next.publications[old]?.remove(id) }
      if let publication = entry.product.publication {
        next.publications[publication, default: []].insert(id)
      }
      if entry.product.ownedIf == nil {
        next.ownedWithApplications.remove(id)
      } else {
        next.ownedWithApplications.insert(id)
      }
      next.entries[id] = Entry(row: entry)
    }
    for (content, share) in changes.releases {
      if share.isAll {
        next.entries[content.product]?.releasedToAll = content
      } else {
        next.entries[content.product]?.releasedToPart = PartialRelease(content: content, share: share)
      }
    }
    next.described = Dictionary(
      changes.publications.map { ($0.id, $0) }, uniquingKeysWith: { _, last in last })
    if let tiers = changes.tiers {
      next.tiers = Dictionary(tiers.map { ($0.name, $0.prices) }, uniquingKeysWith: { _, last in last })
    }
    next.availability.sort()
    next.policies = next.described.compactMapValues { $0.policy?.policy }
    next.revision = changes.revision
    return next
  }

  private mutating func remove(_ id: ProductIdentifier) {
    guard let old = entries.removeValue(forKey: id)?.product else { return }
    availability.replace(old, by: nil)
    if let publication = old.publication { publications[publication]?.remove(id) }
    ownedWithApplications.remove(id)
  }
}

extension Product {
  /// Whether readers of that application see it; nil names none, to which what belongs to no application is sold.
  func isSold(in application: ApplicationIdentifier?) -> Bool {
    self.application == nil || self.application == application
  }
}

extension CatalogSnapshot {
  /// When what is for sale at `now` last became so: by a change of the catalog, or by a product's dates.
  func lastChange(before now: Timestamp) -> Timestamp {
    steadySale(around: now).since.map { max($0, revision.changed) } ?? revision.changed
  }
}

/// A time in which products neither come on sale nor go off it by their dates.
struct SteadySale: Hashable, Sendable {
  /// When one last did; nil where none has yet.
  var since: Timestamp?
  /// When the next will; nil where none is to come.
  var until: Timestamp?

  func contains(_ moment: Timestamp) -> Bool {
    (since.map { $0 <= moment } ?? true) && (until.map { moment < $0 } ?? true)
  }
}

/// The moments at which products come on sale or go off it, each as often as there are products that do.
private struct AvailabilityDates: Sendable {
  private var counts: [Timestamp: Int] = [:]
  private var sorted: [Timestamp] = []
  private var isSorted = true

  mutating func replace(_ old: Product?, by new: Product?) {
    let (removed, added) = (
      [old?.availableFrom, old?.availableUntil].compactMap { $0 },
      [new?.availableFrom, new?.availableUntil].compactMap { $0 }
    )
    guard removed != added else { return }
    for date in removed { counts[date] = counts[date].flatMap { $0 > 1 ? $0 - 1 : nil } }
    for date in added { counts[date, default: 0] += 1 }
    isSorted = false
  }

  /// To be called after the last change.
  mutating func sort() {
    guard !isSorted else { return }
    sorted = counts.keys.sorted()
    isSorted = true
  }

  func steady(around now: Timestamp) -> SteadySale {
    // The first that is later.
    var (low, high) = (0, sorted.count)
    while low < high {
      let middle = (low + high) / 2
      if sorted[middle] <= now { low = middle + 1 } else { high = middle }
    }
    return SteadySale(
      since: low > 0 ? sorted[low - 1] : nil, until: low < sorted.count ? sorted[low] : nil)
  }
}

/// Keeps the newest ``CatalogSnapshot``. What has changed is read and decoded once, however many ask for it, and
/// decoded on threads that are not the database's.
final class CatalogCache: Sendable {
  private struct State {
    var snapshot = CatalogSnapshot.empty
    var load: Task<Void, any Error>?
  }

  private let database: Database
  private let state = Mutex(State())

  init(database: Database) {
    self.database = database
  }

  /// The catalog as it is: with every change that was committed before the call. Throws what the database
  /// throws.
  func current() async throws -> CatalogSnapshot {
    try await snapshot(at: try await database.read { try CatalogRevision.current(in: $0) })
  }

  /// What `body` makes of the catalog, the newest that is known. Where the database has a newer one
  /// (``CatalogSnapshot/isCurrent(in:)``, asked in the same read or write as everything else), it answers nil, and is
  /// called again with that. Throws what `body` and the database throw.
  func current<Value>(_ body: (CatalogSnapshot) async throws -> Value?) async throws -> Value {
    var catalog = latest
    while true {
      if let value = try await body(catalog) { return value }
      catalog = try await current()
    }
  }

  /// The newest catalog that is known; the database may have a newer one.
  var latest: CatalogSnapshot { state.withLock { $0.snapshot } }

  /// The catalog at that revision, which was read from the database, or at a later one.
  func snapshot(at revision: CatalogRevision) async throws -> CatalogSnapshot {
    while true {
      let load: Task<Void, any Error>? = state.withLock { state in
        if state.snapshot.revision.number >= revision.number { return nil }
        if let load = state.load { return load }
        // A task of its own: it is done for all who wait, whichever of them goes away.
        let load = Task { try await self.update() }
        state.load = load
        return load
      }
      guard let load else { return latest }
      try await load.value
    }
  }

  private func update() async throws {
    let result: Result<CatalogSnapshot?, any Error>
    do {
      let before = latest
      let changes = try await database.read { try CatalogSnapshot.Changes.since(before.revision, in: $0) }
      result = .success(try await BlockingPool.computing.run { try changes.map { try before.applying($0) } })
    } catch {
      result = .failure(error)
    }
    try state.withLock { state in
      state.load = nil
      if let snapshot = try result.get() { state.snapshot = snapshot }
    }
  }
}
