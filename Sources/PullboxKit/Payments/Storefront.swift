import PullboxAPI

/// Where the store of this device sells.
public struct Storefront: Hashable, Sendable {
  /// ISO 3166 alpha-3: `FRA`. Prices are those of this territory.
  public let countryCode: String
  /// ISO 4217; nil where the store does not know it.
  public let currency: String?
  /// `Sandbox` or `Production`.
  public let environment: String
  /// Whether purchases are allowed to the account: what an app asks before it shows a shop.
  public let canMakePayments: Bool

  init(_ account: StoreAccount) {
    countryCode = account.territory
    currency = account.currency
    environment = account.environment
    canMakePayments = account.canMakePayments
  }
}
