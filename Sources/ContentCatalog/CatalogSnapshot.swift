package import Commerce
package import CoreTypes
package import Database
import DeliveryModel
package import DeliveryRecords
package import Entitlements
import PullboxAPI
package import ServiceAPI

/// Every product, decoded, with what is released of it, as the catalog was at one revision. A value: who has one may
/// ask it on any thread, and its answers fit each other.
///
///     let catalog = try await cache.current()
///     let content = catalog.offered(product, to: device)
///     let report = rules.evaluate(transactions, catalog: catalog.related(to: ids), now: now)
package struct CatalogSnapshot: Sendable {
  /// The rows of the products that have changed in the database since a revision.
  struct Changes: Sendable {
    /// The revision that the catalog has once they are applied.
    var revision: CatalogRevision
    /// Those that were removed; one that was made anew since is among ``products`` as well.
    var removed: [ProductIdentifier]
    /// To be taken once: each is let go when it is decoded, so that a large catalog is not there twice.
    var products: ProductTable.StoredDocuments
    /// The releases of the products that changed.
    var releases: [(content: ReleasedContent, share: RolloutPercentage)]
    /// All of them.
    var publications: [OperatorPublication]
    /// All of them; nil where none has changed.
    var tiers: [PriceTier]?

    /// All that has changed since `revision`; nil where nothing has. Reads in the caller's transaction and
    /// decodes nothing. Throws ``DatabaseError``.
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
  package static let empty = CatalogSnapshot()

  /// The revision of the database that it shows; -1 for the empty one.
  package private(set) var revision = CatalogRevision(
    number: -1, changed: Timestamp(millisecondsSinceEpoch: 0))
  /// The revision with which a product came in or went last: two catalogs that have the same have the same products by name.
  private(set) var namesRevision = CatalogRevision(
    number: -1, changed: Timestamp(millisecondsSinceEpoch: 0))
  private var entries = PersistentDictionary<ProductIdentifier, Entry>()
  /// By publication: its issues and the subscriptions to it.
  private var publications = PersistentDictionary<ProductIdentifier, Set<ProductIdentifier>>()
  /// The publications that operators have described.
  package private(set) var described: [ProductIdentifier: OperatorPublication] = [:]
  /// By tier: its prices by territory.
  private var tiers: [PriceTierName: [String: Price]] = [:]
  /// Shares prices and names among the products that come in.
  private var common = CommonValues()
  /// The dates of all products, sorted.
  private var availability = AvailabilityDates()
  /// Products that the purchase of an application may own.
  private var ownedWithApplications: Set<ProductIdentifier> = []
  /// The policies of subscriptions, by publication; a publication without a policy of its own has no entry.
  package private(set) var policies: [ProductIdentifier: PublicationPolicy] = [:]

  private init() {}

  /// Whether this is the catalog as the database has it. A later catalog than the connection's counts as
  /// current. Throws ``DatabaseError``.
  package func isCurrent(in connection: borrowing Connection) throws -> Bool {
    try CatalogRevision.current(in: connection).number <= revision.number
  }

  /// This catalog with every change that the connection sees. Decodes what has changed. Runs on the database's
  /// thread, so it is for writes that cannot do without.
  func updated(in connection: borrowing Connection) throws -> CatalogSnapshot {
    try Changes.since(revision, in: connection).map { try applying($0) } ?? self
  }

  /// The number of products.
  package var count: Int { entries.count }

  /// Every product, by identifier. Sorts them.
  package var entriesInOrder: [Entry] { entries.map(\.value).sorted { $0.product.id < $1.product.id } }

  /// The publications that products name, in no order.
  var publicationNames: [ProductIdentifier] { publications.filter { !$0.value.isEmpty }.map(\.key) }

  /// The products that belong to the publication or subscribe to it, in no order.
  package func products(of publication: ProductIdentifier) -> [Entry] {
    (publications[publication] ?? []).compactMap { entries[$0] }
  }

  /// How many products that are.
  func productCount(of publication: ProductIdentifier) -> Int { publications[publication]?.count ?? 0 }

  /// Returns the product's prices: those of now, and the preserved ones.
  package func prices(of product: Product) -> ProductPrices {
    ProductPrices(of: product, tier: product.priceTier.flatMap { tiers[$0] } ?? [:])
  }

  /// Nil when there is no such tier.
  func tier(_ name: PriceTierName) -> PriceTier? {
    tiers[name].map { PriceTier(name: name, prices: $0) }
  }

  /// For how long, around that moment, no product comes on sale or goes off it by its dates.
  package func steadySale(around now: Timestamp) -> SteadySale { availability.steady(around: now) }

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
  package subscript(_ product: ProductIdentifier) -> Entry? { entries[product] }

  /// Returns the content that this device gets now, as ``RolloutPlan/version(for:of:)`` chooses it; nil when nothing is
  /// released to it.
  package func offered(_ product: ProductIdentifier, to device: DeviceIdentifier) -> ReleasedContent? {
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
  package func related(to products: some Sequence<ProductIdentifier>) -> [Product] {
    // Most transactions of a long history are for one subscription.
    let named = named(by: Set(products))
    var found = Set(named.map(\.id))
    for publication in Set(named.lazy.filter(\.type.isSubscription).compactMap(\.publication)) {
      found.formUnion(publications[publication] ?? [])
    }
    return found.sorted().compactMap { entries[$0]?.product }
  }

  /// These, in no order, and for what is no product what those may own who bought an application.
  package func named(by products: Set<ProductIdentifier>) -> [Product] {
    let known = products.compactMap { entries[$0]?.product }
    guard known.count < products.count else { return known }
    return known + ownedWithApplications.subtracting(products).compactMap { entries[$0]?.product }
  }

  /// Those of which ``EntitlementRecordTable`` may have something that the catalog says no more: payments for subscriptions, and
  /// purchases of applications.
  package func recorded(_ transactions: [VerifiedTransaction]) -> [VerifiedTransaction] {
    transactions.filter { $0.origin != nil || self[$0.product]?.product.type.isSubscription == true }
  }

  /// Decodes what has changed, and puts it in the place of what was known. Throws for a document that is no
  /// product; then nothing has changed.
  func applying(_ changes: Changes) throws -> CatalogSnapshot {
    var next = self
    // One that was made anew since comes in again below.
    var gone: Set<ProductIdentifier> = []
    for id in changes.removed {
      if next.remove(id) { gone.insert(id) }
    }
    var hasNew = false
    try changes.products.takeEach { stored in
      var entry = try stored.entry()
      next.common.share(with: &entry.product)
      let id = entry.product.id
      let old = next.entries[id]?.product
      if old == nil, gone.remove(id) == nil { hasNew = true }
      next.availability.replace(old, by: entry.product)
      if let publication = old?.publication {
        next.publications.change(publication, or: []) { $0.remove(id) }
      }
      if let publication = entry.product.publication {
        next.publications.change(publication, or: []) { $0.insert(id) }
      }
      if entry.product.ownedIf == nil {
        next.ownedWithApplications.remove(id)
      } else {
        next.ownedWithApplications.insert(id)
      }
      next.entries[id] = Entry(row: entry)
    }
    for (content, share) in changes.releases {
      guard let old = next.entries[content.product] else { continue }
      next.entries[old.product.id] = old.adding(content, to: share)
    }
    next.described = Dictionary(
      changes.publications.map { ($0.id, $0) }, uniquingKeysWith: { _, last in last })
    if let tiers = changes.tiers {
      next.tiers = Dictionary(tiers.map { ($0.name, $0.prices) }, uniquingKeysWith: { _, last in last })
    }
    next.availability.sort()
    next.policies = next.described.compactMapValues { $0.policy?.policy }
    next.revision = changes.revision
    if hasNew || !gone.isEmpty { next.namesRevision = changes.revision }
    return next
  }

  /// Takes a product out of the entries and of everything that is kept beside them; false where there is none.
  private mutating func remove(_ id: ProductIdentifier) -> Bool {
    guard let old = entries.removeValue(forKey: id)?.product else { return false }
    availability.replace(old, by: nil)
    if let publication = old.publication { publications.change(publication, or: []) { $0.remove(id) } }
    ownedWithApplications.remove(id)
    return true
  }
}

/// The products of the catalog that customers may have, arranged once for all who subscribe to the same publications.
package struct RelatedProducts {
  /// The issues of publications, as one revision of the catalog had them.
  package struct Arranged: Sendable {
    /// Publications and issues that are kept from one look for the next, at most.
    package static let limit = 5000

    fileprivate let revision: CatalogRevision
    /// By publication, as far as they were looked up.
    fileprivate var issues: [ProductIdentifier: PublicationIssues] = [:]
    /// Publications and issues in it, which ``limit`` bounds.
    fileprivate var count = 0

    /// Returns the arrangement to keep for the next look: this one, unless it is too large. The one that is kept already
    /// stays where it is of a later revision, or of the same one and no smaller.
    package func kept(beside other: Arranged?) -> Arranged? {
      guard count <= Self.limit else { return other }
      guard let other, other.revision.number >= revision.number else { return self }
      return other.revision == revision && other.count < count ? self : other
    }
  }

  /// The catalog whose products are arranged.
  package let catalog: CatalogSnapshot
  /// The arrangement with everything that was looked up, to be kept for the next look.
  package private(set) var arranged: Arranged

  /// `arranged` is of no use where the catalog has another revision.
  package init(_ catalog: CatalogSnapshot, arranged: Arranged?) {
    self.catalog = catalog
    let isCurrent = arranged?.revision.number == catalog.revision.number
    self.arranged = arranged.flatMap { isCurrent ? $0 : nil } ?? Arranged(revision: catalog.revision)
  }

  /// ``CatalogSnapshot/related(to:)`` without what belongs to a publication and is not named itself, which ``PublicationIssues`` have.
  package mutating func related(
    to products: Set<ProductIdentifier>
  ) -> (named: [Product], issues: [ProductIdentifier: PublicationIssues]) {
    let named = catalog.named(by: products)
    let opened = Set(named.lazy.filter(\.type.isSubscription).compactMap(\.publication))
    return (named, Dictionary(uniqueKeysWithValues: opened.map { ($0, issues(of: $0)) }))
  }

  /// Returns the publication's issues and remembers them.
  private mutating func issues(of publication: ProductIdentifier) -> PublicationIssues {
    if let known = arranged.issues[publication] { return known }
    let issues = PublicationIssues(of: catalog.products(of: publication).lazy.map(\.product))
    arranged.issues[publication] = issues
    arranged.count += issues.count + 1
    return issues
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
  package func lastChange(before now: Timestamp) -> Timestamp {
    steadySale(around: now).since.map { max($0, revision.changed) } ?? revision.changed
  }
}
