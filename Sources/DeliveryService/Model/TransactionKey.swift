import Commerce

/// Names a transaction among all that the server knows. The numbers of a store's environments have nothing to do with each
/// other: a purchase in the sandbox may have the number of one that was paid for.
struct TransactionKey: Hashable, Sendable {
  var store: StoreIdentifier
  var environment: StoreEnvironment
  var id: TransactionIdentifier
}

extension VerifiedTransaction {
  var key: TransactionKey { TransactionKey(store: store, environment: environment, id: id) }

  /// The first transaction of the purchase, itself where it is that.
  var originalKey: TransactionKey { TransactionKey(store: store, environment: environment, id: originalID) }
}

extension GrantRecord {
  /// What pays for it.
  var transactionKey: TransactionKey {
    TransactionKey(store: store, environment: environment, id: transaction)
  }
}
