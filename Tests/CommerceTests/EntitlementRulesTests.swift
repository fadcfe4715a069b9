import Commerce
import CoreTypes
import Entitlements
import Testing

@Suite("Entitlement rules")
struct EntitlementRulesTests {
  static let heroes = name("com.example.heroes")
  static let monthly = name("com.example.heroes.monthly")
  static let yearly = name("com.example.heroes.yearly")
  static let single = name("com.example.single")

  /// Issues that appear on the first of each month of 2026, a single and two subscriptions.
  let catalog: [Product] =
    (1...12).map { month in
      Product(
        id: Self.issue(month), type: .nonConsumable, publication: Self.heroes,
        publicationDate: Self.moment("2026-\(month < 10 ? "0" : "")\(month)-01T00:00:00Z"))
    } + [
      Product(id: Self.single, type: .nonConsumable),
      Product(
        id: Self.monthly, type: .autoRenewableSubscription, publication: Self.heroes,
        period: BillingPeriod("P1M")),
      Product(
        id: Self.yearly, type: .nonRenewingSubscription, publication: Self.heroes,
        period: BillingPeriod("P1Y")),
    ]

  static func name(_ text: String) -> ProductIdentifier {
    guard let name = ProductIdentifier(text) else { preconditionFailure("no identifier: \(text)") }
    return name
  }

  static func issue(_ month: Int) -> ProductIdentifier { name("com.example.heroes.\(month)") }

  static func moment(_ text: String) -> Timestamp {
    guard let moment = Timestamp(rfc3339: text) else { preconditionFailure("not a date: \(text)") }
    return moment
  }

  static func day(_ text: String) -> Timestamp { moment("2026-\(text)T00:00:00Z") }

  static func identifier(_ text: String) -> TransactionIdentifier {
    guard let identifier = TransactionIdentifier(text) else { preconditionFailure("no identifier: \(text)") }
    return identifier
  }

  func bought(
    _ id: String, _ product: ProductIdentifier, at purchased: Timestamp, until expires: Timestamp? = nil,
    revoked: Timestamp? = nil
  ) -> VerifiedTransaction {
    VerifiedTransaction(
      vouchedForBy: .sandbox, in: .sandbox, id: Self.identifier(id), originalID: Self.identifier(id),
      product: product, purchaseDate: purchased, expiresDate: expires, revokedDate: revoked)
  }

  func evaluate(_ transactions: [VerifiedTransaction], at now: String = "12-31") -> EntitlementReport {
    EntitlementRules().evaluate(transactions, catalog: catalog, now: Self.day(now))
  }

  func ownedMonths(_ report: EntitlementReport) -> [Int] {
    (1...12).filter { report[Self.issue($0)].isOwned }
  }

  var knownAnswer: [VerifiedTransaction] {
    [
      bought("3", Self.monthly, at: Self.day("06-17"), until: Self.day("07-17")),
      bought("1", Self.monthly, at: Self.day("02-20"), until: Self.day("03-20")),
      bought("2", Self.monthly, at: Self.day("03-20"), until: Self.day("04-20")),
    ]
  }

  @Test(
    "subscribed Feb 20 to Apr 20 and Jun 17 to Jul 17 owns Feb, Mar, Apr, Jun and Jul, not May (Table 6-1)")
  func table61() {
    let report = evaluate(knownAnswer)
    #expect(ownedMonths(report) == [2, 3, 4, 6, 7])
    func claim(_ transaction: String, _ reason: EntitlementRule) -> Entitlement {
      .owned(EntitlementClaim(transaction: Self.identifier(transaction), reason: reason))
    }
    #expect(report[Self.issue(2)] == claim("1", .unlockedAtStart))
    #expect(report[Self.issue(3)] == claim("1", .publishedDuringSubscription))
    #expect(report[Self.issue(4)] == claim("2", .publishedDuringSubscription))
    #expect(report[Self.issue(6)] == claim("3", .unlockedAtStart))
    #expect(report[Self.issue(7)] == claim("3", .publishedDuringSubscription))
    #expect(report[Self.issue(1)] == .notOwned)
    #expect(report[Self.issue(5)] == .notOwned)
  }

  @Test("an issue published after the last subscription ended is expired, not unknown")
  func afterTheEnd() {
    #expect(evaluate(knownAnswer)[Self.issue(8)] == .expired(Self.identifier("3")))
  }

  @Test("an issue that has not appeared yet belongs to nobody's subscription")
  func future() {
    let running = [bought("1", Self.monthly, at: Self.day("02-20"), until: Self.day("03-20"))]
    #expect(ownedMonths(evaluate(running, at: "02-25")) == [2])
    #expect(ownedMonths(evaluate(running, at: "03-01")) == [2, 3])
  }

  @Test("the period contains its start and not its end")
  func bounds() {
    let period = [bought("1", Self.monthly, at: Self.day("03-01"), until: Self.day("04-01"))]
    #expect(ownedMonths(evaluate(period)) == [3])
  }

  @Test("a renewal a little late does not unlock another issue, a lapse does", arguments: [300, 301])
  func lateRenewal(seconds: Int) {
    let end = Self.day("03-31") + .seconds(23 * 3600 + 3590)
    let transactions = [
      bought("1", Self.monthly, at: Self.day("03-15"), until: end),
      bought("2", Self.monthly, at: end + .seconds(seconds), until: Self.day("04-30")),
    ]
    let report = evaluate(transactions)
    // The April issue appears within the gap.
    let expected: EntitlementClaim =
      seconds == 300
      ? .init(transaction: Self.identifier("1"), reason: .publishedInToleratedGap)
      : .init(transaction: Self.identifier("2"), reason: .unlockedAtStart)
    #expect(report[Self.issue(4)] == .owned(expected))
  }

  @Test("periods of two subscription products for one publication form one run")
  func severalProducts() {
    let transactions = [
      bought("1", Self.monthly, at: Self.day("02-20"), until: Self.day("03-20")),
      bought("2", Self.yearly, at: Self.day("03-20")),
    ]
    #expect(ownedMonths(evaluate(transactions)) == [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
  }

  @Test("issues owned only through a refunded period are lost with it")
  func refundedPeriod() {
    var transactions = knownAnswer
    transactions[0] = bought(
      "3", Self.monthly, at: Self.day("06-17"), until: Self.day("07-17"), revoked: Self.day("06-20"))
    let report = evaluate(transactions)
    #expect(ownedMonths(report) == [2, 3, 4])
    #expect(report[Self.issue(6)] == .revoked(Self.identifier("3")))
    #expect(report[Self.issue(7)] == .revoked(Self.identifier("3")))
  }

  @Test("refunded is revoked, bought again is owned, whatever the order of the list")
  func refundThenRebuy() {
    let refunded = bought("1", Self.single, at: Self.day("01-10"), revoked: Self.day("01-11"))
    let again = bought("2", Self.single, at: Self.day("02-10"))
    #expect(evaluate([refunded])[Self.single] == .revoked(Self.identifier("1")))
    for transactions in [[refunded, again], [again, refunded]] {
      #expect(
        evaluate(transactions)[Self.single]
          == .owned(EntitlementClaim(transaction: Self.identifier("2"), reason: .purchased)))
    }
  }

  @Test("a purchase of the issue itself outweighs a subscription, and both are listed")
  func claims() {
    let report = evaluate(
      knownAnswer + [bought("9", Self.issue(3), at: Self.day("01-02"))])
    #expect(
      report.claims[Self.issue(3)] == [
        EntitlementClaim(transaction: Self.identifier("9"), reason: .purchased),
        EntitlementClaim(transaction: Self.identifier("1"), reason: .publishedDuringSubscription),
      ])
    #expect(report.products(claimedBy: Self.identifier("1")) == [Self.issue(2), Self.issue(3)])
    #expect(report.products(claimedBy: Self.identifier("9")) == [Self.issue(3)])
  }

  @Test("a subscription itself is owned while a period runs, expired after it, revoked when refunded")
  func subscriptionItself() {
    let period = bought("1", Self.monthly, at: Self.day("02-20"), until: Self.day("03-20"))
    let id = Self.identifier("1")
    #expect(
      evaluate([period], at: "02-20")[Self.monthly]
        == .owned(EntitlementClaim(transaction: id, reason: .purchased)))
    #expect(evaluate([period], at: "03-20")[Self.monthly] == .expired(id))
    #expect(evaluate([period], at: "02-19")[Self.monthly] == .notOwned)
    let refunded = bought(
      "1", Self.monthly, at: Self.day("02-20"), until: Self.day("03-20"), revoked: Self.day("02-21"))
    #expect(evaluate([refunded], at: "02-25")[Self.monthly] == .revoked(id))
  }

  @Test("an auto-renewable period without an end in the receipt is never guessed")
  func noGuessing() {
    #expect(ownedMonths(evaluate([bought("1", Self.monthly, at: Self.day("02-20"))])) == [])
  }

  @Test("what the catalog does not list, and what nobody bought, is not owned")
  func notOwned() {
    let report = evaluate([bought("1", Self.name("com.example.unlisted"), at: Self.day("01-01"))])
    #expect(report[Self.name("com.example.unlisted")] == .notOwned)
    #expect(report[Self.single] == .notOwned)
    #expect(report.claims.isEmpty)
  }

  @Test(
    "periods end by the calendar",
    arguments: [
      ("2026-01-31T10:00:00Z", "P1M", "2026-02-28T10:00:00Z"),
      ("2028-01-31T10:00:00Z", "P1M", "2028-02-29T10:00:00Z"),
      ("2028-02-29T10:00:00Z", "P1Y", "2029-02-28T10:00:00Z"),
      ("2026-11-21T10:00:00Z", "P2M", "2027-01-21T10:00:00Z"),
      ("2026-11-21T10:00:00Z", "P1W", "2026-11-28T10:00:00Z"),
      ("2026-12-30T10:00:00Z", "P3D", "2027-01-02T10:00:00Z"),
      ("2026-12-31T10:00:00Z", "P12M", "2027-12-31T10:00:00Z"),
    ])
  func calendar(start: String, period: String, end: String) throws {
    let period = try #require(BillingPeriod(period))
    #expect(Self.moment(start).adding(period) == Self.moment(end))
  }

  @Test("a period that would end after the year 9999 has no end")
  func endOfCalendar() throws {
    let period = try #require(BillingPeriod("P999Y"))
    #expect(Self.moment("9990-01-01T00:00:00Z").adding(period) == nil)
  }
}
