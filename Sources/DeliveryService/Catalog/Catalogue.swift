import Commerce
import Database
import Digests
import Measures
import PullboxAPI

/// What is for sale: products as operators describe them, shown with what is released of them.
struct Catalogue: Sendable {
  let database: Database
  let clock: any WallClock

  /// Identifiers of everything cleared for sale, by name, and when that list last changed. A product is cleared once it
  /// has a released version; a subscription, once it is described.
  func identifiersForSale() async throws -> (identifiers: [ProductIdentifier], changed: Timestamp) {
    try await database.read { connection in
      let rows = try connection.query(
        """
        SELECT id, max(changed, coalesce((SELECT max(released) FROM versions WHERE product = id), 0)) AS changed
        FROM products
        WHERE type IN (?, ?)
          OR EXISTS (SELECT 1 FROM versions WHERE product = id AND state = 'released')
        ORDER BY id
        """,
        [
          .text(ProductType.autoRenewableSubscription.rawValue),
          .text(ProductType.nonRenewingSubscription.rawValue),
        ])
      let changed = try rows.map { try $0.timestamp("changed") }.max()
      return (try rows.map { try $0.identifier("id") }, changed ?? Timestamp(millisecondsSinceEpoch: 0))
    }
  }

  /// The products of these names that are for sale; the other names come back as they were written.
  func products(
    _ names: [String], presenter: ProductPresenter
  ) async throws -> ProductsResponse {
    try await database.read { connection in
      var response = ProductsResponse(products: [], invalidProductIdentifiers: [])
      for name in names {
        guard let id = ProductIdentifier(name), let entry = try ProductTable.find(id, in: connection) else {
          response.invalidProductIdentifiers.append(name)
          continue
        }
        let released = try VersionTable.released(of: id, in: connection)
        if released == nil, !entry.product.type.isSubscription {
          response.invalidProductIdentifiers.append(name)
        } else {
          response.products.append(presenter.listing(of: entry.product, released: released))
        }
      }
      return response
    }
  }

  /// Creates or changes a product. Throws `product-invalid` with every fault, and `forbidden` when the publisher's keys
  /// would change and the actor may not do that.
  func put(
    _ id: ProductIdentifier, _ description: ProductDescription, by actor: String, mayChangeKeys: Bool
  ) async throws -> OperatorProduct {
    let described = try ProductCheck.product(id, described: description)
    let now = clock.now()
    return try await database.write { connection in
      let before = try ProductTable.find(id, in: connection)
      var product = described
      if description.publisherKeys == nil { product.publisherKeys = before?.product.publisherKeys }
      if let keysBefore = before?.product.publisherKeys, keysBefore != product.publisherKeys, !mayChangeKeys {
        throw Problem(.forbidden, "changing a product's publisher keys takes the scope admin")
      }
      if before?.product != product {
        try Self.recordKeys(of: product, before: before?.product, by: actor, at: now, in: connection)
        try ProductTable.put(product, at: now, in: connection)
        try AuditTable.add(
          AuditEntry(
            at: now, actor: actor, action: before == nil ? "product.create" : "product.change",
            subject: id.text), in: connection)
      }
      return try Self.operatorProduct(id, in: connection)
    }
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
        at: now, actor: actor, action: "product.keys", subject: product.id.text,
        detail: changes.joined(separator: ", ")), in: connection)
  }

  func operatorProduct(_ id: ProductIdentifier) async throws -> OperatorProduct {
    try await database.read { connection in try Self.operatorProduct(id, in: connection) }
  }

  func operatorProducts(after: String, limit: Int) async throws -> Page<OperatorProduct> {
    try await database.read { connection in
      let entries = try ProductTable.page(after: after, limit: limit + 1, in: connection)
      let items = try entries.prefix(limit).map { entry in
        try Self.operatorProduct(entry.product.id, in: connection)
      }
      return Page(items: items, next: entries.count > limit ? items.last?.product.id.text : nil)
    }
  }

  private static func operatorProduct(
    _ id: ProductIdentifier, in connection: borrowing Connection
  ) throws -> OperatorProduct {
    guard let entry = try ProductTable.find(id, in: connection) else {
      throw Problem(.productUnknown, "no product is named \(id)")
    }
    let versions = try VersionTable.all(of: id, in: connection)
    let cleared = entry.product.type.isSubscription || versions.contains { $0.state == .released }
    return OperatorProduct(
      product: entry.product, clearedForSale: cleared, created: entry.created, changed: entry.changed,
      versions: versions)
  }
}
