import Commerce
import CoreTypes

/// A call that is still to be made to a store.
struct OutboxEntry: Hashable, Sendable {
  /// What the store is told: an open word, so that the row of a later version is kept and shown, and not lost.
  struct Kind: RawRepresentable, Hashable, Sendable {
    /// The transaction is finished: all it pays for was delivered.
    static let finish = Kind(rawValue: "finish")
    /// What this version can tell a store.
    static let known: [Kind] = [.finish]

    var rawValue: String
  }

  var id: Int64
  var kind: Kind
  /// The transaction.
  var subject: TransactionKey
  /// Who is told.
  var store: StoreIdentifier { subject.store }
  /// What the store is told besides; no kind of today has any.
  var payload: String?
  var attempts: Int
  /// Attempts that the store refused, since an operator last asked for another one.
  var refusals: Int
  /// By the outbox's ``ScheduleClock``; ``atOnce`` before the first failure.
  var nextAttempt: Timestamp

  /// The earliest next attempt that is written.
  static let atOnce = Timestamp(millisecondsSinceEpoch: 0)
}

/// A node's claim to rows of the outbox: until it ends no other node makes their calls. An own claim is no
/// obstacle: within the node, ``StoreQueue`` holds each call once.
struct OutboxLease: Hashable, Sendable {
  /// The node.
  var holder: String
  /// By the outbox's ``ScheduleClock``, as ``until``.
  var now: Timestamp
  var until: Timestamp
  /// The stores whose calls would be made now: rows of other stores are not claimed.
  var stores: Set<StoreIdentifier>
}
