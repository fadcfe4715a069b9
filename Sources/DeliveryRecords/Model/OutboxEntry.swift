package import Commerce
package import CoreTypes
import PullboxAPI

/// A call that is still to be made to a store.
package struct OutboxEntry: Hashable, Sendable {
  /// What the store is told: an open word, so that the row of a later version is kept and shown, and not lost.
  package struct Kind: RawRepresentable, Hashable, Sendable {
    /// The transaction is finished: all it pays for was delivered.
    package static let finish = Kind(rawValue: "finish")
    /// The same, for a store that takes back what is not acknowledged in time. The payload is its client's.
    package static let acknowledge = Kind(rawValue: "acknowledge")
    /// The same, for a store that sells the product again once it was used up. The payload is its client's.
    package static let consume = Kind(rawValue: "consume")
    /// What was delivered of a purchase that may be refunded. The payload is a `ConsumptionStatement`.
    package static let consumption = Kind(rawValue: "consumption")
    /// What this version can tell a store.
    package static let known: [Kind] = [.finish, .acknowledge, .consume, .consumption]
    /// What ends a transaction: each transaction has one of them.
    package static let ends: [Kind] = [.finish, .acknowledge, .consume]

    package var rawValue: String

    /// What ends a transaction that is acknowledged so; nil for one that is finished.
    package init(ending acknowledgement: Acknowledgement?) {
      self =
        switch acknowledgement?.kind {
        case .acknowledge: .acknowledge
        case .consume: .consume
        case nil: .finish
        }
    }

    package init(rawValue: String) {
      self.rawValue = rawValue
    }
  }

  package var id: Int64
  package var kind: Kind
  /// The transaction.
  package var subject: TransactionKey
  /// Who is told.
  package var store: StoreIdentifier { subject.store }
  /// What the store is told besides.
  package var payload: String?
  package var attempts: Int
  /// Attempts that the store refused, since an operator last asked for another one.
  package var refusals: Int
  /// By the outbox's ``ScheduleClock``; ``atOnce`` before the first failure.
  package var nextAttempt: Timestamp

  /// The earliest next attempt that is written.
  package static let atOnce = Timestamp(millisecondsSinceEpoch: 0)
}

/// A node's claim to rows of the outbox: until it ends no other node makes their calls. An own claim is no
/// obstacle: within the node, ``StoreQueue`` holds each call once.
package struct OutboxLease: Hashable, Sendable {
  /// The node.
  package var holder: String
  /// By the outbox's ``ScheduleClock``, as ``until``.
  package var now: Timestamp
  package var until: Timestamp
  /// The stores whose calls would be made now: rows of other stores are not claimed.
  package var stores: Set<StoreIdentifier>

  package init(holder: String, now: Timestamp, until: Timestamp, stores: Set<StoreIdentifier>) {
    self.holder = holder
    self.now = now
    self.until = until
    self.stores = stores
  }
}
