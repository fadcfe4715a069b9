import Commerce
import CoreTypes
import Entitlements

/// A magazine whose issues appear on the first of each month of 2026, its subscriptions, and what else a shop has.
enum Magazine {
  static let publication = product("com.example.heroes")
  static let monthly = product("com.example.heroes.monthly")
  static let yearly = product("com.example.heroes.yearly")
  /// Non-renewing, for the calendar's three months.
  static let season = product("com.example.heroes.season")
  static let single = product("com.example.single")
  static let coins = product("com.example.coins")
  /// A subscription to another publication, on the same days.
  static let otherMonthly = product("com.example.villains.monthly")

  static func issue(_ month: Int) -> ProductIdentifier { product("com.example.heroes.\(month)") }
  static func otherIssue(_ month: Int) -> ProductIdentifier { product("com.example.villains.\(month)") }

  static let catalog: [Product] = {
    let other = product("com.example.villains")
    func issues(_ publication: ProductIdentifier, _ name: (Int) -> ProductIdentifier) -> [Product] {
      (1...12).map { month in
        Product(
          id: name(month), type: .nonConsumable, publication: publication,
          publicationDate: Timestamp(year: 2026, month: month, day: 1))
      }
    }
    func subscription(
      _ id: ProductIdentifier, _ type: ProductType, to publication: ProductIdentifier, _ length: String
    ) -> Product {
      Product(id: id, type: type, publication: publication, period: period(length))
    }
    return issues(publication, issue) + issues(other, otherIssue) + [
      subscription(monthly, .autoRenewableSubscription, to: publication, "P1M"),
      subscription(yearly, .autoRenewableSubscription, to: publication, "P1Y"),
      subscription(season, .nonRenewingSubscription, to: publication, "P3M"),
      subscription(otherMonthly, .autoRenewableSubscription, to: other, "P1M"),
      Product(id: single, type: .nonConsumable), Product(id: coins, type: .consumable),
    ]
  }()

  static func evaluate(
    _ transactions: [VerifiedTransaction], now: Timestamp = day("2026-12-31"),
    rules: EntitlementRules = .init()
  ) -> EntitlementReport {
    rules.evaluate(transactions, catalog: catalog, now: now)
  }

  /// The months whose issues are owned.
  static func months(_ report: EntitlementReport) -> [Int] {
    (1...12).filter { report[issue($0)].isOwned }
  }

  static func months(
    _ transactions: [VerifiedTransaction], now: Timestamp = day("2026-12-31"),
    rules: EntitlementRules = .init()
  ) -> [Int] {
    months(evaluate(transactions, now: now, rules: rules))
  }
}
