public import Commerce
public import CoreTypes
public import PullboxAPI

/// `PATCH /sandbox/v1/accounts/{account}`; what is absent stays as it is.
public struct AccountChange: Codable, Sendable, OperatorWritten {
  /// Whether the account may buy at all.
  public var canMakePayments: Bool?
  /// Whether another person must approve each purchase first.
  public var askToBuy: Bool?
  /// Never changes: any value is refused.
  public var territory: String?
  /// The version of the application that the account bought, or downloaded first.
  public var originalApplicationVersion: String?
  /// When the account bought the application, or downloaded it first.
  public var originalPurchaseDate: Timestamp?
  /// The number of that download in app receipts; 0 for none, as in Apple's sandbox. If it is absent, and the version or
  /// the date is given, the store uses the number of the account's app transaction, unless a number is set already.
  public var downloadId: Int64?

  /// Creates the change.
  public init(
    canMakePayments: Bool? = nil, askToBuy: Bool? = nil, territory: String? = nil,
    originalApplicationVersion: String? = nil, originalPurchaseDate: Timestamp? = nil,
    downloadId: Int64? = nil
  ) {
    self.canMakePayments = canMakePayments
    self.askToBuy = askToBuy
    self.territory = territory
    self.originalApplicationVersion = originalApplicationVersion
    self.originalPurchaseDate = originalPurchaseDate
    self.downloadId = downloadId
  }
}

/// `POST /sandbox/v1/purchases/fail-next`.
public struct PurchaseFailureRequest: Codable, Sendable, OperatorWritten {
  /// `payment-cancelled`, `payment-declined`, `payment-not-allowed`, or `interrupted`, which leaves the transaction
  /// purchasing until it is decided. Left out, the payment is declined.
  public var error: String?

  /// Creates the request.
  public init(error: String? = nil) {
    self.error = error
  }
}

/// `POST /sandbox/v1/transactions/{id}/decide`.
public struct PurchaseDecision: Codable, Sendable, OperatorWritten {
  /// Whether the purchase goes on.
  public var approve: Bool

  /// Creates the decision.
  public init(approve: Bool) {
    self.approve = approve
  }
}

/// `POST /sandbox/v1/transactions/{id}/refund`.
public struct RefundRequest: Codable, Sendable, OperatorWritten {
  /// How much of the price is given back, 1 to 100; all of it when left out.
  public var percentage: Int?
  /// 1 for an issue with the app, 0 for any other reason, which it is when left out.
  public var reason: Int?

  /// Creates the request.
  public init(percentage: Int? = nil, reason: Int? = nil) {
    self.percentage = percentage
    self.reason = reason
  }
}

/// `GET /sandbox/v1/transactions/{id}/consumption`: what a server said of the use of a purchase.
public struct ConsumptionReports: Codable, Sendable {
  /// The latest report of one version of the call.
  public struct Report: Codable, Sendable {
    /// 1 or 2.
    public var version: Int
    /// The body of the call, a JSON object.
    public var document: String
    /// When it came.
    public var received: Timestamp

    /// Creates the document from its members.
    public init(version: Int, document: String, received: Timestamp) {
      self.version = version
      self.document = document
      self.received = received
    }
  }

  /// In the order of the versions.
  public var reports: [Report]

  /// Creates the document from its members.
  public init(reports: [Report]) {
    self.reports = reports
  }
}

/// `POST /sandbox/v1/subscriptions/{originalId}/raise-price`.
public struct PriceIncreaseRequest: Codable, Sendable, OperatorWritten {
  /// The new price by ISO 3166 alpha-3 territory; the account's is needed.
  public var prices: [String: Price]
  /// Whether the subscription ends unless the customer accepts the price.
  public var needsConsent: Bool

  /// Creates the request.
  public init(prices: [String: Price], needsConsent: Bool) {
    self.prices = prices
    self.needsConsent = needsConsent
  }
}
