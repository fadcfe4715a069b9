public import Commerce
public import PullboxAPI

/// `POST /sandbox/v1/licences`: a volume purchase of a product.
public struct LicenseRequest: Codable, Sendable, OperatorWritten {
  /// A non-consumable product.
  public var product: ProductIdentifier
  /// How many accounts may hold it at the same time, 1 to 10,000.
  public var seats: Int

  /// Creates the request.
  public init(product: ProductIdentifier, seats: Int) {
    self.product = product
    self.seats = seats
  }
}

/// A volume license, as its controls answer.
public struct StoreLicense: Codable, Sendable {
  /// Names it in `/sandbox/v1/licences/{licence}/…`.
  public var license: Int64
  /// The licensed product.
  public var product: ProductIdentifier
  /// How many accounts may hold it at the same time.
  public var seats: Int
  /// The accounts that hold it, by their names in the store, the first 1,000.
  public var accounts: [String]

  /// Creates the document from its members.
  public init(license: Int64, product: ProductIdentifier, seats: Int, accounts: [String]) {
    self.license = license
    self.product = product
    self.seats = seats
    self.accounts = accounts
  }
}

/// `POST /sandbox/v1/licences/{licence}/assign` and `…/revoke`.
public struct LicenseSeatRequest: Codable, Sendable, OperatorWritten {
  /// The account's name in the store.
  public var account: String

  /// Creates the request.
  public init(account: String) {
    self.account = account
  }
}

/// `POST /sandbox/v1/families`, and its answer: who shares what the organizer buys.
public struct StoreFamily: Codable, Sendable, OperatorWritten {
  /// The account's name in the store.
  public var organizer: String
  /// The names of the others, five at most; what they shared ends for those that were members and are not among them.
  public var members: [String]

  /// Creates the document from its members.
  public init(organizer: String, members: [String]) {
    self.organizer = organizer
    self.members = members
  }
}

/// `PUT /sandbox/v1/faults`, and its answer: what the store does wrong until it is set otherwise. What is absent is right.
public struct StoreFaults: Codable, Hashable, Sendable, OperatorWritten {
  /// Milliseconds before each answer, 0 to 60,000.
  public var latency: Int?
  /// 400 to 599: what everything is answered, without a body. 21000 to 21199: what `verifyReceipt` says.
  public var status: Int?
  /// Everything is answered 503 `unavailable`.
  public var outage: Bool?
  /// Receipts are signed wrongly.
  public var wrongSignature: Bool?
  /// Seconds by which the dates of receipts and answers are ahead, -2,678,400 to 2,678,400.
  public var skew: Int?
  /// `verifyReceipt` says 21002 where it would say 21003.
  public var collapse21003: Bool?

  /// Creates the document from its members.
  public init(
    latency: Int? = nil, status: Int? = nil, outage: Bool? = nil, wrongSignature: Bool? = nil,
    skew: Int? = nil, collapse21003: Bool? = nil
  ) {
    self.latency = latency
    self.status = status
    self.outage = outage
    self.wrongSignature = wrongSignature
    self.skew = skew
    self.collapse21003 = collapse21003
  }
}
