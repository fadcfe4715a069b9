public import Commerce
public import CoreTypes

/// A case in which purchases seem to go from hand to hand, as `GET /v1/operator/irregularities` lists them.
public struct Irregularity: Codable, Sendable {
  /// The kind of an irregularity: an open word, so that those of later servers are read.
  public struct Kind: RawRepresentable, Codable, Hashable, Sendable {
    /// More devices showed a customer's proofs than its store allows.
    public static let manyDevices = Kind(rawValue: "many-devices")
    /// Three store accounts or more began to buy for one application account within a day.
    public static let manyPayers = Kind(rawValue: "many-payers")
    /// Requests named one application account, within a day, for purchases of three store accounts or more of which the store names
    /// none, or another: the requests' own word, which refuses nothing.
    public static let namedByMany = Kind(rawValue: "named-by-many")
    /// Another application account claimed a purchase than the one it belongs to.
    public static let otherAccount = Kind(rawValue: "other-account")
    /// Those that this version knows.
    public static let known: [Kind] = [.manyDevices, .manyPayers, .namedByMany, .otherAccount]

    /// The word.
    public var rawValue: String

    /// Any word.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }
  }

  /// Its number, by which pages go on.
  public var id: Int64
  /// The kind of the irregularity.
  public var kind: Kind
  /// The name of the store.
  public var store: String
  /// The environment of the purchase, `Production` or `Sandbox`.
  public var environment: String
  /// A purchase of the case: `pullbox grants --transaction` shows its grants.
  public var transaction: TransactionIdentifier
  /// The device that was seen last; absent where none takes part.
  public var device: DeviceIdentifier?
  /// When it was seen first.
  public var firstSeen: Timestamp
  /// When it was seen last, to the hour.
  public var lastSeen: Timestamp
  /// Whether a request was refused for it.
  public var wasRefused: Bool

  /// Creates the document from its members.
  public init(
    id: Int64, kind: Kind, store: String, environment: String, transaction: TransactionIdentifier,
    device: DeviceIdentifier? = nil, firstSeen: Timestamp, lastSeen: Timestamp, wasRefused: Bool
  ) {
    self.id = id
    self.kind = kind
    self.store = store
    self.environment = environment
    self.transaction = transaction
    self.device = device
    self.firstSeen = firstSeen
    self.lastSeen = lastSeen
    self.wasRefused = wasRefused
  }
}
