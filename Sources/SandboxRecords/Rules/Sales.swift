import Commerce
package import CoreTypes
package import Database
package import PullboxAPI
import ServiceAPI

/// Decides, within one database transaction, what becomes of a purchase that the catalog's word has come for: it is sold,
/// restored, or refused, and subscriptions change with it.
package struct Sales {
  /// The sale is dated by it, without the milliseconds.
  private let now: Timestamp
  /// The code that pays for it. Nil for a purchase that no code pays for.
  private let code: StoredCode?

  package init(now: Timestamp, code: StoredCode? = nil) {
    self.now = now
    self.code = code
  }

  package enum Outcome {
    /// Sold or restored; or, where only the next renewal changed, the transaction of the period that runs.
    case sold(StoredTransaction)
    /// The transaction has failed.
    case refused(Problem)
  }

  /// Decides the purchase of any product. The outcome `refused` has saved the failure, and the caller
  /// commits. Throws a `Problem` for a code that cannot be used and for a period that would end after the
  /// last date; the caller's transaction is undone then.
  ///
  /// - Parameters:
  ///   - listing: the catalog's word, asked before the database transaction.
  ///   - begun: the transaction in the state `purchasing`. It is removed where only the next renewal of
  ///     another one changed.
  package func sell(
    _ listing: ProductListing, for begun: StoredTransaction, in connection: borrowing Connection
  ) throws -> Outcome {
    guard listing.type == .consumable || begun.quantity == 1 else {
      return try refuse(
        begun, .quantityRefused, Problem(.requestMalformed, "only consumables are sold by the number"),
        in: connection)
    }
    let price =
      code == nil ? listing.price.flatMap { Price(amount: $0.amount, currency: $0.currency) } : nil
    if listing.type == .autoRenewableSubscription {
      return try subscribe(
        to: SubscriptionPlan(listing), group: listing.publication ?? listing.id, for: begun, in: connection)
    }
    let date = now.wholeSeconds
    // A consumable is bought anew each time; everything else continues the first purchase of it.
    let original =
      listing.type == .consumable
      ? nil
      : try TransactionTable.original(
        in: connection, account: begun.account, product: begun.product, at: now)?.sale
    if listing.type.isBoughtOnce, let original {
      if code != nil { throw Problem(.stateConflict, "\(begun.product) is owned") }
      return .sold(try Self.process(.sold(original.restored(at: date)), of: begun, in: connection))
    }
    if let change = priceChange(to: price, for: begun) {
      return try refuse(begun, .priceChanged, change, in: connection)
    }
    // Non-renewing subscriptions carry no end: their period is the seller's business.
    let sale = PurchaseLifecycle.Sale(
      type: listing.type, originalID: original?.originalID ?? begun.id, date: date,
      originalDate: original?.originalDate ?? date, price: price)
    return .sold(try Self.process(.sold(sale), of: begun, in: connection))
  }

  /// Decides the purchase of a subscription, after the renewals of the account that have fallen due. One that
  /// is the first of its group begins; one that runs is refused, restored if it is free, changed at once or
  /// with the next renewal; one that is over begins again under the same original transaction.
  ///
  /// - Parameter group: the publication, or the product where the listing names none.
  private func subscribe(
    to plan: SubscriptionPlan, group: ProductIdentifier, for begun: StoredTransaction,
    in connection: borrowing Connection
  ) throws -> Outcome {
    let calendar = try CalendarTable.current(in: connection)
    try RenewalRun(now: now, calendar: calendar).run(in: connection, account: begun.account)
    let earlier = try SubscriptionTable.find(
      in: connection, account: begun.account, group: group, product: plan.product)
    guard var subscription = earlier else {
      let terms = try terms(for: plan, after: nil, of: begun, in: connection)
      if let change = priceChange(to: plan.price, under: terms, for: begun) {
        return try refuse(begun, .priceChanged, change, in: connection)
      }
      let first = try terms.begin(from: now.wholeSeconds, by: calendar)
      let sold = try process(first.period, original: nil, of: begun, in: connection)
      try ChangeRecorder.put(
        StoredSubscription(
          originalID: begun.id, account: begun.account, group: group,
          life: SubscriptionLifecycle(
            first.period, renewals: calendar.renewals, offerRun: first.rest, hasBonus: first.hasBonus)),
        in: connection)
      return .sold(sold)
    }
    guard
      let last = try TransactionTable.last(
        in: connection, account: begun.account, originalID: subscription.originalID), let sale = last.sale
    else { throw SandboxStoreError("subscription \(subscription.originalID) has no transaction") }
    // A period that was refunded is over for who buys again.
    let isRunning = subscription.life.isRunning && sale.revocation == nil
    let isSame = subscription.life.plan.product == plan.product
    if isRunning, isSame, code == nil {
      guard plan.price != nil else {
        return .sold(
          try Self.process(.sold(sale.restored(at: now.wholeSeconds)), of: begun, in: connection))
      }
      return try refuse(
        begun, .alreadySubscribed,
        Problem(
          .alreadySubscribed, "\(plan.product) is paid for", expiresDate: subscription.life.expires),
        in: connection)
    }
    // A code counts as used, so that its offer is given before another one is taken.
    if code != nil, sale.revocation == nil, subscription.life.awaitsOffer {
      throw Problem(
        .stateConflict,
        "an offer that was redeemed earlier waits for the renewal of \(subscription.life.renewalProduct)")
    }
    // Who changes within the group is no new subscriber.
    let terms =
      isRunning && code == nil
      ? SubscriptionTerms(plan: plan)
      : try terms(for: plan, after: subscription.life, of: begun, in: connection)
    if let change = priceChange(to: plan.price, under: terms, for: begun) {
      return try refuse(begun, .priceChanged, change, in: connection)
    }
    if isRunning {
      guard !isSame, subscription.life.plan.isLeftAtOnce(for: plan) else {
        subscription.life.schedule(plan, under: terms.run, renewals: calendar.renewals)
        try ChangeRecorder.put(subscription, in: connection)
        try TransactionTable.remove(begun, in: connection)
        return .sold(last)
      }
      _ = try Self.process(
        .upgraded(at: max(now.wholeSeconds, subscription.life.start)), of: last, in: connection)
    }
    // Dates of receipts are whole seconds, and no period begins before the one that it follows.
    let follows = isRunning ? subscription.life.start : min(subscription.life.expires, now)
    let next = try terms.begin(from: max(now.wholeSeconds, follows), by: calendar)
    subscription.life.begin(
      next.period, renewals: calendar.renewals, offerRun: next.rest, hasBonus: next.hasBonus)
    try ChangeRecorder.put(subscription, in: connection)
    return .sold(try process(next.period, original: sale, of: begun, in: connection))
  }

  /// Returns the first terms of a subscription: those of the code, or those that the product offers to an
  /// account that has not had them.
  private func terms(
    for plan: SubscriptionPlan, after life: SubscriptionLifecycle?, of begun: StoredTransaction,
    in connection: borrowing Connection
  ) throws -> SubscriptionTerms {
    let offers = try OfferTable.find(plan.product, in: connection)
    var terms = SubscriptionTerms(plan: plan)
    if begun.optsIn, life?.hasHadBonus != true { terms.bonus = offers?.bonus }
    if let code {
      guard let run = code.firstOffer(for: plan).run(.code, in: begun.storefront) else {
        throw Problem(.stateConflict, "the code's offer has no price in the account's territory")
      }
      terms.run = run
    } else if life?.hasHadIntroduction != true {
      terms.run = offers?.introductory?.run(.introductory, in: begun.storefront)
    }
    return terms
  }

  /// Takes the transaction of a purchase a step on, and with it what rests on the transaction. Throws where the purchase
  /// is over. A sale is shared with the account's family, and an upgrade ends the copies of what it replaces.
  package static func process(
    _ event: PurchaseLifecycle.Event, of transaction: StoredTransaction, in connection: borrowing Connection
  ) throws -> StoredTransaction {
    var transaction = transaction
    guard transaction.life.handle(event) == .changed else {
      throw SandboxStoreError("transaction \(transaction.id) does not take part in a purchase any more")
    }
    try ChangeRecorder.update(transaction, in: connection)
    switch event {
    case .sold: try FamilySharing.share(transaction, in: connection)
    case .upgraded: try FamilySharing.follow(event, of: transaction, in: connection)
    default: break
    }
    return transaction
  }

  /// Sells `begun` as a period.
  ///
  /// - Parameter original: a sale of the same subscription; nil where this is the first.
  private func process(
    _ period: SubscriptionLifecycle.Period, original: PurchaseLifecycle.Sale?, of begun: StoredTransaction,
    in connection: borrowing Connection
  ) throws -> StoredTransaction {
    let sale = PurchaseLifecycle.Sale(
      type: .autoRenewableSubscription, originalID: original?.originalID ?? begun.id, date: period.start,
      originalDate: original?.originalDate ?? period.start, expires: period.end, price: period.price,
      offer: period.offer)
    return try Self.process(.sold(sale), of: begun, in: connection)
  }

  /// Why a purchase is refused whose customer saw another price than the catalog has, or an offer or a bonus with which it would not be
  /// made; nil where it is that one, or none was told. Who saw no offer and no bonus may get them.
  private func priceChange(
    to price: Price?, under terms: SubscriptionTerms? = nil, for begun: StoredTransaction
  ) -> Problem? {
    guard let shown = begun.shown else { return nil }
    let now = ShownPrice(price: price, offer: terms?.run?.shown, bonus: terms?.bonus)
    let isOfferGone = shown.offer != nil && shown.offer != now.offer
    let isBonusGone = shown.bonus != nil && shown.bonus != now.bonus
    guard shown.price != price || isOfferGone || isBonusGone else { return nil }
    return Problem(.priceChanged, "\(begun.product) is \(now), and not \(shown)")
  }

  /// Saves the failure, and answers the problem that the caller throws after the commit.
  private func refuse(
    _ begun: StoredTransaction, _ failure: PurchaseFailure, _ problem: Problem,
    in connection: borrowing Connection
  ) throws -> Outcome {
    _ = try Self.process(.refused(failure), of: begun, in: connection)
    return .refused(problem)
  }
}

extension PurchaseLifecycle.Sale {
  /// The same, not charged. A subscription keeps the dates of its period.
  package func restored(at date: Timestamp) -> PurchaseLifecycle.Sale {
    var sale = self
    sale.reason = .restore
    sale.price = nil
    if sale.expires == nil { sale.date = date }
    return sale
  }
}

extension SubscriptionLifecycle.OfferRun {
  /// The offer in the form in which a customer's `shown` price names it.
  fileprivate var shown: ShownPrice.Offer {
    ShownPrice.Offer(payment: offer.payment, period: period, payments: paymentsLeft, price: price)
  }
}
