public import CoreTypes

/// `GET /v1/operator/stores`: every store of the server, and how it stands with it.
public struct StoreStatuses: Codable, Sendable {
  /// In the order of their names.
  public var stores: [StoreStatus]

  /// Creates the document from its members.
  public init(stores: [StoreStatus]) {
    self.stores = stores
  }
}

/// One payment store.
public struct StoreStatus: Codable, Sendable {
  /// A notification that was written down.
  public struct Notification: Codable, Sendable {
    /// The notification's type, in the store's words.
    public var type: String
    /// The notification's subtype, in the store's words.
    public var subtype: String?
    /// When the store signed it.
    public var signed: Timestamp
    /// When it was written down here.
    public var received: Timestamp

    /// Creates the document from its members.
    public init(type: String, subtype: String?, signed: Timestamp, received: Timestamp) {
      self.type = type
      self.subtype = subtype
      self.signed = signed
      self.received = received
    }
  }

  /// The store's name in proofs.
  public var name: String
  /// How it is spoken to: `pullbox`, `apple`.
  public var kind: String
  /// The environments of the purchases that count: `Production`, `Sandbox`.
  public var environments: [String]
  /// Whether it is asked and called as usual: false while it does not answer, and only probes are made.
  public var isReachable: Bool
  /// When it last answered a question or a call; absent until it has, since the server started.
  public var lastAnswer: Timestamp?
  /// When a question or a call last got no answer; absent until then, since the server started.
  public var lastFailure: Timestamp?
  /// Whether questions about proofs are held back.
  public var questionsStopped: Bool
  /// Whether calls of the outbox are held back.
  public var callsStopped: Bool
  /// The one that the store signed last.
  public var lastNotification: Notification?
  /// Notifications that had not arrived and were found in the store's history.
  public var recoveredNotifications: Int64
  /// Up to when that history was read; absent for a store without a key to it.
  public var historyReadUntil: Timestamp?
  /// Calls that wait for the store.
  public var callsWaiting: Int64
  /// Calls that wait for an operator.
  public var callsParked: Int64
  /// When the call was added that has waited longest.
  public var oldestCall: Timestamp?
  /// Purchases that it was not told are delivered, where it takes back what it is not told of; absent from servers that do not
  /// count them.
  public var unacknowledged: Int64?
  /// The unacknowledged purchases that the store takes back within a day.
  public var unacknowledgedUrgent: Int64?
  /// When it takes back the first.
  public var nextAcknowledgement: Timestamp?

  /// A store of which nothing but its configuration is known.
  public init(name: String, kind: String, environments: [String]) {
    self.name = name
    self.kind = kind
    self.environments = environments
    isReachable = true
    questionsStopped = false
    callsStopped = false
    recoveredNotifications = 0
    callsWaiting = 0
    callsParked = 0
  }
}
