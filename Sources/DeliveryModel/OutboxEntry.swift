package import Commerce
package import CoreTypes
import PullboxAPI

/// A call that is still to be made to a store.
package struct OutboxEntry: Hashable, Sendable {
  /// The kind of a call: an open set of names, so that the row of a later version is kept and shown, and not lost.
  package struct Kind: RawRepresentable, Hashable, Sendable {
    /// The transaction is finished: all it pays for was delivered.
    package static let finish = Kind(rawValue: "finish")
    /// The same, for a store that takes back what is not acknowledged in time. The payload is its client's.
    package static let acknowledge = Kind(rawValue: "acknowledge")
    /// The same, for a store that sells the product again once it was used up. The payload is its client's.
    package static let consume = Kind(rawValue: "consume")
    /// A statement of how much was delivered of a purchase that may be refunded. The payload is a `ConsumptionStatement`.
    package static let consumption = Kind(rawValue: "consumption")
    /// The kinds of calls that this version can make.
    package static let known: [Kind] = [.finish, .acknowledge, .consume, .consumption]
    /// The kinds of calls that end a transaction. Each transaction has one of them.
    package static let ends: [Kind] = [.finish, .acknowledge, .consume]

    /// The name in the row.
    package var rawValue: String

    /// Creates the kind of call that ends a transaction with that acknowledgement; with nil, the call finishes the
    /// transaction.
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

  /// The row, which orders the calls and is never used again.
  package var id: Int64
  /// The kind of the call, which this version may not know.
  package var kind: Kind
  /// The transaction.
  package var subject: TransactionKey
  /// The store that is called.
  package var store: StoreIdentifier { subject.store }
  /// The data that the store is sent besides.
  package var payload: String?
  /// Attempts that were made, accepted and failed ones.
  package var attempts: Int
  /// Attempts that the store refused, since an operator last asked for another one.
  package var refusals: Int
  /// By the outbox's ``ScheduleClock``; ``atOnce`` before the first failure.
  package var nextAttempt: Timestamp

  /// Creates the entry of a row. A call that was never tried has no attempts and the time ``atOnce``.
  package init(
    id: Int64, kind: Kind, subject: TransactionKey, payload: String? = nil, attempts: Int, refusals: Int,
    nextAttempt: Timestamp
  ) {
    self.id = id
    self.kind = kind
    self.subject = subject
    self.payload = payload
    self.attempts = attempts
    self.refusals = refusals
    self.nextAttempt = nextAttempt
  }

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
  /// The moment from which another node may take the call.
  package var until: Timestamp
  /// The stores whose calls would be made now: rows of other stores are not claimed.
  package var stores: Set<StoreIdentifier>

  /// Creates a claim that begins at `now`.
  ///
  /// - Parameters:
  ///   - holder: the node's name in its configuration.
  ///   - until: when other nodes may claim the rows.
  ///   - stores: the stores whose rows are claimed.
  package init(holder: String, now: Timestamp, until: Timestamp, stores: Set<StoreIdentifier>) {
    self.holder = holder
    self.now = now
    self.until = until
    self.stores = stores
  }
}
