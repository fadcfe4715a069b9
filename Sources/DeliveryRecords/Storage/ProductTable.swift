package import Commerce
package import CoreTypes
package import Database
import PullboxAPI
package import ServiceAPI
import Synchronization

/// The rows of products: each a document, with the columns by which products are found beside it. What is
/// described or removed counts as a change of the catalog (``CatalogRevision``). The functions run in the
/// caller's transaction and throw ``DatabaseError``, and `DecodingError` for a document that is no product.
package enum ProductTable {
  /// A product with the state of its row.
  package struct Entry: Sendable {
    /// The product as it is described, with the date of its first release.
    package var product: Product
    /// The state of its sale, which no description changes.
    package var sale: SaleState
    /// When it was described first.
    package var created: Timestamp
    /// When its description or its sale changed last.
    package var changed: Timestamp

    package init(product: Product, sale: SaleState, created: Timestamp, changed: Timestamp) {
      self.product = product
      self.sale = sale
      self.created = created
      self.changed = changed
    }

    /// False for one that only those have who bought it before, if any.
    package var isOnSale: Bool { sale == .cleared }

    /// Whether a new product is on sale when its description does not say so. It is; a subscription that is not free must
    /// have a price. It needs no released content, and its first description may be a draft.
    package static func isOnSaleUnlessSaid(_ product: Product) -> Bool {
      !product.type.isSubscription || product.type == .freeSubscription || !product.prices.isEmpty
        || product.priceTier != nil
    }

    /// Whether it is sold at that moment, its territory aside.
    package func isOnSale(at now: Timestamp) -> Bool { isOnSale && product.isAvailable(at: now) }
  }

  /// The columns that ``StoredDocument`` reads.
  private static let columns = "document, sale, created, changed, first_released"
  // Texts that are put together once.
  private static let selection = "SELECT \(columns) FROM products WHERE id = ?"

  /// Returns the product, decoded; nil where there is none.
  package static func find(_ id: ProductIdentifier, in connection: borrowing Connection) throws -> Entry? {
    try connection.first(selection, [.identifier(id)]).map(entry)
  }

  /// Whether there is such a product; decodes nothing.
  package static func exists(_ id: ProductIdentifier, in connection: borrowing Connection) throws -> Bool {
    try connection.first("SELECT 1 FROM products WHERE id = ?", [.identifier(id)]) != nil
  }

  /// Products whose names begin so, by name, `limit` at most.
  package static func names(
    beginningWith start: String, limit: Int, in connection: borrowing Connection
  ) throws -> [ProductIdentifier] {
    // No identifier has a character behind the tilde, or that.
    try connection.query(
      "SELECT id FROM products WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
      [.text(start), .text(start + "~"), .integer(limit)]
    ).map { try $0.identifier("id") }
  }

  /// Whether an issue of the publication is released to all devices.
  package static func hasReleasedIssue(
    of publication: ProductIdentifier?, in connection: borrowing Connection
  ) throws -> Bool {
    guard let publication else { return false }
    return try connection.first(
      """
      SELECT 1 FROM products JOIN versions ON versions.product = products.id
      WHERE products.publication = ? AND products.type IN (?, ?)
        AND versions.state = 'released' AND versions.percentage = 100 LIMIT 1
      """,
      [.identifier(publication), .choice(ProductType.consumable), .choice(ProductType.nonConsumable)]) != nil
  }

  /// Encodes and writes a product. For single ones: an import encodes outside of the write.
  package static func put(
    _ product: Product, sale: SaleState = .cleared, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    try put(EncodedDocument(product), sale: sale, at: now, in: connection)
  }

  /// Creates or changes a product. The date of its creation stays.
  package static func put(
    _ document: EncodedDocument<Product>, sale: SaleState, at now: Timestamp,
    in connection: borrowing Connection
  ) throws {
    let product = document.value
    // Before the row, which is then written once, with its place in the index of revisions.
    let revision = try CatalogRevision.increment(at: now, in: connection)
    try connection.execute(
      """
      INSERT INTO products (id, document, type, publication, sale, on_sale, available_from, available_until,
        price_tier, created, changed, revision)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET
        document = excluded.document, type = excluded.type, publication = excluded.publication,
        sale = excluded.sale, on_sale = excluded.on_sale, available_from = excluded.available_from,
        available_until = excluded.available_until, price_tier = excluded.price_tier, changed = excluded.changed,
        revision = excluded.revision
      """,
      [
        .identifier(product.id), .text(document.text), .choice(product.type),
        .optional(product.publication, SQLValue.identifier), .choice(sale), .boolean(sale == .cleared),
        .optional(product.availableFrom), .optional(product.availableUntil),
        .optional(product.priceTier, SQLValue.identifier), .timestamp(now), .timestamp(now),
        .integer(revision?.number ?? 0),
      ])
  }

  /// A version of the product is released; only the first time counts, which it answers whether it is.
  package static func noteReleased(
    _ id: ProductIdentifier, at now: Timestamp, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.execute(
      "UPDATE products SET first_released = ? WHERE id = ? AND first_released IS NULL",
      [.timestamp(now), .identifier(id)]) > 0
  }

  /// Whether something refers to the product that outlives it: content, or a device that was granted some.
  package static func isReferred(_ id: ProductIdentifier, in connection: borrowing Connection) throws -> Bool
  {
    try connection.first(
      "SELECT 1 FROM versions WHERE product = ? UNION ALL SELECT 1 FROM grants WHERE product = ? LIMIT 1",
      [.identifier(id), .identifier(id)]) != nil
  }

  /// Whether a device was granted something of the publication: also by a payment of long ago, of which the ledger does not know
  /// what it was for.
  package static func isGranted(_ publication: ProductIdentifier, in connection: borrowing Connection) throws
    -> Bool
  {
    try connection.first(
      "SELECT 1 FROM products JOIN grants ON grants.product = products.id WHERE products.publication = ? LIMIT 1",
      [.identifier(publication)]) != nil
  }

  /// Whether there was ever a payment for the product.
  package static func isBought(_ id: ProductIdentifier, in connection: borrowing Connection) throws -> Bool {
    try connection.first("SELECT 1 FROM bought_products WHERE product = ?", [.identifier(id)]) != nil
  }

  /// Notes that there was a payment for each of the products, whether the catalog has it or not. Runs once in a write that holds them at
  /// least shared, so that no other write removes one beside, and before ``LedgerTable/write(_:of:in:)``. Two writes that note the
  /// same new products wait for each other: `products` are in the order of their names, so that they wait in no circle.
  package static func noteBought(_ products: [ProductIdentifier], in connection: borrowing Connection) throws
  {
    for product in products {
      try connection.enqueue(
        "INSERT INTO bought_products (product) VALUES (?) ON CONFLICT (product) DO NOTHING",
        [.identifier(product)])
    }
  }

  /// Removes it with its review; nothing may refer to it.
  package static func remove(
    _ id: ProductIdentifier, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    for table in ["product_reviews", "product_screenshots"] {
      try connection.execute("DELETE FROM \(table) WHERE product = ?", [.identifier(id)])
    }
    try connection.execute("DELETE FROM products WHERE id = ?", [.identifier(id)])
    guard let revision = try CatalogRevision.increment(at: now, in: connection) else { return }
    try connection.execute(
      """
      INSERT INTO removed_products (id, revision) VALUES (?, ?)
      ON CONFLICT (id) DO UPDATE SET revision = excluded.revision
      """, [.identifier(id), .integer(revision.number)])
  }

  /// The products that were removed since that revision of the catalog, those among them that were made anew.
  package static func removed(
    since revision: Int64, in connection: borrowing Connection
  ) throws -> [ProductIdentifier] {
    try connection.query("SELECT id FROM removed_products WHERE revision > ?", [.integer(revision)]).map {
      try $0.identifier("id")
    }
  }

  /// Decodes a row.
  package static func entry(_ row: Row) throws -> Entry { try StoredDocument(row).entry() }

  /// A product as its row has it: its document is not decoded yet, which is not for the database's threads where
  /// there are many.
  package struct StoredDocument: Sendable {
    /// The JSON of the product.
    package var document: String
    /// The state of its sale.
    package var sale: SaleState
    /// When it was described first, by the wall clock.
    package var created: Timestamp
    /// When its description or its sale changed last, by the wall clock.
    package var changed: Timestamp
    /// When a version of it was released first; nil before.
    package var firstReleased: Timestamp?

    /// A row by its columns.
    package init(
      document: String, sale: SaleState, created: Timestamp, changed: Timestamp, firstReleased: Timestamp?
    ) {
      self.document = document
      self.sale = sale
      self.created = created
      self.changed = changed
      self.firstReleased = firstReleased
    }

    /// Reads the columns without decoding the document.
    package init(_ row: Row) throws {
      self.init(
        document: try row.text("document"), sale: try row.choice("sale"),
        created: try row.timestamp("created"), changed: try row.timestamp("changed"),
        firstReleased: try row.optionalTimestamp("first_released"))
    }

    /// Decodes the document. Throws `DecodingError`.
    package func entry() throws -> Entry {
      var product = try APIJSON.decode(Product.self, from: Array(document.utf8))
      product.firstReleased = firstReleased
      return Entry(product: product, sale: sale, created: created, changed: changed)
    }
  }

  /// Documents in no order, each of which leaves memory when it was taken.
  package final class StoredDocuments: Sendable {
    private let rest: Mutex<[StoredDocument]>

    /// Holds these documents until they are taken.
    package init(_ documents: [StoredDocument]) {
      rest = Mutex(documents)
    }

    /// Documents that were not taken yet.
    package var count: Int { rest.locked { $0.count } }

    /// Ends early with what `body` throws.
    package func takeEach(_ body: (StoredDocument) throws -> Void) rethrows {
      while let document = rest.locked({ $0.popLast() }) { try body(document) }
    }
  }

  /// The products that have changed since that revision of the catalog, they or what is released of them.
  package static func changed(
    since revision: Int64, in connection: borrowing Connection
  ) throws -> StoredDocuments {
    var documents: [StoredDocument] = []
    try connection.forEach(
      """
      SELECT \(columns) FROM products \(SQLDialect.index("products_by_revision")) WHERE revision > ?
      """, [.integer(revision)]
    ) { documents.append(try StoredDocument($0)) }
    return StoredDocuments(documents)
  }
}

/// Products as operators list them.
extension ProductTable {
  /// Which products to list; nil members ask for nothing.
  package struct Filter: Sendable {
    /// Issues of that publication alone.
    package var publication: ProductIdentifier?
    /// Products of that type alone.
    package var type: ProductType?
    /// Those with a version in that state.
    package var state: VersionState?
    /// Those whose sale is in that state.
    package var sale: SaleState?

    package init(
      publication: ProductIdentifier? = nil, type: ProductType? = nil, state: VersionState? = nil,
      sale: SaleState? = nil
    ) {
      self.publication = publication
      self.type = type
      self.state = state
      self.sale = sale
    }
  }

  /// When a product changed last, it or what is released of it, by revisions of the catalog.
  package struct Change: Hashable, Sendable {
    /// The revision of the catalog.
    package var revision: Int64
    /// The product.
    package var id: ProductIdentifier

    package init(revision: Int64, id: ProductIdentifier) {
      self.revision = revision
      self.id = id
    }
  }

  /// The product's last change; nil without such a product.
  package static func lastChange(
    of id: ProductIdentifier, in connection: borrowing Connection
  ) throws -> Change? {
    try connection.first("SELECT revision FROM products WHERE id = ?", [.identifier(id)]).map {
      Change(revision: try $0.integer("revision"), id: id)
    }
  }

  /// At most `limit` products that changed before `change`, the latest change first, and of one change by identifier, backwards. Nil
  /// begins with the latest.
  package static func page(
    changedBefore change: Change?, matching filter: Filter, limit: Int, in connection: borrowing Connection
  ) throws -> [Entry] {
    var conditions = ["(revision, id) < (?, ?)"]
    var values: [SQLValue] = [
      .integer(change?.revision ?? .max), change.map { .identifier($0.id) } ?? .text(""),
    ]
    if let state = filter.state {
      // A list of all that have one would be made for each page.
      conditions.append(
        "EXISTS (SELECT 1 FROM versions WHERE versions.state = ? AND versions.product = products.id)")
      values.append(.choice(state))
    }
    add(filter, to: &conditions, &values)
    // The indexes on revision and on state answer it alone, unless more is asked for: documents are read of the page's products only,
    // however few have such a version.
    let index = filter.isByStateAtMost ? SQLDialect.index("products_by_revision") : ""
    return try connection.query(
      """
      SELECT \(columns) FROM products WHERE id IN (
        SELECT id FROM (SELECT id FROM products \(index) WHERE \(conditions.joined(separator: " AND "))
          ORDER BY revision DESC, id DESC LIMIT ?) AS newest)
      ORDER BY revision DESC, id DESC
      """, values + [.integer(limit)]
    ).map(entry)
  }

  /// At most `limit` products after `after`, by identifier. An empty `after` begins with the first.
  package static func page(
    after: String, matching filter: Filter, limit: Int, in connection: borrowing Connection
  ) throws -> [Entry] {
    var conditions = ["id > ?"]
    var values: [SQLValue] = [.text(after)]
    add(filter, to: &conditions, &values)
    if let state = filter.state {
      // The index on state and product answers it in the products' order.
      conditions.append(
        """
        id IN (SELECT DISTINCT product FROM versions WHERE state = ? AND product > ? ORDER BY product LIMIT ?)
        """)
      values += [.choice(state), .text(after), .integer(filter.isByStateAtMost ? limit : Int.max)]
    }
    return try connection.query(
      "SELECT \(columns) FROM products WHERE \(conditions.joined(separator: " AND ")) ORDER BY id LIMIT ?",
      values + [.integer(limit)]
    ).map(entry)
  }

  /// Adds what the filter asks for, but for the state of a version.
  private static func add(_ filter: Filter, to conditions: inout [String], _ values: inout [SQLValue]) {
    if let publication = filter.publication {
      conditions.append("publication = ?")
      values.append(.identifier(publication))
    }
    if let type = filter.type {
      conditions.append("type = ?")
      values.append(.choice(type))
    }
    if let sale = filter.sale {
      // The index has those that are not cleared alone.
      conditions.append(sale == .cleared ? "sale = ?" : "sale = ? AND sale <> 'cleared'")
      values.append(.choice(sale))
    }
  }
}

extension ProductTable.Filter {
  /// The first matches by state, where it asks for one, are the page then; else the other conditions may leave some of them out.
  fileprivate var isByStateAtMost: Bool { publication == nil && type == nil && sale == nil }
}
