package import Commerce
import ContentCatalog
import ContentDelivery
import CoreTypes
import Database
import DeliveryModel
import DeliveryRecords
import Entitlements
import PaymentStores
import PullboxAPI
import ServiceAPI
package import ServiceRuntime

/// Content that closes although nothing was taken back: with a license, or with the subscription where the publication's policy says so.
extension GrantService {
  /// Grants that are looked at in one go.
  private static let batch = 500

  /// Until when the grant's content is open to its customer, as far as is known; nil for good. Throws `entitlement-expired` for what
  /// a license has closed, `receipt-needed` for what the end of a subscription has, as far as the ledger knows: the store may have
  /// renewed it meanwhile, and the grant tells; and `entitlement-revoked` where what else paid for it was taken
  /// back. Asks the database alone and no store. Throws also ``DatabaseError``.
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
  /// from then on. Later ones are not made (``openUntil(_:)``), nor for longer than an issue is open. Reads the
  /// publication's grants page by page and begins anew where the policy changes meanwhile. The revocation list
  /// has the closed grants until the last ticket that may be out has ended. Throws ``DatabaseError``.
  package func applyPolicy(of publication: ProductIdentifier) async throws {
    while true {
      let catalog = try await catalog.current()
      let closed = try await closed(of: publication, by: catalog)
      // It takes long with many grants: the policy may be another by now, and closed what it keeps.
      guard try await self.catalog.current().policies[publication] == catalog.policies[publication] else {
        continue
      }
      return stops.close(grants: closed, of: publication, until: tickets.lastEnd)
    }
  }

  /// Closes again the grants that an earlier process had closed by policies that changed not long ago. Their tickets may
  /// still be out, also tickets made when the configuration let them live longer. Runs once, beside the first
  /// requests. A failure is logged and not thrown: deliveries go on.
  package func closeAfterStart(log: Log) async {
    do {
      let since = grantStore.clock.now() - TicketKeyFile.memory
      let described = try await grantStore.database.read { try PublicationTable.all(in: $0) }
      for publication in described
      where publication.changed >= since && publication.policy?.keepsIssuesAfterLapse == false {
        try await applyPolicy(of: publication.id)
      }
    } catch {
      log.warning("issues that were closed are open until their tickets end", ["error": LogValue(error)])
    }
  }

  /// Closes what any publication's policy closes, and of what is being sent, what a refund may have closed: where it is not known which
  /// have changed. Throws ``DatabaseError``.
  func closeAll() async throws {
    let described = try await grantStore.database.read { try PublicationTable.all(in: $0) }
    for publication in described where publication.policy?.keepsIssuesAfterLapse == false {
      try await applyPolicy(of: publication.id)
    }
    try await closeIssues(of: recorder.meters.all { $0.hasBodies }.map(\.handle))
  }

  /// Accepts the tickets of those of the grants that are closed here and paid for again, as another node has found. Throws
  /// ``DatabaseError``.
  func reopenIssues(of handles: Set<DeliveryHandle>) async throws {
    for handle in handles where stops.isClosed(handle) {
      guard let grant = try await grantStore.database.read({ try GrantTable.find(handle, in: $0) }) else {
        continue
      }
      do {
        _ = try await openUntil(grant)
      } catch is Problem {
        // It is closed still.
        continue
      }
      stops.reopen(grant: handle)
    }
  }

  /// A grant whose tickets were refused is paid for again: they are accepted, at all nodes. Throws ``DatabaseError`` where the others
  /// cannot be told.
  func reopen(_ grant: GrantRecord) async throws {
    guard stops.isClosed(grant.handle) else { return }
    let database = grantStore.database
    if database.isShared {
      let now = grantStore.clock.now()
      try await database.write(locking: []) {
        try StopLog.noteReopening(of: grant.handle, at: now, in: $0)
      }
    }
    stops.reopen(grant: grant.handle)
  }

  /// A refund of a subscription may close issues that earlier periods of it have paid for: ends the tickets that are out of those
  /// that these transactions were refunded beside.
  func closeIssues(openedBy transactions: [VerifiedTransaction]) async throws {
    let catalog = try await catalog.current()
    let refunded = transactions.filter {
      $0.revokedDate != nil && publication(closingWith: $0, catalog) != nil
    }
    guard !refunded.isEmpty else { return }
    let grants = try await grantStore.database.read { connection in
      var grants: [GrantRecord] = []
      var seen: Set<CustomerIdentifier> = []
      for refund in refunded {
        guard let customer = try LedgerTable.find(refund.key, in: connection)?.customer,
          seen.insert(customer).inserted
        else { continue }
        for paid in try LedgerTable.transactions(of: customer, in: connection)
        where publication(closingWith: paid, catalog) != nil {
          grants += try GrantTable.all(paidBy: paid.key, in: connection)
        }
      }
      return grants
    }
    try await close(grants, by: catalog)
  }

  /// The same for grants of which something is being sent.
  func closeIssues(of handles: [DeliveryHandle]) async throws {
    let catalog = try await catalog.current()
    guard catalog.closesIssues(unless: rules.defaultPolicy) else { return }
    let grants = try await grantStore.database.read { connection in
      try handles.compactMap { try GrantTable.find($0, in: connection) }
    }
    try await close(grants, by: catalog)
  }

  /// Refuses the tickets of those of the grants whose issues are closed. Another policy that holds meanwhile lets the next ticket
  /// open them again.
  private func close(_ grants: [GrantRecord], by catalog: CatalogSnapshot) async throws {
    var closed: [ProductIdentifier: Set<DeliveryHandle>] = [:]
    for start in stride(from: 0, to: grants.count, by: Self.batch) {
      let part = grants[start..<min(start + Self.batch, grants.count)]
      let found = try await grantStore.database.read { connection in
        try part.filter { try isClosed($0, by: catalog, in: connection) }
      }
      for grant in found {
        guard let publication = catalog[grant.product]?.product.publication else { continue }
        closed[publication, default: []].insert(grant.handle)
      }
    }
    for (publication, handles) in closed {
      stops.close(grants: handles, of: publication, until: tickets.lastEnd, others: .unchanged)
    }
  }

  /// Returns the payments that keep open the issues of these grants with the subscription. Such a payment need not be the one
  /// that paid for the issue: it is the newest payment that holds of its customer's subscription.
  func subscriptions(behind handles: [DeliveryHandle]) async throws -> Set<TransactionKey> {
    let catalog = try await catalog.current()
    guard catalog.closesIssues(unless: rules.defaultPolicy) else { return [] }
    return try await grantStore.database.read { connection in
      var keys: Set<TransactionKey> = []
      for handle in handles {
        guard let grant = try GrantTable.find(handle, in: connection),
          let publication = catalog[grant.product]?.product.publication,
          catalog.closesIssues(of: publication, unless: rules.defaultPolicy),
          let known = try LedgerTable.find(grant.transactionKey, in: connection)
        else { continue }
        let newest = try LedgerTable.transactions(of: known.customer, in: connection).filter {
          $0.store == grant.store && $0.environment == grant.environment && $0.revokedDate == nil
            && self.publication(closingWith: $0, catalog) == publication
        }.max { ($0.expiresDate ?? $0.purchaseDate) < ($1.expiresDate ?? $1.purchaseDate) }
        if let newest { keys.insert(newest.key) }
      }
      return keys
    }
  }

  /// The publication whose issues the end of this payment's subscription closes.
  private func publication(
    closingWith payment: VerifiedTransaction, _ catalog: CatalogSnapshot
  ) -> ProductIdentifier? {
    guard let product = catalog[payment.product]?.product, product.type.isSubscription,
      let publication = product.publication,
      catalog.closesIssues(of: publication, unless: rules.defaultPolicy)
    else { return nil }
    return publication
  }

  /// Grants of the publication's issues that the policy closes.
  private func closed(
    of publication: ProductIdentifier, by catalog: CatalogSnapshot
  ) async throws -> Set<DeliveryHandle> {
    guard catalog.closesIssues(of: publication, unless: rules.defaultPolicy) else { return [] }
    var closed: Set<DeliveryHandle> = []
    let now = grantStore.clock.now()
    for issue in catalog.products(of: publication).map(\.product) where !issue.type.isSubscription {
      for state in ["granted", "completed", "finished"] {
        var last: Int64? = 0
        while let after = last {
          let page = try await grantStore.database.read { connection in
            let found = try GrantTable.mayBeClosed(
              of: issue.id, in: publication, in: state, after: after, limit: Self.batch, at: now,
              in: connection)
            return (
              last: found.last,
              closed: try found.grants.filter { try isClosed($0, by: catalog, in: connection) }.map(\.handle)
            )
          }
          closed.formUnion(page.closed)
          last = page.last
        }
      }
    }
    return closed
  }

  /// Whether the rules no longer give the customer the grant's product.
  private func isClosed(
    _ grant: GrantRecord, by catalog: CatalogSnapshot, in connection: borrowing Connection
  ) throws -> Bool {
    try judgment(on: grant, by: catalog, in: connection).map { !$0.report[grant.product].isOwned } ?? false
  }

  /// The verdict of the rules on the customer whose purchase paid for a grant.
  private struct Judgment: Sendable {
    /// The transaction that paid for the grant.
    var payment: VerifiedTransaction
    /// The report on all transactions of the customer at the payment's store and in its environment.
    var report: EntitlementReport
    /// The moment of the report.
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

  /// Whether a publication does so.
  fileprivate func closesIssues(unless standard: PublicationPolicy) -> Bool {
    !standard.keepsIssuesAfterLapse || policies.values.contains { !$0.keepsIssuesAfterLapse }
  }
}
