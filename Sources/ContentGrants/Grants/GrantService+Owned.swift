import Commerce
import ContentCatalog
import CoreTypes
import Database
import DeliveryModel
import DeliveryRecords
import Entitlements
import PullboxAPI
import ServiceAPI
import SystemCalls

/// The possessions of customers, for operators: from the ledger alone, no store is asked.
extension GrantService {
  /// The products that the customers of the subject own at `moment`, now unless given, by name: a page of those behind `after`. The latest
  /// ``maximumReadTransactions`` purchases of each customer count; it rests on the ledger until that moment (all of it where none is given), and on today's catalog and policies.
  /// Throws as ``explain(_:of:at:)`` does.
  func owned(
    by subject: Subject, at moment: Timestamp?, after: ProductIdentifier?, limit: Int
  ) async throws -> Page<CustomerEntitlement> {
    let past = moment
    let moment = moment ?? grantStore.clock.now()
    return try await catalog.current { catalog -> Page<CustomerEntitlement>? in
      let read = try await grantStore.database.read {
        connection -> [(purchases: [VerifiedTransaction], record: EntitlementRecord)]? in
        guard try catalog.isCurrent(in: connection) else { return nil }
        let customers = try Self.customers(subject, in: connection)
        let groups = try customers.flatMap { customer in
          try LedgerTable.transactions(of: customer, limit: Self.maximumReadTransactions, in: connection)
            .byStore
        }
        return try groups.map { group in
          (
            group,
            try EntitlementRecordTable.record(of: catalog.recorded(group), until: past, in: connection)
          )
        }
      }
      guard let read else { return nil }
      return await BlockingPool.computing.run {
        var owned: [ProductIdentifier: CustomerEntitlement] = [:]
        for (purchases, record) in read {
          let standing = purchases.compactMap { Self.standing($0, at: past) }
          let report = rules.evaluate(
            standing, catalog: catalog.related(to: standing.map(\.product) + record.products),
            policies: catalog.policies, record: record, now: moment)
          Self.add(report, of: standing, to: &owned)
        }
        let names = owned.keys.filter { name in after.map { name > $0 } ?? true }.sorted()
        let items = names.prefix(limit).compactMap { owned[$0] }
        return Page(items: items, next: names.count > limit ? items.last?.product.description : nil)
      }
    }
  }

  /// A product that was bought at two stores counts as the one that is owned for longer.
  private static func add(
    _ report: EntitlementReport, of purchases: [VerifiedTransaction],
    to owned: inout [ProductIdentifier: CustomerEntitlement]
  ) {
    let byName = Dictionary(
      purchases.map { ($0.id, $0) }, uniquingKeysWith: { $0.asOf <= $1.asOf ? $1 : $0 })
    for (product, claims) in report.claims {
      guard let claim = claims.first, let purchase = byName[claim.transaction] else { continue }
      let end = report.ends[product]
      if let known = owned[product], known.until.map({ until in end.map { $0 <= until } ?? false }) ?? true {
        continue
      }
      owned[product] = CustomerEntitlement(
        product: product, rule: claim.reason, store: purchase.store, environment: purchase.environment,
        transaction: purchase.id, purchased: purchase.purchaseDate, until: end)
    }
  }
}
