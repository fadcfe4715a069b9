public import Commerce
public import CoreTypes

/// A call that the delivery server makes to a payment store, as its outbox has it.
public struct OutboxCall: Codable, Sendable {
  /// How the call stands.
  public enum State: String, ListedWords, Sendable {
    /// It is made until the store accepts it.
    case waiting
    /// It is not made until an operator asks for it.
    case parked
    /// The store has accepted it.
    case done
    /// It is not made: an operator decided so, or the store would not take it any more.
    case dropped
  }

  /// Its number, by which it is retried and dropped.
  public var id: Int64
  /// The name of the store.
  public var store: String
  /// The kind of the call, as a word such as `finish`.
  public var kind: String
  /// The transaction that the call is about.
  public var transaction: String
  /// How it stands.
  public var state: State
  /// How often it was made.
  public var attempts: Int64
  /// How often the store refused it, since an operator last asked for it.
  public var refusals: Int64
  /// When it is made next; absent for a call that is not waiting, and for one that is held.
  public var nextAttempt: Timestamp?
  /// The error of the last attempt; absent unless it failed.
  public var lastError: String?
  /// When it was written down.
  public var created: Timestamp
  /// Since when it is parked.
  public var parked: Timestamp?
  /// When the store accepted it, or an operator dropped it.
  public var done: Timestamp?
  /// The environment of the purchase, `Production` or `Sandbox`; absent from servers that did not tell them apart.
  public var environment: String?
  /// The purchases of the same order that are still to be delivered, as transactions, at most 100: the store is told of the
  /// order once, when all of it is delivered. Absent unless they hold the call.
  public var waitsFor: [String]?
  /// When a call that is held is made at the latest: its store has taken back by then what was not delivered.
  public var heldUntil: Timestamp?

  /// Creates the document from its members.
  public init(
    id: Int64, store: String, kind: String, transaction: String, state: State, attempts: Int64,
    refusals: Int64, nextAttempt: Timestamp? = nil, lastError: String? = nil, created: Timestamp,
    parked: Timestamp? = nil, done: Timestamp? = nil, environment: String? = nil,
    waitsFor: [String]? = nil, heldUntil: Timestamp? = nil
  ) {
    self.id = id
    self.store = store
    self.kind = kind
    self.transaction = transaction
    self.state = state
    self.attempts = attempts
    self.refusals = refusals
    self.nextAttempt = nextAttempt
    self.lastError = lastError
    self.created = created
    self.parked = parked
    self.done = done
    self.environment = environment
    self.waitsFor = waitsFor
    self.heldUntil = heldUntil
  }
}
