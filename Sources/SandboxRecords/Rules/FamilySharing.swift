import Commerce
package import CoreTypes
package import Database

/// The transactions that the members of a family have from its organizer's purchases. Each rests on one of
/// the organizer's and ends with it. Consumables and non-renewing subscriptions are not shared.
package enum FamilySharing {
  /// The members get what the transaction sold. Nothing happens for an account that organizes no family.
  static func share(_ transaction: StoredTransaction, in connection: borrowing Connection) throws {
    for member in try FamilyTable.members(of: transaction.account, in: connection) {
      try share(transaction, with: member, in: connection)
    }
  }

  /// The member gets all that the organizer owns, a subscription by its last period.
  package static func shareAll(
    of organizer: Account, with member: Account, in connection: borrowing Connection
  ) throws {
    for transaction in try TransactionTable.restorable(in: connection, account: organizer.id) {
      try share(transaction, with: member, in: connection)
    }
  }

  /// Inserts the member's copy: free, without the offer, of no device. A restored, revoked or shared
  /// transaction and a seat of a license are not shared, and neither is another type than a non-consumable
  /// and a renewing subscription.
  private static func share(
    _ transaction: StoredTransaction, with member: Account, in connection: borrowing Connection
  ) throws {
    guard var sale = transaction.sale, sale.reason != .restore, sale.revocation == nil,
      transaction.sharedFrom == nil, transaction.license == nil,
      sale.type == .nonConsumable || sale.type == .autoRenewableSubscription
    else { return }
    sale.price = nil
    sale.offer = nil
    try ChangeRecorder.insert(
      in: connection, continuing: transaction, account: (member.id, member.territory),
      product: transaction.product, device: nil, sale: sale, requested: sale.date)
  }

  /// Ends the transactions that others shared with the member. The revocations are dated `now`.
  package static func end(
    with member: Account, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    for share in try TransactionTable.shared(with: member.id, in: connection) {
      try Self.revoke(share, at: now, in: connection)
    }
  }

  /// Applies an event of a transaction to the transactions that rest on it: restored copies, and those that a
  /// family shares of it. A refund that is taken back shares the transaction anew: the family's copies that
  /// were revoked stay so.
  package static func follow(
    _ event: PurchaseLifecycle.Event, of transaction: StoredTransaction, in connection: borrowing Connection
  ) throws {
    guard let sale = transaction.sale else { return }
    for var copy in try TransactionTable.restored(
      in: connection, account: transaction.account, originalID: sale.originalID, expires: sale.expires)
    where copy.id != transaction.id && copy.life.handle(event) == .changed {
      try ChangeRecorder.update(copy, in: connection)
    }
    switch event {
    case .revoked(let revocation):
      for share in try TransactionTable.shares(of: transaction.id, in: connection) {
        try revoke(share, at: revocation.date, in: connection)
      }
    case .upgraded:
      for var share in try TransactionTable.shares(of: transaction.id, in: connection)
      where share.life.handle(event) == .changed {
        try ChangeRecorder.update(share, in: connection)
      }
    case .reinstated: try share(transaction, in: connection)
    default: break
    }
  }

  /// Revokes a copy, and with it the copies that the member restored from it.
  private static func revoke(
    _ share: StoredTransaction, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    var share = share
    let event = PurchaseLifecycle.Event.revoked(.init(kind: .family, date: now))
    guard share.life.handle(event) == .changed else { return }
    try ChangeRecorder.update(share, in: connection)
    try follow(event, of: share, in: connection)
  }
}
