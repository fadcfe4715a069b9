import Commerce
import CoreTypes
import Database
import PullboxAPI
import SandboxRecords
import ServiceAPI

/// Controls by which tests change accounts and subscriptions.
extension PaymentStore {
  /// Throws `not-found` for an unknown account, `state-conflict` for a territory, and `request-malformed`.
  /// All members are saved in one database transaction, or none.
  func change(account name: String, to change: AccountChange) async throws -> StoreAccount {
    guard change.territory == nil else {
      throw Problem(.stateConflict, "an account's territory never changes")
    }
    let account = try await database.write(locking: [.everything]) { connection in
      var account = try AccountTable.named(name, in: connection)
      account.canMakePayments = change.canMakePayments ?? account.canMakePayments
      account.asksToBuy = change.askToBuy ?? account.asksToBuy
      try account.application.take(change, account: account.id)
      try AccountTable.update(account, in: connection)
      return account
    }
    return publicAccount(account)
  }

  /// The account's next purchase fails so. Throws `request-malformed` for an error that is none of a payment.
  /// Without a request, and without an error in it, that is `payment-declined`. One purchase consumes it, and
  /// a second call before that takes the place of the first. With `interrupted` the purchase waits for its
  /// customer.
  func failNextPurchase(of account: Account, with request: PurchaseFailureRequest?) async throws {
    let failure = request?.error.map(PurchaseFailure.init(rawValue:)) ?? .paymentDeclined
    let known: [PurchaseFailure] = [
      .paymentCancelled, .paymentDeclined, .paymentNotAllowed, .interrupted,
    ]
    guard known.contains(failure) else {
      throw Problem(
        .requestMalformed, "error is one of \(known.map(\.rawValue).joined(separator: ", "))")
    }
    try await database.write(locking: [.everything]) { connection in
      try AccountTable.setNextFailure(failure, account: account.id, in: connection)
    }
  }

  /// The payments of its renewals fail until ``recover(_:)``. Throws `subscription-unknown`. A period that
  /// runs is not touched.
  func failRenewals(of id: String) async throws -> StoreSubscription {
    try await update(id) { subscription, _, _, _ in subscription.life.failRenewals() }
  }

  /// The payment succeeds. Throws `subscription-unknown`. A payment that was tried again brings its period,
  /// whose transaction is inserted in the same database transaction. Where none was tried again, only the
  /// payments to come succeed.
  func recover(_ id: String) async throws -> StoreSubscription {
    try await update(id) { subscription, calendar, now, connection in
      if case .renewed(let period) = subscription.life.recover(at: now.wholeSeconds, by: calendar) {
        try RenewalRun.insert(period, of: subscription, in: connection)
      }
    }
  }

  /// It pauses for a month at the end of the period that runs. Throws `subscription-unknown`, and `state-conflict` where it was sold
  /// without a purchase token, which Apple's store could not tell of, or where it is not renewed.
  func pause(_ id: String) async throws -> StoreSubscription {
    try await update(id) { subscription, _, _, connection in
      guard
        try PurchaseTokenTable.covering(.max, chain: subscription.originalID, in: connection) != nil
      else { throw Problem(.stateConflict, "the subscription has no purchase token") }
      guard subscription.life.schedulePause() else {
        throw Problem(.stateConflict, "the subscription is not renewed")
      }
    }
  }

  /// Goes on now, or does not pause. Throws `subscription-unknown`.
  func resume(_ id: String) async throws -> StoreSubscription {
    try await update(id) { subscription, calendar, now, connection in
      if case .renewed(let period) = subscription.life.resume(at: now.wholeSeconds, by: calendar) {
        try RenewalRun.insert(period, of: subscription, in: connection)
      }
    }
  }

  /// Throws `subscription-unknown`, and `request-malformed` without a price for the account's territory. The
  /// next renewal costs the price of the account's territory. If that needs consent and none is given, the
  /// subscription ends there.
  func raisePrice(of id: String, _ request: PriceIncreaseRequest) async throws -> StoreSubscription {
    try await update(id) { subscription, _, _, connection in
      let account = try AccountTable.find(in: connection, id: subscription.account)
      guard let price = account.flatMap({ request.prices[$0.territory] }) else {
        throw Problem(.requestMalformed, "prices has none of the account's territory")
      }
      subscription.life.raisePrice(to: price, needsConsent: request.needsConsent)
    }
  }

  /// Ends it now. Throws `subscription-unknown`. The transaction of the last period ends with it, and so do
  /// those that a family has from that one.
  func expire(_ id: String) async throws -> StoreSubscription {
    try await update(id) { subscription, _, now, connection in
      subscription.life.expire(at: now.wholeSeconds)
      try TransactionTable.endLastPeriod(of: subscription, in: connection)
    }
  }
}
