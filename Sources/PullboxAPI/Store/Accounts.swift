public import Commerce

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
