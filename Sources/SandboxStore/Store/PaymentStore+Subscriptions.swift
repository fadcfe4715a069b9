import Commerce
import CoreTypes
import Database
import PullboxAPI
import SandboxRecords
import ServiceAPI
import ServiceRuntime

extension PaymentStore {
  /// The account's subscriptions, also those that are over, the earliest first.
  func subscriptions(of account: Account) async throws -> [StoreSubscription] {
    try await database.read { connection in
      try SubscriptionTable.list(in: connection, account: account.id).map {
        try Self.published($0, in: connection)
      }
    }
  }

  /// The subscription as clients see it, with the end of what its last payment bought.
  private static func published(
    _ subscription: StoredSubscription, in connection: borrowing Connection
  ) throws -> StoreSubscription {
    var published = try subscription.published
    let last = try TransactionTable.last(
      in: connection, account: subscription.account, originalID: subscription.originalID)
    published.revocationDate = last?.sale?.revocation?.date
    return published
  }

  /// Changes the plan of the next renewal, whether there is one, and the consent to a price, in that order.
  /// The catalog is asked about another product before the database transaction. Throws
  /// `subscription-unknown`, `state-conflict` for one that is over, `product-unknown` for what is not for
  /// sale, and `request-malformed` for what is no subscription to the same publication.
  func change(
    _ id: String, of account: Account, to change: SubscriptionChange
  ) async throws -> StoreSubscription {
    let wanted = try await wantedPlan(change.product, for: account)
    return try await update(id, of: account.id) { subscription, calendar, _, _ in
      guard subscription.life.phase != .expired else {
        throw Problem(.stateConflict, "the subscription is over")
      }
      if let wanted {
        guard subscription.group == wanted.group else {
          throw Problem(.requestMalformed, "\(wanted.plan.product) is of another publication")
        }
        subscription.life.schedule(wanted.plan, renewals: calendar.renewals)
      }
      if let autoRenew = change.autoRenew {
        subscription.life.setAutoRenews(autoRenew, renewals: calendar.renewals)
      }
      if change.acceptPrice == true { subscription.life.acceptPriceIncrease() }
    }
  }

  /// Nil without a product. Throws what ``change(_:of:to:)`` says of the product.
  private func wantedPlan(
    _ product: ProductIdentifier?, for account: Account
  ) async throws -> (group: ProductIdentifier, plan: SubscriptionPlan)? {
    guard let product else { return nil }
    let listing = try await catalog.listing(of: product, territory: account.territory, device: nil)
    guard let listing else { throw Problem(.productUnknown, "\(product) is not for sale") }
    guard listing.type == .autoRenewableSubscription else {
      throw Problem(.requestMalformed, "\(product) is no subscription that renews")
    }
    return (listing.publication ?? listing.id, SubscriptionPlan(listing))
  }

  /// Changes one subscription, after every renewal of it that has fallen due. Throws `subscription-unknown`; with an
  /// account also for those of others. The renewals, the body and what it tells of are one database
  /// transaction. A renewal there does not ask the catalog. Throws what `body` throws.
  func update(
    _ id: String, of account: Int64? = nil,
    _ body:
      @escaping @Sendable (
        _ subscription: inout StoredSubscription, _ calendar: StoreCalendar, _ now: Timestamp,
        _ connection: borrowing Connection
      ) throws -> Void
  ) async throws -> StoreSubscription {
    defer { renewals.wake() }
    return try await database.write(locking: [.everything]) { [clock] connection in
      let unknown = Problem(.subscriptionUnknown)
      guard let number = Int64(id),
        let owner = try SubscriptionTable.find(in: connection, originalID: number)?.account,
        account == nil || account == owner
      else { throw unknown }
      let now = clock.now()
      let calendar = try CalendarTable.current(in: connection)
      try RenewalRun(now: now, calendar: calendar).run(in: connection, account: owner)
      guard var subscription = try SubscriptionTable.find(in: connection, originalID: number) else {
        throw unknown
      }
      try body(&subscription, calendar, now, connection)
      try ChangeRecorder.put(subscription, in: connection)
      return try Self.published(subscription, in: connection)
    }
  }

  /// Sets how long a month lasts from now on: periods that run end when they were to end. Throws
  /// `request-malformed`. Renewals that have fallen due are made by the old length before.
  func setTime(_ time: StoreTime) async throws -> StoreTime {
    guard let calendar = StoreCalendar(month: time.month, renewals: time.renewals) else {
      throw Problem(
        .requestMalformed,
        "month is real, or from 2s to 31 days in s, m or h; renewals is from 0 to 100")
    }
    try await catchUp()
    try await database.write(locking: [.everything]) { try CalendarTable.put(calendar, in: $0) }
    renewals.wake()
    return time
  }
}
