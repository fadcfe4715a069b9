public import Commerce

/// `POST /sandbox/v1/accounts`: a test reader.
public struct AccountRequest: Codable, Sendable, OperatorWritten {
  /// ISO 3166 alpha-3.
  public var territory: String
  /// The account's name, 1 to 100 bytes.
  public var name: String

  /// Creates the request.
  public init(territory: String, name: String) {
    self.territory = territory
    self.name = name
  }
}

/// The answer to `POST /store/v1/accounts`: 201.
public struct AccountResponse: Codable, Sendable {
  /// The account's name in the store.
  public var account: String
  /// The bearer token for the account's requests; shown this once.
  public var token: String

  /// Creates the document from its members.
  public init(account: String, token: String) {
    self.account = account
    self.token = token
  }
}

/// `GET /store/v1/account`: what an app asks before it shows a shop.
public struct StoreAccount: Codable, Sendable {
  /// ISO 3166 alpha-3; never changes.
  public var territory: String
  /// ISO 4217: the currency of the territory. Absent where the store does not know it.
  public var currency: String?
  /// `Sandbox` or `Production`.
  public var environment: String
  /// False where purchases are not allowed to this account.
  public var canMakePayments: Bool
  /// The application that the store sells for, which its receipts name; absent where it does not tell.
  public var application: ApplicationIdentifier?

  /// Creates the document from its members.
  public init(
    territory: String, currency: String?, environment: String, canMakePayments: Bool,
    application: ApplicationIdentifier? = nil
  ) {
    self.application = application
    self.territory = territory
    self.currency = currency
    self.environment = environment
    self.canMakePayments = canMakePayments
  }
}
