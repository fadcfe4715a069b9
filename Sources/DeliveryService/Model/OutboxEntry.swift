import Commerce
import CoreTypes
import PullboxAPI

/// A call that is still to be made to a store.
struct OutboxEntry: Hashable, Sendable {
  /// What the store is told: an open word, so that the row of a later version is kept and shown, and not lost.
  struct Kind: RawRepresentable, Hashable, Sendable {
    /// The transaction is finished: all it pays for was delivered.
    static let finish = Kind(rawValue: "finish")
    /// The same, for a store that takes back what is not acknowledged in time. The payload is its client's.
    static let acknowledge = Kind(rawValue: "acknowledge")
    /// The same, for a store that sells the product again once it was used up. The payload is its client's.
    static let consume = Kind(rawValue: "consume")
    /// What was delivered of a purchase that may be refunded. The payload is a ``ConsumptionStatement``.
    static let consumption = Kind(rawValue: "consumption")
    /// What this version can tell a store.
    static let known: [Kind] = [.finish, .acknowledge, .consume, .consumption]
    /// What ends a transaction: each transaction has one of them.
    static let ends: [Kind] = [.finish, .acknowledge, .consume]

    var rawValue: String

    /// What ends a transaction that is acknowledged so; nil for one that is finished.
    init(ending acknowledgement: Acknowledgement?) {
      self =
        switch acknowledgement?.kind {
        case .acknowledge: .acknowledge
        case .consume: .consume
        case nil: .finish
        }
    }

    init(rawValue: String) {
      self.rawValue = rawValue
    }
  }

  var id: Int64
  var kind: Kind
  /// The transaction.
  var subject: TransactionKey
  /// Who is told.
  var store: StoreIdentifier { subject.store }
  /// What the store is told besides.
  var payload: String?
  var attempts: Int
  /// Attempts that the store refused, since an operator last asked for another one.
  var refusals: Int
  /// By the outbox's ``ScheduleClock``; ``atOnce`` before the first failure.
  var nextAttempt: Timestamp

  /// What the store is told of a purchase that may be refunded; nil for another kind, and for a payload that is no statement.
  var consumption: ConsumptionStatement? {
    guard kind == .consumption, let payload else { return nil }
    return try? APIJSON.decode(ConsumptionStatement.self, from: Array(payload.utf8))
  }

  /// Whether the store would not take the call any more.
  func isOverdue(at now: Timestamp) -> Bool { consumption?.answerBy.map { $0 <= now } ?? false }

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
