public import Commerce
public import CoreTypes

/// `GET /v1/operator/reports`: what was sold, from the ledger. Nothing in it names a person.
public struct SalesReport: Codable, Sendable {
  /// By what the numbers are told apart.
  public enum Dimension: String, ListedWords, Sendable {
    /// The day in UTC.
    case day
    /// The product that was sold.
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

/// `GET /v1/operator/reports/money`: what was paid and given back, as the stores told it. Currencies are never added up.
public struct MoneyReport: Codable, Sendable {
  /// The sums of one territory and currency.
  public struct Row: Codable, Hashable, Sendable {
    /// ISO 3166 alpha-3, or `unknown`.
    public var territory: String
    /// ISO 4217.
    public var currency: String
    /// Transactions that were paid for.
    public var sales: Int
    /// The sum of their prices, exactly: a decimal number.
    public var sold: String
    /// Transactions that were refunded or withdrawn, whenever they were paid for.
    public var refunds: Int
    /// The sum of the prices that had been paid for these.
    public var refunded: String

    /// Creates the row from its members.
    public init(
      territory: String, currency: String, sales: Int, sold: String, refunds: Int, refunded: String
    ) {
      self.territory = territory
      self.currency = currency
      self.sales = sales
      self.sold = sold
      self.refunds = refunds
      self.refunded = refunded
    }
  }

  /// The first moment that is counted: midnight in UTC.
  public var from: Timestamp
  /// The first moment that is not.
  public var to: Timestamp
  /// By territory and currency.
  public var rows: [Row]
  /// Transactions of which the store told no price: what was free, and all that an app receipt shows.
  public var withoutPrice: Int

  /// Creates the document from its members.
  public init(from: Timestamp, to: Timestamp, rows: [Row], withoutPrice: Int) {
    self.from = from
    self.to = to
    self.rows = rows
    self.withoutPrice = withoutPrice
  }
}
