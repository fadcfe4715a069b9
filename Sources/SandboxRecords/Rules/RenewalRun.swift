package import Commerce
package import CoreTypes
package import Database

/// The product of a renewal, and the territory in which it is sold.
package struct RenewalOffer: Hashable, Sendable {
  package let product: ProductIdentifier
  package let territory: String

  package init(product: ProductIdentifier, territory: String) {
    self.product = product
    self.territory = territory
  }
}

/// Takes the steps that subscriptions are due for, each with the date of its own, however long ago that was.
package struct RenewalRun {
  /// Steps that are due at this time or before it are taken.
  private let now: Timestamp
  private let calendar: StoreCalendar

  /// The renewals whose products the catalog no longer sells.
  private let unavailable: Set<RenewalOffer>

  /// Subscriptions in one database transaction: so few that what others ask is answered between two of them.
  package static let batch = 50

  package init(now: Timestamp, calendar: StoreCalendar, unavailable: Set<RenewalOffer> = []) {
    self.now = now
    self.calendar = calendar
    self.unavailable = unavailable
  }

  /// Renews subscriptions of all accounts or of one, at most ``batch`` of them. Returns how many there were.
  /// A subscription takes all its steps in one database transaction, however many they are.
  @discardableResult
  package func run(in connection: borrowing Connection, account: Int64? = nil) throws -> Int {
    let due = try SubscriptionTable.due(in: connection, at: now, account: account, limit: Self.batch)
    for var subscription in due {
      let territory =
        unavailable.isEmpty
        ? nil : try AccountTable.find(in: connection, id: subscription.account)?.territory
      while let moment = subscription.life.due, moment <= now {
        let earlier = subscription
        let isForSale =
          territory.map {
            !unavailable.contains(
              RenewalOffer(product: subscription.life.renewalProduct, territory: $0))
          } ?? true
        if case .renewed(let period) = subscription.life.advance(by: calendar, isForSale: isForSale) {
          try Self.insert(period, of: subscription, in: connection)
        }
        // Each step by itself: notifications tell of each.
        try ChangeRecorder.put(subscription, from: earlier, in: connection)
      }
    }
    return due.count
  }

  /// The transaction of a period that was paid for without the customer's doing: it belongs to no device.
  /// Shares it with the family of the account. Throws ``SandboxStoreError`` where the subscription's first
  /// transaction is not there.
  package static func insert(
    _ period: SubscriptionLifecycle.Period, of subscription: StoredSubscription,
    in connection: borrowing Connection
  ) throws {
    guard let original = try TransactionTable.find(in: connection, id: subscription.originalID),
      let first = original.sale
    else { throw SandboxStoreError("subscription \(subscription.originalID) has no transaction") }
    let sale = PurchaseLifecycle.Sale(
      type: .autoRenewableSubscription, reason: .renewal, originalID: subscription.originalID,
      date: period.start, originalDate: first.originalDate, expires: period.end, price: period.price,
      offer: period.offer)
    let renewal = try ChangeRecorder.insert(
      in: connection, continuing: original, product: period.plan.product, device: nil, sale: sale,
      requested: period.start)
    try FamilySharing.share(renewal, in: connection)
  }
}
