package import Commerce
package import CoreTypes
package import Database

/// Saves changes of transactions and subscriptions, and writes down the notifications that they call for, in the database
/// transaction of the change. Every change after the insertion of a purchase goes through here: the tables'
/// own `save` tells no receiver.
package enum ChangeRecorder {
  /// Inserts what is sold without having been asked for: a renewal, or something restored. It continues `original`.
  ///
  /// - Parameter account: whose it is, where that is another account, which shares it.
  @discardableResult
  package static func insert(
    in connection: borrowing Connection, continuing original: StoredTransaction,
    account: (id: Int64, territory: String)? = nil, product: ProductIdentifier,
    device: DeviceIdentifier?, sale: PurchaseLifecycle.Sale, requested: Timestamp
  ) throws -> StoredTransaction {
    let transaction = try TransactionTable.insert(
      in: connection, continuing: original, account: account, product: product, device: device, sale: sale,
      requested: requested)
    try tell(of: transaction, from: nil, in: connection)
    return transaction
  }

  /// Saves the state of a transaction. What is in the table is read first, and the notifications follow from
  /// the difference.
  package static func update(_ transaction: StoredTransaction, in connection: borrowing Connection) throws {
    let earlier = try TransactionTable.find(in: connection, id: transaction.id)
    try TransactionTable.save(transaction, in: connection)
    try tell(of: transaction, from: earlier, in: connection)
  }

  /// - Parameter earlier: nil for a row that is new.
  private static func tell(
    of transaction: StoredTransaction, from earlier: StoredTransaction?, in connection: borrowing Connection
  ) throws {
    try NotificationRecorder.transactionDidChange(from: earlier, to: transaction, in: connection)
    try GoogleMessageRecorder.transactionDidChange(from: earlier, to: transaction, in: connection)
  }

  /// Saves a subscription.
  package static func put(_ subscription: StoredSubscription, in connection: borrowing Connection) throws {
    let earlier = try SubscriptionTable.find(in: connection, originalID: subscription.originalID)
    try put(subscription, from: earlier, in: connection)
  }

  /// The same, where it is known what is there: nil for nothing. It saves one read where a caller has just
  /// read the subscription.
  static func put(
    _ subscription: StoredSubscription, from earlier: StoredSubscription?, in connection: borrowing Connection
  ) throws {
    try SubscriptionTable.save(subscription, in: connection)
    try NotificationRecorder.subscriptionDidChange(from: earlier, to: subscription, in: connection)
    try GoogleMessageRecorder.subscriptionDidChange(from: earlier, to: subscription, in: connection)
  }
}
