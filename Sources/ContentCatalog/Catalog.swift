package import Commerce
package import CoreTypes
import Crypto
package import Database
package import DeliveryModel
package import DeliveryRecords
import PullboxAPI
package import PullboxAPIServer
import RouteAccess
package import ServiceAPI
import SystemCalls

/// The products for sale, as operators describe them, shown with their released versions. docs/catalogue.md
/// describes the products and docs/openapi.yaml their documents.
package struct Catalog: Sendable {
  /// Versions that are shown with their product; those that are released come on top.
  package static let maximumVersions = 20
  /// So many are answered for where the question is read, unless a subscription is among them: whether its publication has an issue is
  /// looked for among all of them.
  private static let fewNames = 8

  package let database: Database
  /// Has the catalog in memory. A write checks in its own transaction that what it takes from there is the
  /// database's.
  package let cache: CatalogCache
  package let clock: any WallClock
  /// Called after a product may have changed.
  package let didChange: @Sendable () -> Void
  /// Called after what the publication's subscriptions open may have changed: it returns once that holds.
  package let didChangePolicy: @Sendable (ProductIdentifier) async throws -> Void
  /// The counts of names that clients asked for in vain.
  package let invalid: InvalidProductCounts
  private let currentSaleRules: @Sendable () -> SaleMachine.Rules
  /// Those whose receipts count here.
  package let applications: Set<ApplicationIdentifier>
  private let names = CatalogDerived(from: .names) { catalog, _ in ProductNames(catalog) }

  /// Creates the catalog over a database that is open.
  ///
  /// - Parameters:
  ///   - saleRules: asked for each step, since a reload may change them.
  ///   - applications: those whose receipts count here; empty where that is not known.
  ///   - didChange: called after each write, whether it succeeded or not.
  ///   - didChangePolicy: closes or opens what a publication's policy says.
  package init(
    database: Database, cache: CatalogCache, clock: any WallClock,
    saleRules: @escaping @Sendable () -> SaleMachine.Rules = { SaleMachine.Rules() },
    applications: Set<ApplicationIdentifier> = [],
    didChange: @escaping @Sendable () -> Void = {},
    didChangePolicy: @escaping @Sendable (ProductIdentifier) async throws -> Void = { _ in }
  ) {
    currentSaleRules = saleRules
    self.applications = applications
    self.database = database
    self.cache = cache
    self.clock = clock
    self.didChange = didChange
    self.didChangePolicy = didChangePolicy
    invalid = InvalidProductCounts(since: clock.now())
  }

  /// The rules of sale, as the server is configured now.
  package var saleRules: SaleMachine.Rules { currentSaleRules() }

  /// The application that is meant where a reader names none: the only one there is; nil where there are several.
  package var onlyApplication: ApplicationIdentifier? { applications.count == 1 ? applications.first : nil }

  /// The products of these names that are for sale to that device in the localizer's territory, with the version it
  /// would get; without a device, what is for sale to all. The other names come back as they were written.
  /// Asked for more than a few, it answers on a thread for computations. A name that is not answered is counted
  /// with its reason. Throws what reading the catalog throws.
  package func products(
    _ names: [String], for device: DeviceIdentifier?, localizer: ProductLocalizer,
    application: ApplicationIdentifier? = nil
  ) async throws -> ProductsResponse {
    let (snapshot, now) = (try await cache.current(), clock.now())
    let isUnknown = names.contains { ProductIdentifier($0).flatMap { snapshot[$0] } == nil }
    let known = isUnknown ? try await self.names.value(of: snapshot, at: now) : nil
    let answer = { @Sendable () -> ProductsResponse in
      var response = ProductsResponse(products: [], invalidProductIdentifiers: [])
      let window = ShopWindow(
        catalog: snapshot, localizer: localizer, device: device, application: application ?? onlyApplication,
        now: now)
      for name in names {
        switch window.answer(to: name) {
        case .listing(let listing): response.products.append(listing)
        case .invalid(let reason):
          invalid.note(name, reason, at: now)
          response.invalidProductIdentifiers.append(name)
        }
      }
      if let known { response.nearest = window.nearest(to: response.invalidProductIdentifiers, among: known) }
      return response
    }
    // Writing two hundred prices for people takes a while; a few take less than the way to another thread.
    let isShort =
      names.count <= Self.fewNames
      && !names.contains { name in
        ProductIdentifier(name).flatMap { snapshot[$0] }?.product.type.isSubscription == true
      }
    return isShort ? answer() : await BlockingPool.computing.run(answer)
  }

  /// Creates or changes a product. Throws `product-invalid` with every fault, `precondition-failed`, and `forbidden` when
  /// the publisher's keys of a product that exists would change and the actor may not do that, and `state-conflict` for one to
  /// be put on sale that a review has the word on, and for another type of one that was bought. Returns the
  /// product as operators read it. Throws also ``DatabaseError``.
  package func put(
    _ id: ProductIdentifier, _ description: ProductDescription, by actor: String, mayChangeKeys: Bool,
    under conditions: WriteConditions = .none
  ) async throws -> OperatorProduct {
    let product = try ProductValidator.product(id, described: description)
    let now = clock.now()
    defer { didChange() }
    let catalog = cache.latest
    let prepared = try WantedProduct(product, description, before: catalog[id]?.row)
    // The tier that it names is there as long as the write runs.
    let locks = [DatabaseLock.product(id)] + (product.priceTier == nil ? [] : [.priceTiers.shared])
    return try await database.write(locking: locks) { connection in
      let wanted =
        try catalog.isCurrent(in: connection)
        ? prepared : WantedProduct(product, description, before: ProductTable.find(id, in: connection))
      try conditions.check(try wanted.before.map { try Self.operatorProduct($0, at: now, in: connection) })
      let (_, entry) = try put(wanted, by: actor, mayChangeKeys: mayChangeKeys, at: now, in: connection)
      return try Self.operatorProduct(entry, at: now, in: connection)
    }
  }

  /// The effect of writing a product.
  package enum Change {
    /// There was no product of that name.
    case created
    /// Its description or its state of sale is another.
    case changed
    /// It was so already, and nothing was written.
    case unchanged
  }

  /// A product as it is to be, with its document and what it was.
  package struct WantedProduct: Sendable {
    /// The product with its JSON, made outside of the write.
    let document: EncodedDocument<Product>
    /// The row that it replaces; nil for a new one.
    let before: ProductTable.Entry?
    /// Nil where its description does not say.
    let isOnSale: Bool?

    /// `product` is what the validator made of `description`. A description that says nothing of publishers' keys leaves them as they are.
    init(_ product: Product, _ description: ProductDescription, before: ProductTable.Entry?) throws {
      self.before = before
      var product = product
      if description.publisherKeys == nil, let keys = before?.product.publisherKeys {
        product.publisherKeys = keys
      }
      document = try EncodedDocument(product)
      isOnSale = description.onSale
    }

    /// Creates the wanted product from a document that was made before.
    init(_ document: EncodedDocument<Product>, before: ProductTable.Entry?, isOnSale: Bool?) {
      self.document = document
      self.before = before
      self.isOnSale = isOnSale
    }
  }

  /// Writes the product unless it is so already, and answers it as it is then. Throws `forbidden`, `state-conflict`, and `product-invalid` for
  /// a price tier that there is not, as ``put(_:_:by:mayChangeKeys:under:)`` does. What `wanted` has from
  /// before is what the connection sees. Runs in a write that locks the product, and holds the price tiers
  /// shared where it names one; the audit log says what changed.
  package func put(
    _ wanted: WantedProduct, by actor: String, mayChangeKeys: Bool, at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> (Change, ProductTable.Entry) {
    let (before, product) = (wanted.before, wanted.document.value)
    // What was bought of it opens what its type says.
    if let type = before?.product.type, type != product.type,
      try ProductTable.isBought(product.id, in: connection)
    {
      throw Problem(
        .stateConflict,
        "\(product.id) was bought as \(type.rawValue), and its owners keep what that opens: another type needs another identifier"
      )
    }
    if let before, before.product.publisherKeys != product.publisherKeys, !mayChangeKeys {
      throw Problem(.forbidden, "changing a product's publisher keys takes the scope admin")
    }
    if let tier = product.priceTier, tier != before?.product.priceTier,
      try !PriceTierTable.exists(tier, in: connection)
    {
      throw Problem(
        .productInvalid,
        faults: [
          Problem.Fault(code: "price-tier", path: "priceTier", detail: "there is no price tier \(tier)")
        ])
    }
    let sale = try sale(
      of: product, before: before, wanted: wanted.isOnSale, by: actor, at: now, in: connection)
    if let before, before.product.isDescribed(as: product), before.sale == sale {
      return (.unchanged, before)
    }
    try Self.recordKeys(of: product, before: before?.product, by: actor, at: now, in: connection)
    try ProductTable.put(wanted.document, sale: sale, at: now, in: connection)
    try AuditTable.add(
      AuditEntry(
        at: now, actor: actor, action: before == nil ? "product.create" : "product.change",
        subject: product.id.description,
        detail: Self.detail(of: product, isOnSale: sale == .cleared, before: before)),
      in: connection)
    return (
      before == nil ? .created : .changed,
      ProductTable.Entry(product: product, sale: sale, created: before?.created ?? now, changed: now)
    )
  }

  /// Returns the changes of a write in words, of a new product only that it is off sale; nil without any.
  private static func detail(of product: Product, isOnSale: Bool, before: ProductTable.Entry?) -> String? {
    let sale = isOnSale == (before?.isOnSale ?? true) ? nil : isOnSale ? "on sale" : "off sale"
    let changes = before.flatMap { ProductChanges(from: $0.product, to: product).text }
    return [sale, changes].compactMap(\.self).reduce(nil) { text, part in
      text.map { "\($0), \(part)" } ?? part
    }
  }

  /// Adds an entry of its own to the audit log when the product's publisher keys change.
  private static func recordKeys(
    of product: Product, before: Product?, by actor: String, at now: Timestamp,
    in connection: borrowing Connection
  ) throws {
    let (old, new) = (Set(before?.publisherKeys ?? []), Set(product.publisherKeys ?? []))
    guard old != new else { return }
    let changes =
      new.subtracting(old).sorted().map { "added \($0)" }
      + old.subtracting(new).sorted().map { "removed \($0)" }
    try AuditTable.add(
      AuditEntry(
        at: now, actor: actor, action: "product.keys", subject: product.id.description,
        detail: changes.joined(separator: ", ")), in: connection)
  }

  /// Removes a product that was described and nothing more. Throws `product-unknown`, `precondition-failed`, `state-conflict`
  /// for one that was bought, has content, or is a subscription that is for sale, and `second-operator-required` for one that is cleared
  /// for sale where one operator alone takes nothing off sale.
  func removeProduct(
    _ id: ProductIdentifier, by actor: String, under conditions: WriteConditions
  ) async throws {
    let now = clock.now()
    defer { didChange() }
    try await database.write(locking: [.product(id)]) { connection in
      let before = try ProductTable.find(id, in: connection)
      try conditions.check(try before.map { try Self.operatorProduct($0, at: now, in: connection) })
      guard let before else { throw try Problem.unknownProduct(id, in: connection) }
      guard try !ProductTable.isBought(id, in: connection) else {
        throw Problem(.stateConflict, "\(id) was bought, and its owners keep it; it can be taken off sale")
      }
      guard try !ProductTable.isReferred(id, in: connection) else {
        throw Problem(.stateConflict, "\(id) has content, which stays on record; it can be taken off sale")
      }
      guard !before.product.type.isSubscription || !before.isOnSale else {
        throw Problem(.stateConflict, "the subscription \(id) is for sale; it has to be taken off sale first")
      }
      if before.sale == .cleared { try requireSecondOperator(of: id) }
      if before.product.type.isSubscription, let publication = before.product.publication {
        guard try !ProductTable.isGranted(publication, in: connection) else {
          throw Problem(
            .stateConflict,
            "devices have issues of \(publication), which \(id) may have paid for; it stays off sale")
        }
      }
      try ProductTable.remove(id, at: now, in: connection)
      try AuditTable.add(
        AuditEntry(at: now, actor: actor, action: "product.remove", subject: id.description), in: connection)
    }
  }

  /// Returns the product as operators read it. Throws `product-unknown`.
  func operatorProduct(_ id: ProductIdentifier) async throws -> OperatorProduct {
    let now = clock.now()
    return try await database.read { connection in try Self.operatorProduct(id, at: now, in: connection) }
  }

  /// `after` is the `next` of the page before, in the order of changes. The latest change comes first. Throws
  /// `request-malformed` for a cursor that is no product.
  func operatorProducts(
    changedBefore change: ProductTable.Change?, matching filter: ProductTable.Filter, limit: Int
  ) async throws -> Page<OperatorProduct> {
    let now = clock.now()
    return try await database.read { connection in
      if let change, try !ProductTable.exists(change.id, in: connection) { throw Problem.unknownCursor }
      let entries = try ProductTable.page(
        changedBefore: change, matching: filter, limit: limit + 1, in: connection)
      let items = try entries.prefix(limit).map { try Self.operatorProduct($0, at: now, in: connection) }
      let last = entries.count > limit ? items.last?.product.id : nil
      return Page(
        items: items, next: try last.flatMap { try ProductTable.lastChange(of: $0, in: connection)?.cursor })
    }
  }

  /// `after` is the `next` of the page before. They are in the order of their identifiers. Throws
  /// `request-malformed` for a cursor that is no product.
  func operatorProducts(
    after: ProductIdentifier?, matching filter: ProductTable.Filter, limit: Int
  ) async throws -> Page<OperatorProduct> {
    let now = clock.now()
    return try await database.read { connection in
      if let after, try !ProductTable.exists(after, in: connection) { throw Problem.unknownCursor }
      let entries = try ProductTable.page(
        after: after?.description ?? "", matching: filter, limit: limit + 1, in: connection)
      let items = try entries.prefix(limit).map { try Self.operatorProduct($0, at: now, in: connection) }
      return Page(items: items, next: entries.count > limit ? items.last?.product.id.description : nil)
    }
  }

  /// Returns the product as the transaction sees it. Throws `product-unknown`.
  static func operatorProduct(
    _ id: ProductIdentifier, at now: Timestamp, in connection: borrowing Connection
  ) throws -> OperatorProduct {
    guard let entry = try ProductTable.find(id, in: connection) else {
      throw try Problem.unknownProduct(id, in: connection)
    }
    return try operatorProduct(entry, at: now, in: connection)
  }

  /// Returns the row with its review and its versions: the newest ``maximumVersions``, and behind them those
  /// that are released and older.
  static func operatorProduct(
    _ entry: ProductTable.Entry, at now: Timestamp, in connection: borrowing Connection
  ) throws -> OperatorProduct {
    let id = entry.product.id
    var versions = try VersionTable.page(
      of: id, after: nil, limit: maximumVersions + 1, in: connection)
    let count =
      versions.count <= maximumVersions ? versions.count : try VersionTable.count(of: id, in: connection)
    let released = try VersionTable.released(of: id, in: connection)
    versions = Array(versions.prefix(maximumVersions))
    versions += released.filter { record in !versions.contains { $0.version == record.version } }
    let isDelivered =
      entry.product.type.isSubscription
      ? try ProductTable.hasReleasedIssue(of: entry.product.publication, in: connection)
      : released.contains { $0.percentage == 100 }
    return OperatorProduct(
      product: entry.product, sale: entry.sale,
      review: try ProductReviewTable.find(id, in: connection),
      clearedForSale: entry.isOnSale(at: now) && isDelivered, created: entry.created,
      changed: entry.changed,
      versions: versions, versionCount: count)
  }
}
