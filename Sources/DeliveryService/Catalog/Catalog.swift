import Commerce
import CoreTypes
import Crypto
import Database
import PullboxAPI
import PullboxAPIServer
import SystemCalls

/// What is for sale: products as operators describe them, shown with what is released of them.
struct Catalog: Sendable {
  /// Versions that are shown with their product; those that are released come on top.
  static let maximumVersions = 20

  let database: Database
  let cache: CatalogCache
  let clock: any WallClock
  /// Called after a product may have changed.
  let didChange: @Sendable () -> Void
  /// What was asked for in vain.
  let invalid: InvalidProductCounts

  init(
    database: Database, cache: CatalogCache, clock: any WallClock,
    didChange: @escaping @Sendable () -> Void = {}
  ) {
    self.database = database
    self.cache = cache
    self.clock = clock
    self.didChange = didChange
    invalid = InvalidProductCounts(since: clock.now())
  }

  /// Everything that is made of the catalog is good until this is another.
  func revision() async throws -> CatalogRevision {
    try await database.read { try CatalogRevision.current(in: $0) }
  }

  /// Identifiers of everything cleared for sale, by name. Of what is on sale, a product is cleared once a version is
  /// released to all devices, so that every buyer gets it, and a subscription once an issue of its publication is.
  func identifiersForSale() async throws -> (
    identifiers: [ProductIdentifier], revision: CatalogRevision
  ) {
    try await database.read { connection in
      let rows = try connection.query(
        """
        SELECT id FROM products WHERE type IN (?, ?) AND on_sale = 1 AND EXISTS (
          SELECT 1 FROM products AS issues JOIN versions ON versions.product = issues.id
          WHERE issues.publication = products.publication AND issues.type IN (?, ?)
            AND versions.state = 'released' AND versions.percentage = 100)
        UNION
        SELECT versions.product FROM versions JOIN products ON products.id = versions.product
        WHERE versions.state = 'released' AND versions.percentage = 100 AND products.on_sale = 1
        ORDER BY 1
        """,
        [
          .choice(ProductType.autoRenewableSubscription),
          .choice(ProductType.nonRenewingSubscription),
          .choice(ProductType.consumable), .choice(ProductType.nonConsumable),
        ])
      return (try rows.map { try $0.identifier("id") }, try CatalogRevision.current(in: connection))
    }
  }

  /// The products of these names that are for sale to that device in the localizer's territory, with the version it
  /// would get; without a device, what is for sale to all. The other names come back as they were written.
  func products(
    _ names: [String], for device: DeviceIdentifier?, localizer: ProductLocalizer
  ) async throws -> ProductsResponse {
    let snapshot = try await cache.current()
    // Writing two hundred prices for people takes a while.
    return await BlockingPool.computing.run {
      var response = ProductsResponse(products: [], invalidProductIdentifiers: [])
      let window = ShopWindow(catalog: snapshot, localizer: localizer, device: device)
      for name in names {
        switch window.answer(to: name) {
        case .listing(let listing): response.products.append(listing)
        case .invalid(let reason):
          invalid.note(name, reason, at: clock.now())
          response.invalidProductIdentifiers.append(name)
        }
      }
      return response
    }
  }

  /// Creates or changes a product. Throws `product-invalid` with every fault, `precondition-failed`, and `forbidden` when
  /// the publisher's keys of a product that exists would change and the actor may not do that.
  func put(
    _ id: ProductIdentifier, _ description: ProductDescription, by actor: String, mayChangeKeys: Bool,
    under conditions: WriteConditions = .none
  ) async throws -> OperatorProduct {
    let described = try ProductValidator.product(id, described: description)
    let now = clock.now()
    defer { didChange() }
    return try await database.write(locking: [.product(id)]) { connection in
      let before = try ProductTable.find(id, in: connection)
      try conditions.check(try before.map { try Self.operatorProduct($0, in: connection) })
      _ = try Self.put(
        described, description, by: actor, mayChangeKeys: mayChangeKeys, at: now, in: connection)
      return try Self.operatorProduct(id, in: connection)
    }
  }

  /// What writing a product did.
  enum Change {
    case created
    case changed
    case unchanged
  }

  /// Writes the product unless it is so already. `described` is what the validator made of `description`. Throws `forbidden`, as
  /// ``put(_:_:by:mayChangeKeys:under:)`` does.
  static func put(
    _ described: Product, _ description: ProductDescription, by actor: String, mayChangeKeys: Bool,
    at now: Timestamp, in connection: borrowing Connection
  ) throws -> Change {
    let before = try ProductTable.find(described.id, in: connection)
    var product = described
    if description.publisherKeys == nil { product.publisherKeys = before?.product.publisherKeys }
    if let before, before.product.publisherKeys != product.publisherKeys, !mayChangeKeys {
      throw Problem(.forbidden, "changing a product's publisher keys takes the scope admin")
    }
    let isOnSale =
      description.onSale ?? before?.isOnSale ?? ProductTable.Entry.isOnSaleUnlessSaid(product)
    guard before?.product != product || before?.isOnSale != isOnSale else { return .unchanged }
    try recordKeys(of: product, before: before?.product, by: actor, at: now, in: connection)
    try ProductTable.put(product, isOnSale: isOnSale, at: now, in: connection)
    try AuditTable.add(
      AuditEntry(
        at: now, actor: actor, action: before == nil ? "product.create" : "product.change",
        subject: product.id.description, detail: saleDetail(isOnSale, before: before?.isOnSale)),
      in: connection)
    return before == nil ? .created : .changed
  }

  private static func saleDetail(_ isOnSale: Bool, before: Bool?) -> String? {
    guard isOnSale != (before ?? true) else { return nil }
    return isOnSale ? "on sale" : "off sale"
  }

  /// Whose signatures count is worth an entry of its own in the audit log.
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

  func operatorProduct(_ id: ProductIdentifier) async throws -> OperatorProduct {
    try await database.read { connection in try Self.operatorProduct(id, in: connection) }
  }

  /// `after` is the `next` of the page before.
  func operatorProducts(
    after: ProductIdentifier?, matching filter: ProductTable.Filter, limit: Int
  ) async throws -> Page<OperatorProduct> {
    try await database.read { connection in
      if let after, try !ProductTable.exists(after, in: connection) { throw Problem.unknownCursor }
      let entries = try ProductTable.page(
        after: after?.description ?? "", matching: filter, limit: limit + 1, in: connection)
      let items = try entries.prefix(limit).map { try Self.operatorProduct($0, in: connection) }
      return Page(items: items, next: entries.count > limit ? items.last?.product.id.description : nil)
    }
  }

  private static func operatorProduct(
    _ id: ProductIdentifier, in connection: borrowing Connection
  ) throws -> OperatorProduct {
    guard let entry = try ProductTable.find(id, in: connection) else {
      throw Problem(.productUnknown, "no product is named \(id)")
    }
    return try operatorProduct(entry, in: connection)
  }

  private static func operatorProduct(
    _ entry: ProductTable.Entry, in connection: borrowing Connection
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
    let cleared = entry.isOnSale && isDelivered
    return OperatorProduct(
      product: entry.product, onSale: entry.isOnSale, clearedForSale: cleared, created: entry.created,
      changed: entry.changed,
      versions: versions, versionCount: count)
  }
}
