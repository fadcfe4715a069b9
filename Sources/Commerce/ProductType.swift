/// What kind of thing a product is to the payment stores.
public enum ProductType: String, Codable, Sendable, CaseIterable {
  case consumable
  case nonConsumable = "non-consumable"
  case autoRenewableSubscription = "auto-renewable-subscription"
  case nonRenewingSubscription = "non-renewing-subscription"

  public var isSubscription: Bool {
    self == .autoRenewableSubscription || self == .nonRenewingSubscription
  }
}
