public import Commerce
public import CoreTypes
public import Entitlements

/// `GET /v1/operator/explain`: why a customer may have a product at an instant, or not.
public struct ExplanationResponse: Codable, Sendable {
  /// One rule that was applied.
  public struct Finding: Codable, Sendable {
    /// From a moment up to but not including another.
    public struct Period: Codable, Sendable {
      /// When it begins.
      public var start: Timestamp
      /// When it ends; absent for one that does not end.
      public var end: Timestamp?

      /// Creates the document from its members.
      public init(start: Timestamp, end: Timestamp? = nil) {
        self.start = start
        self.end = end
      }
    }

    /// The rule, of the closed list in docs/entitlements.md.
    public var rule: EntitlementRule
    /// The transaction that it was applied to; absent where nothing was bought.
    public var transaction: TransactionIdentifier?
    /// The time that was paid for, or the grace; absent where the rule is about none.
    public var period: Period?
    /// The same for people, in English, with dates in UTC.
    public var sentence: String

    /// Creates the document from its members.
    public init(
      rule: EntitlementRule, transaction: TransactionIdentifier? = nil, period: Period? = nil,
      sentence: String
    ) {
      self.rule = rule
      self.transaction = transaction
      self.period = period
      self.sentence = sentence
    }
  }

  /// The delivery of one version to an application for reading, which has a key of the customer's.
  public struct ReaderDelivery: Codable, Sendable {
    /// The device that the key counts as.
    public var device: DeviceIdentifier
    /// The key's name; absent once the key is removed.
    public var name: String?
    /// The customer's name for the application; absent once the key is removed.
    public var title: String?
    /// The version that was sent.
    public var version: ContentVersion
    /// Bytes that were sent so far, repeated ones counted again.
    public var bytesDelivered: ByteCount
    /// When the application first asked for it.
    public var created: Timestamp
    /// When bytes were last sent, some seconds later at most; absent before the first.
    public var lastSent: Timestamp?

    /// Creates the document from its members.
    public init(
      device: DeviceIdentifier, name: String? = nil, title: String? = nil, version: ContentVersion,
      bytesDelivered: ByteCount, created: Timestamp, lastSent: Timestamp? = nil
    ) {
      self.device = device
      self.name = name
      self.title = title
      self.version = version
      self.bytesDelivered = bytesDelivered
      self.created = created
      self.lastSent = lastSent
    }
  }

  /// The product that was asked about.
  public var product: ProductIdentifier
  /// The instant that was asked about.
  public var at: Timestamp
  /// The customers whose purchases were looked at, by the server's own names for them.
  public var customers: [String]
  /// Whether the product's content might be delivered.
  public var allowed: Bool
  /// Until when, unless something is paid for again; of what was owned no more, until when it was. Absent for what does not
  /// end, and for what was never owned.
  public var until: Timestamp?
  /// The findings for the entitlement, the strongest first.
  public var because: [Finding]
  /// The findings against the entitlement, the latest first.
  public var against: [Finding]
  /// The product's deliveries to applications for reading, the newest first: of grants until the instant, with the bytes of now. Absent
  /// from servers that did not tell of them.
  public var readers: [ReaderDelivery]?

  /// Creates the document from its members.
  public init(
    product: ProductIdentifier, at: Timestamp, customers: [String], allowed: Bool, until: Timestamp? = nil,
    because: [Finding], against: [Finding], readers: [ReaderDelivery]? = nil
  ) {
    self.product = product
    self.at = at
    self.customers = customers
    self.allowed = allowed
    self.until = until
    self.because = because
    self.against = against
    self.readers = readers
  }
}
