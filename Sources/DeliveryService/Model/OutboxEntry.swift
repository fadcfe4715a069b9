import Commerce

/// A call that a store still has to hear.
struct OutboxEntry: Sendable {
  enum Kind: String, Sendable {
    /// The transaction is finished: all it pays for was delivered.
    case finish
  }

  var id: Int64
  var store: StoreIdentifier
  var kind: Kind
  /// The transaction.
  var subject: TransactionIdentifier
  var attempts: Int
}
