import Commerce
import CoreTypes
import Database
import PullboxAPI
import SandboxRecords
import ServiceAPI

/// Rights that end after a sale, and that come back.
extension PaymentStore {
  /// Gives back a payment, whole or in part. Refunding again changes nothing. Throws `transaction-unknown`,
  /// `transaction-unpaid` for what was not charged, `request-malformed`. A second refund does not change
  /// percentage or reason either. A reason is 0 or 1.
  func refund(_ id: String, _ request: RefundRequest?) async throws -> StoreTransaction {
    let percentage = request?.percentage ?? 100
    let reason = request?.reason ?? 0
    guard (1...100).contains(percentage), (0...1).contains(reason) else {
      throw Problem(.requestMalformed, "percentage is from 1 to 100, reason 0 or 1")
    }
    return try await apply(to: id) { date, sale in
      guard sale.price != nil else { return nil }
      return .revoked(.init(kind: .refund, date: date, percentage: percentage, reason: reason))
    }
  }

  /// Takes back what was sold, also what cost nothing. Throws `transaction-unknown` or `transaction-unpaid`.
  /// Giving it back again changes nothing.
  func giveBack(_ id: String) async throws -> StoreTransaction {
    try await apply(to: id) { date, _ in .revoked(.init(kind: .refund, date: date, percentage: 100)) }
  }

  /// Takes a refund back: what was bought counts again. Throws `transaction-unknown`, and `transaction-unpaid` for what
  /// was not refunded. Sharing that ended cannot be reversed. Renewal goes on where the refund had stopped
  /// it.
  func reverse(_ id: String) async throws -> StoreTransaction {
    try await apply(to: id) { _, _ in .reinstated }
  }

  /// Family sharing of it ends. Throws `transaction-unknown` or `transaction-unpaid`. Any sold transaction
  /// can lose it, and revoking it again changes nothing.
  func revoke(_ id: String) async throws -> StoreTransaction {
    try await apply(to: id) { date, _ in .revoked(.init(kind: .family, date: date)) }
  }

  /// Applies an event to a sale, to the subscription whose period it is, and to the copies that rest on it,
  /// in one database transaction.
  ///
  /// - Parameter event: the event at a date in whole seconds; nil for a sale that it cannot happen to, which
  ///   is `transaction-unpaid`.
  private func apply(
    to id: String,
    _ event:
      @escaping @Sendable (_ date: Timestamp, _ sale: PurchaseLifecycle.Sale) -> PurchaseLifecycle.Event?
  ) async throws -> StoreTransaction {
    try await database.write(locking: [.everything]) { [clock] connection in
      var transaction = try Self.transaction(id, in: connection)
      guard let sale = transaction.sale, let event = event(clock.now().wholeSeconds, sale) else {
        throw Problem(.transactionUnpaid, "transaction \(transaction.id) was not paid for")
      }
      switch transaction.life.handle(event) {
      case .changed:
        try ChangeRecorder.update(transaction, in: connection)
        try Self.follow(event, of: sale, account: transaction.account, in: connection)
        try FamilySharing.follow(event, of: transaction, in: connection)
      case .unchanged: break
      case .refused: throw Problem(.transactionUnpaid, "transaction \(transaction.id) was not refunded")
      }
      return try transaction.published
    }
  }

  /// A period that runs and is given back is not renewed, and one whose refund is taken back is. Only the
  /// transaction of the period that runs counts; what was restored does not.
  private static func follow(
    _ event: PurchaseLifecycle.Event, of sale: PurchaseLifecycle.Sale, account: Int64,
    in connection: borrowing Connection
  ) throws {
    let found = try SubscriptionTable.find(
      in: connection, account: account, originalID: sale.originalID)
    guard var subscription = found, sale.reason != .restore, subscription.life.start == sale.date else {
      return
    }
    switch event {
    case .revoked(let revocation) where revocation.kind == .refund: subscription.life.refund()
    case .reinstated: subscription.life.reinstate()
    default: return
    }
    try ChangeRecorder.put(subscription, in: connection)
  }
}
