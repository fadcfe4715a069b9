import Commerce
import ContentCatalog
import ContentDelivery
import ContentGrants
import CoreTypes
import Database
import DeliveryModel
import DeliveryRecords
import Entitlements
import ServiceRuntime
import Synchronization
import SystemCalls

/// Knows what the customers of keys own, by the ledger. It is worked out once for as long as neither the customer's transactions nor the
/// catalog say anything else, so that a page costs the same whatever the customer owns.
final class OwnedShelf: Sendable {
  /// Keys whose products are remembered, and bytes that they may take together.
  static let maximumCount = 1_000
  static let maximumLength = ByteCount.mebibytes(64)
  /// Bytes that a product is counted with.
  private static let productLength: Int64 = 512
  /// The time after which it is worked out anew in any case: an operator's word about a single grant is in neither, and what is yet to
  /// appear opens by its date.
  static let lifetime: Duration = .seconds(10)

  /// The state of ledger and catalog on which it rests.
  struct Basis: Hashable, Sendable {
    var changes: Int64
    var customer: CustomerIdentifier
    var catalog: CatalogBasis

    init(_ key: ReaderKey, _ catalog: CatalogBasis) {
      (changes, customer) = (key.changes, key.customer)
      self.catalog = catalog
    }
  }

  private struct Made: Sendable {
    var basis: Basis
    /// The times at which it may be shown.
    var times: Range<Timestamp>
    var products: OwnedProducts
    var rules: StoreRules
  }

  private let grants: GrantService
  private let generations = Atomic<UInt64>(0)
  private let known = Mutex(
    RecentlyUsedCache<String, Made>(maximumCount: maximumCount, maximumLength: maximumLength))

  init(grants: GrantService) {
    self.grants = grants
  }

  /// The contents that the key's customer owns now, and whether its device has a place. Consumables are delivered where they were bought,
  /// and are not among them. Throws what the database throws.
  func products(of key: ReaderKey, on catalog: CatalogBasis) async throws -> OwnedProducts {
    let now = grants.grantStore.clock.now()
    let basis = Basis(key, catalog)
    var made = known.locked { $0.value(for: key.name) }
    if made.map({ $0.basis != basis || !$0.times.contains(now) }) ?? true {
      made = try await make(for: key, on: basis, at: now)
    }
    guard let made else { return OwnedProducts([:], hasPlace: false) }
    var products = made.products
    products.hasPlace = try await grants.grantStore.database.read {
      try CustomerTable.hasPlace(
        for: key.device, of: key.customer, under: made.rules, at: now, in: $0)
    }
    return products
  }

  private func make(for key: ReaderKey, on basis: Basis, at now: Timestamp) async throws -> Made {
    let (contents, rules) = try await contents(of: key, at: now)
    let ends = contents.values.lazy.compactMap(\.until).filter { $0 > now }
    let end = min(now + Self.lifetime, ends.min() ?? now + Self.lifetime)
    let before = known.locked { $0.value(for: key.name) }
    var products = OwnedProducts(contents, hasPlace: true)
    products.generation =
      before.flatMap { $0.products.contents == contents ? $0.products.generation : nil }
      ?? generations.add(1, ordering: .relaxed).newValue
    let made = Made(basis: basis, times: now..<end, products: products, rules: rules)
    let length = ByteCount(Self.productLength * Int64(contents.count + 1))
    known.locked { $0.insert(made, for: key.name, length: length) }
    return made
  }

  /// The contents, with the rules of the customer's stores about devices.
  private func contents(
    of key: ReaderKey, at now: Timestamp
  ) async throws -> (contents: [ProductIdentifier: OwnedProducts.Content], rules: StoreRules) {
    try await grants.catalog.current { catalog in
      let read = try await grants.grantStore.database.read {
        connection -> (groups: [[VerifiedTransaction]], records: [EntitlementRecord])? in
        guard try catalog.isCurrent(in: connection) else { return nil }
        let groups = try LedgerTable.transactions(
          of: key.customer, limit: GrantService.maximumReadTransactions, in: connection
        ).byStore
        return (
          groups,
          try groups.map { try EntitlementRecordTable.record(of: catalog.recorded($0), in: connection) }
        )
      }
      guard let (groups, records) = read else { return nil }
      return await BlockingPool.computing.run {
        (
          self.evaluate(groups, records, in: catalog, for: key, at: now),
          self.grants.deviceRules(for: groups.flatMap { $0 })
        )
      }
    }
  }

  /// Returns the contents that the transactions of each store open by its record.
  private func evaluate(
    _ groups: [[VerifiedTransaction]], _ records: [EntitlementRecord], in catalog: CatalogSnapshot,
    for key: ReaderKey, at now: Timestamp
  ) -> [ProductIdentifier: OwnedProducts.Content] {
    var contents: [ProductIdentifier: OwnedProducts.Content] = [:]
    for (group, record) in zip(groups, records) {
      let report = grants.rules.evaluate(
        group, catalog: catalog.related(to: group.map(\.product) + record.products),
        policies: catalog.policies, record: record, now: now)
      let transactions = Dictionary(
        group.map { ($0.id, $0) }, uniquingKeysWith: { $0.asOf <= $1.asOf ? $0 : $1 })
      for (product, claims) in report.claims {
        guard catalog[product]?.product.type != .consumable,
          let content = catalog.offered(product, to: key.device),
          let transaction = claims.first.flatMap({ transactions[$0.transaction] }),
          grants.stops.reason(for: content.digest) == nil
        else { continue }
        let found = OwnedProducts.Content(
          content: content, purchased: transaction.purchaseDate, until: report.ends[product],
          transaction: transaction.key)
        // Bought at two stores: what is open for longer counts.
        if let known = contents[product], !found.isOpen(longerThan: known) { continue }
        contents[product] = found
      }
    }
    return contents
  }
}

extension OwnedProducts.Content {
  fileprivate func isOpen(longerThan other: Self) -> Bool {
    guard let end = other.until else { return false }
    return until.map { $0 > end } ?? true
  }
}
