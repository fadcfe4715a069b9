import CoreTypes
import Database
import PullboxAPI
import SandboxRecords
import ServiceRuntime

extension PaymentStore {
  /// Makes renewals at their moments until the task is cancelled, whether or not they are asked about. What fails is logged
  /// and tried again. It pauses until the next renewal or approval is due, a minute at most. One task runs
  /// it.
  func runRenewals(log: Log) async {
    await renewals.run {
      let interrupted = try await failInterrupted()
      if interrupted > 0 {
        log.warning("purchases that nothing decided have failed", ["count": LogValue(interrupted)])
      }
      try await catchUp(waiting: .unlimited)
      let next = try await database.read(waiting: .unlimited) { connection in
        [
          try SubscriptionTable.nextDue(in: connection),
          try TransactionTable.nextUnapproved(in: connection),
        ].compactMap { $0 }.min()
      }
      // The wall clock may be set meanwhile.
      return .pause(atMost: next.map { min(max($0 - clock.now(), .zero), .seconds(60)) } ?? .seconds(60))
    } onFailure: { error in
      log.error("renewals cannot be made", ["error": LogValue(error)])
    }
  }

  /// Makes every renewal that has fallen due, of one account or of all, and refuses the approvals that were waited for too
  /// long. To be called at the start, before any request, and before an account is asked about. The catalog says what is
  /// still for sale; while it does not answer, all of it is. It makes them in batches of
  /// ``RenewalRun/batch``, each a database transaction. The catalog is asked before each, once about each
  /// product and territory.
  ///
  /// - Parameter waiting: unlimited for work in the background, which no client waits for.
  func catchUp(account: Int64? = nil, waiting: Database.Waiting = .limited) async throws {
    let now = clock.now()
    var offers: [RenewalOffer: Bool] = [:]
    while let due = try await due(at: now, account: account, waiting: waiting) {
      for offer in due where offers[offer] == nil { offers[offer] = await isForSale(offer) }
      let unavailable = Set(offers.filter { !$0.value }.keys)
      try await database.write(locking: [.everything], waiting: waiting) { connection in
        let calendar = try CalendarTable.current(in: connection)
        try RenewalRun(now: now, calendar: calendar, unavailable: unavailable)
          .run(in: connection, account: account)
        for transaction in try TransactionTable.unapproved(in: connection, at: now, limit: RenewalRun.batch) {
          _ = try Sales.process(.refused(.notApproved), of: transaction, in: connection)
        }
      }
    }
  }

  /// Returns the renewals of the next batch; nil where nothing is due, so that a store with nothing to do
  /// writes nothing.
  private func due(
    at now: Timestamp, account: Int64?, waiting: Database.Waiting
  ) async throws -> Set<RenewalOffer>? {
    try await database.read(waiting: waiting) { connection in
      let due = try SubscriptionTable.due(
        in: connection, at: now, account: account, limit: RenewalRun.batch)
      if due.isEmpty, try TransactionTable.unapproved(in: connection, at: now, limit: 1).isEmpty {
        return nil
      }
      var offers: Set<RenewalOffer> = []
      for subscription in due where subscription.life.autoRenews {
        guard let account = try AccountTable.find(in: connection, id: subscription.account) else { continue }
        offers.insert(
          RenewalOffer(product: subscription.life.renewalProduct, territory: account.territory))
      }
      return offers
    }
  }

  /// How long the catalog may take over a renewal.
  private static let catalogPatience = Duration.seconds(2)

  /// False only where the catalog says so within ``catalogPatience``.
  private func isForSale(_ offer: RenewalOffer) async -> Bool {
    do {
      return try await withTimeout(Self.catalogPatience) { [catalog] in
        try await catalog.listing(of: offer.product, territory: offer.territory, device: nil) != nil
      } expired: {
        Problem(.catalogUnavailable)
      }
    } catch {
      // It was for sale when it was last paid for, and that stands until the catalog says otherwise.
      return true
    }
  }
}
