import Commerce
import CoreTypes
import Database
import PullboxAPI

/// Content that closes although nothing was taken back: with a license, or with the subscription where the publication's policy says so.
extension GrantService {
  /// Grants that are looked at in one go.
  private static let batch = 500

  /// Until when the grant's content is open to its customer, as far as is known; nil for good. Throws `entitlement-expired` for what
  /// a license has closed, `receipt-needed` for what the end of a subscription has, as far as the ledger knows: the store may have
  /// renewed it meanwhile, and the grant tells; and `entitlement-revoked` where what else paid for it was taken back.
  func openUntil(_ grant: GrantRecord) async throws -> Timestamp? {
    try await catalog.current { catalog -> Timestamp?? in
      let judged = try await grantStore.database.read { connection -> Judgment?? in
        guard try catalog.isCurrent(in: connection) else { return .none }
        return .some(try judgment(on: grant, by: catalog, in: connection))
      }
      guard let judged else { return .none }
      guard let judgment = judged else { return .some(nil) }
      switch judgment.report[grant.product] {
      case .owned: return .some(judgment.report.ends[grant.product])
      case .revoked: throw Problem(.entitlementRevoked)
      case .expired, .notOwned:
        let closing = judgment.closing(of: grant.product, catalog: catalog)
        guard judgment.payment.licenseEndDate == nil else { throw Problem(.entitlementExpired, closing) }
        throw Problem(.receiptNeeded, "\(closing); ask for the grant again with a receipt of now")
      }
    }
  }

  /// Brings the tickets that are out in line with what the publication's policy opens now: those of issues that are closed open nothing
  /// from then on. Later ones are not made (``openUntil(_:)``), nor for longer than an issue is open.
  func applyPolicy(of publication: ProductIdentifier) async throws {
    while true {
      let catalog = try await catalog.current()
      let closed = try await closed(of: publication, by: catalog)
      // It takes long with many grants: the policy may be another by now, and closed what it keeps.
      guard try await self.catalog.current().policies[publication] == catalog.policies[publication] else {
        continue
      }
      return stops.close(grants: closed, of: publication)
    }
  }

  /// Grants of the publication's issues that the policy closes.
  private func closed(
    of publication: ProductIdentifier, by catalog: CatalogSnapshot
  ) async throws -> Set<DeliveryHandle> {
    guard catalog.closesIssues(of: publication, unless: rules.defaultPolicy) else { return [] }
    var closed: Set<DeliveryHandle> = []
    for issue in catalog.products(of: publication).map(\.product) where !issue.type.isSubscription {
      for state in ["granted", "completed", "finished"] {
        var last: Int64? = 0
        while let after = last {
          let page = try await grantStore.database.read { connection in
            let grants = try GrantTable.all(
              of: issue.id, in: state, after: after, limit: Self.batch, in: connection)
            return (
              last: grants.count < Self.batch ? nil : grants.last?.number,
              closed: try grants.filter { grant in
                try judgment(on: grant, by: catalog, in: connection).map {
                  !$0.report[grant.product].isOwned
                } ?? false
              }.map(\.handle)
            )
          }
          closed.formUnion(page.closed)
          last = page.last
        }
      }
    }
    return closed
  }

  /// What the rules say now of the customer whose purchase paid for a grant.
  private struct Judgment: Sendable {
    var payment: VerifiedTransaction
    var report: EntitlementReport
    var now: Timestamp

    /// When it was closed by what, and whether it can be bought.
    func closing(of product: ProductIdentifier, catalog: CatalogSnapshot) -> String {
      let end = payment.licenseEndDate ?? report.ends[product]
      let what = payment.licenseEndDate == nil ? "the subscription" : "the license"
      let offer =
        catalog[product].map { $0.row.isOnSale(at: now) && $0.releasedToAll != nil } == true
        ? "; \(product) is for sale" : ""
      return "\(what) ended\(end.map { " on \($0.rfc3339)" } ?? "")\(offer)"
    }
  }

  /// Nil for a grant that no end but its revocation closes.
  private func judgment(
    on grant: GrantRecord, by catalog: CatalogSnapshot, in connection: borrowing Connection
  ) throws -> Judgment? {
    guard let known = try LedgerTable.find(grant.transactionKey, in: connection) else { return nil }
    let publication = catalog[grant.product]?.product.publication
    guard
      known.transaction.licenseEndDate != nil
        || publication.map({ catalog.closesIssues(of: $0, unless: rules.defaultPolicy) }) == true
    else { return nil }
    let transactions = try LedgerTable.transactions(of: known.customer, in: connection).filter {
      $0.store == grant.store && $0.environment == grant.environment
    }
    let record = try EntitlementRecordTable.record(of: catalog.recorded(transactions), in: connection)
    let now = grantStore.clock.now()
    let related = catalog.related(to: transactions.map(\.product) + [grant.product])
    return Judgment(
      payment: known.transaction,
      report: rules.evaluate(
        transactions, catalog: related, policies: catalog.policies, record: record, now: now), now: now)
  }
}

extension CatalogSnapshot {
  /// Whether issues of the publication are open only while a subscription to it runs.
  fileprivate func closesIssues(
    of publication: ProductIdentifier, unless standard: PublicationPolicy
  ) -> Bool { !(policies[publication] ?? standard).keepsIssuesAfterLapse }
}
