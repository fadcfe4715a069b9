/// Names a transaction among all that the server knows. The numbers of a store's environments have nothing to do with each
/// other: a purchase in the sandbox may have the number of one that was paid for.
package struct TransactionKey: Hashable, Sendable {
  package var store: StoreIdentifier
  package var environment: StoreEnvironment
  package var id: TransactionIdentifier

  package init(store: StoreIdentifier, environment: StoreEnvironment, id: TransactionIdentifier) {
    self.store = store
    self.environment = environment
    self.id = id
  }
}

extension VerifiedTransaction {
  package var key: TransactionKey { TransactionKey(store: store, environment: environment, id: id) }

  /// The first transaction of the purchase, itself where it is that.
  package var originalKey: TransactionKey {
    TransactionKey(store: store, environment: environment, id: originalID)
  }
}
