public import Commerce
public import CoreTypes

/// `GET /v1/operator/reports`: what was sold, from the ledger. Nothing in it names a person.
public struct SalesReport: Codable, Sendable {
  /// By what the numbers are told apart.
  public enum Dimension: String, Codable, Sendable, CaseIterable {
    /// The day in UTC.
    case day
    /// What was sold.
    case product
    /// Where, as far as the store tells it.
    case territory
    /// The store.
    case store
    /// The environment of the store.
    case environment
  }

  /// The numbers of one day, product, territory, store and environment, of those that were asked for.
  public struct Row: Codable, Hashable, Sendable {
    /// `2026-11-23`, in UTC; absent where days are not told apart.
    public var day: String?
    /// Absent where products are not told apart.
    public var product: ProductIdentifier?
    /// ISO 3166 alpha-3, or `unknown`; absent where territories are not told apart.
    public var territory: String?
    /// Absent where stores are not told apart.
    public var store: StoreIdentifier?
    /// Absent where environments are not told apart.
    public var environment: StoreEnvironment?
    /// How many were paid for, renewals and what was free among them.
    public var units: Int
    /// How many were refunded or withdrawn, whenever they were paid for.
    public var refunds: Int
    /// Subscriptions that began.
    public var newSubscribers: Int
    /// Subscriptions that ended and were not continued, refunded ones among them.
    public var lapsed: Int
    /// Subscriptions that were paid for at the end of the day, or of the report's last.
    public var active: Int

    /// Creates the row from its members.
    public init(
      day: String? = nil, product: ProductIdentifier? = nil, territory: String? = nil,
      store: StoreIdentifier? = nil, environment: StoreEnvironment? = nil, units: Int, refunds: Int,
      newSubscribers: Int, lapsed: Int, active: Int
    ) {
      self.day = day
      self.product = product
      self.territory = territory
      self.store = store
      self.environment = environment
      self.units = units
      self.refunds = refunds
      self.newSubscribers = newSubscribers
      self.lapsed = lapsed
      self.active = active
    }
  }

  /// Days of one report, at most.
  public static let maximumDays = 400
  /// Rows of one report, at most.
  public static let maximumRows = 100_000

  /// The first moment that is counted: midnight in UTC.
  public var from: Timestamp
  /// The first moment that is not.
  public var to: Timestamp
  /// By day, product, territory, store and environment.
  public var rows: [Row]

  /// Creates the document from its members.
  public init(from: Timestamp, to: Timestamp, rows: [Row]) {
    self.from = from
    self.to = to
    self.rows = rows
  }
}
