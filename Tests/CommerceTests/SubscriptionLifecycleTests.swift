import Commerce
import CoreTypes
import Entitlements
import Testing

/// The events of subscriptions and purchases, each as the rules see it.
@Suite("The lives of subscriptions")
struct SubscriptionLifecycleTests {
  private func period(
    _ id: String, of product: ProductIdentifier = Magazine.monthly, _ from: String, _ until: String,
    grace: String? = nil, retry: String? = nil, revoked: String? = nil, original: String? = nil
  ) -> VerifiedTransaction {
    VerifiedTransaction(
      vouchedForBy: .apple, in: .production, id: transaction(id), originalID: transaction(original ?? id),
      product: product, purchaseDate: day(from), expiresDate: day(until), graceExpiresDate: grace.map(day),
      billingRetryEndDate: retry.map(day), revokedDate: revoked.map(day))
  }

  private func until(
    _ transactions: [VerifiedTransaction], _ product: ProductIdentifier = Magazine.monthly, at now: String
  ) -> Timestamp? {
    let report = Magazine.evaluate(transactions, now: day(now))
    return report[product].isOwned ? report.ends[product] : nil
  }

  @Test("cancelled in the middle: served to the period's end, and its issues stay")
  func cancelled() {
    let list = [period("1", "2026-05-20", "2026-06-20")]
    #expect(until(list, at: "2026-06-10") == day("2026-06-20"))
    #expect(until(list, at: "2026-06-20") == nil)
    #expect(Magazine.months(list) == [5, 6])
  }

  @Test("refunded whole: as if it had never been bought")
  func refundedWhole() {
    let list = [
      period("1", "2026-05-20", "2026-06-20", revoked: "2026-06-25"),
      period("2", "2026-06-20", "2026-07-20", revoked: "2026-06-25", original: "1"),
    ]
    #expect(Magazine.months(list) == [])
  }

  @Test("refunded in part: what the other periods opened stays, and the run after it begins anew")
  func refundedInPart() {
    let list = [
      period("1", "2026-05-20", "2026-06-20"),
      period("2", "2026-06-20", "2026-07-20", revoked: "2026-07-25", original: "1"),
      period("3", "2026-07-20", "2026-08-20", original: "1"),
    ]
    // July was of the refunded period; it is opened again as the latest issue at the start of the third.
    #expect(Magazine.months(list) == [5, 6, 7, 8])
    #expect(Magazine.evaluate(list)[Magazine.issue(7)] == .owned(by: "3", .unlockedAtStart))
    #expect(Magazine.months(Array(list.prefix(2))) == [5, 6])
  }

  @Test("an upgrade ends the period before at once, and is no lapse")
  func upgrade() {
    let list = [
      period("1", "2026-05-20", "2026-06-05"),
      period("2", of: Magazine.yearly, "2026-06-05", "2027-06-05", original: "1"),
    ]
    #expect(until(list, at: "2026-06-10") == nil)
    #expect(until(list, Magazine.yearly, at: "2026-06-10") == day("2027-06-05"))
    #expect(Magazine.months(list) == [5, 6, 7, 8, 9, 10, 11, 12])
  }

  @Test("a downgrade and a changed duration come at the renewal, in one run")
  func downgrade() {
    let list = [
      period("1", of: Magazine.yearly, "2025-06-20", "2026-06-20"),
      period("2", "2026-06-20", "2026-07-20", original: "1"),
    ]
    #expect(until(list, Magazine.yearly, at: "2026-06-19") == day("2026-06-20"))
    #expect(until(list, at: "2026-06-20") == day("2026-07-20"))
    #expect(Magazine.months(list) == [1, 2, 3, 4, 5, 6, 7])
    #expect(Magazine.evaluate(list)[Magazine.issue(7)] == .owned(by: "2", .publishedDuringSubscription))
  }

  @Test("introductory and free periods last as long as the store says, and count as any other")
  func introductory() {
    let list = [
      period("1", "2026-05-20", "2026-05-27"), period("2", "2026-05-27", "2026-06-27", original: "1"),
    ]
    #expect(Magazine.months(Array(list.prefix(1))) == [5])
    #expect(Magazine.months(list) == [5, 6])
    #expect(until(list, at: "2026-05-21") == day("2026-06-27"))
  }

  @Test("the bonus for contact data is in the end that the store tells, and never computed")
  func optInBonus() {
    let list = [period("1", "2026-05-20", "2026-07-04")]
    #expect(until(list, at: "2026-07-03") == day("2026-07-04"))
    #expect(Magazine.months(list) == [5, 6, 7])
  }

  @Test("a price rise with consent renews, one without ends the subscription at its period's end")
  func priceRise() {
    let first = period("1", "2026-05-20", "2026-06-20")
    let dearer = VerifiedTransaction(
      vouchedForBy: .apple, in: .production, id: transaction("2"), originalID: transaction("1"),
      product: Magazine.monthly, purchaseDate: day("2026-06-20"), expiresDate: day("2026-07-20"),
      price: Price(amount: "3.99", currency: "USD"))
    #expect(until([first, dearer], at: "2026-06-21") == day("2026-07-20"))
    #expect(Magazine.evaluate([first], now: day("2026-06-21"))[Magazine.monthly] == .expired(with: "1"))
  }

  @Test("paid inside the grace: no lapse, and the issue of the grace is owned")
  func recoveredInside() {
    let late = period("1", "2026-05-20", "2026-06-20", grace: "2026-07-06")
    let paid = period("2", "2026-07-03", "2026-07-20", original: "1")
    #expect(until([late], at: "2026-07-01") == day("2026-07-06"))
    #expect(Magazine.months([late]) == [5, 6])
    #expect(Magazine.months([late, paid]) == [5, 6, 7])
    #expect(
      Magazine.evaluate([late, paid])[Magazine.issue(7)] == .owned(by: "1", .publishedInPaidGrace))
    // The grace is over with the payment, also where the new period is.
    let short = period("2", "2026-06-22", "2026-06-25", original: "1")
    #expect(until([late, short], at: "2026-06-27") == nil)
  }

  @Test("paid outside the grace: a lapse, whose issue is not owned unless it is the latest one (Table 6-2)")
  func recoveredOutside() {
    let failed = period("1", "2026-03-20", "2026-04-20", grace: "2026-04-26", retry: "2026-06-19")
    let paid = period("2", "2026-06-05", "2026-07-05", original: "1")
    let report = Magazine.evaluate([failed, paid])
    #expect(Magazine.months(report) == [3, 4, 6, 7])
    #expect(report[Magazine.issue(6)] == .owned(by: "2", .unlockedAtStart))
    #expect(until([failed], at: "2026-05-01") == nil)
    let waiting = EntitlementRules(defaultPolicy: PublicationPolicy(servesInBillingRetry: true))
    func serves(_ list: [VerifiedTransaction], _ now: String) -> Bool {
      waiting.evaluate(list, catalog: Magazine.catalog, now: day(now))[Magazine.monthly].isOwned
    }
    #expect(serves([failed], "2026-06-18") && !serves([failed], "2026-06-19"))
    // Charging ends with the payment, and does not come back when the new period is over.
    #expect(!serves([failed, period("2", "2026-05-05", "2026-06-05", original: "1")], "2026-06-06"))
  }

  @Test("a shared subscription is the member's own transaction, and ends when sharing ends")
  func familySharing() {
    let shared = period("7", "2026-05-20", "2026-06-20")
    #expect(Magazine.months([shared]) == [5, 6])
    let ended = shared.refunded(at: day("2026-06-10"))
    #expect(Magazine.evaluate([ended])[Magazine.issue(6)] == .revoked(with: "7"))
    #expect(Magazine.evaluate([ended], now: day("2026-06-11"))[Magazine.monthly] == .revoked(with: "7"))
  }

  @Test("a gift code is a period like one that was paid for, and may stand beside one")
  func giftCode() {
    let gift = period("8", "2026-05-20", "2026-08-20")
    let own = period("9", "2026-06-01", "2026-07-01")
    #expect(until([gift, own], at: "2026-06-15") == day("2026-08-20"))
    #expect(Magazine.months([own]) == [6])
    #expect(Magazine.months([gift, own]) == [5, 6, 7, 8])
  }

  // MARK: Subscriptions that do not renew, and free ones

  @Test("seasons bought again are added end to end, in the order of their purchases")
  func endToEnd() {
    let seasons = ["1", "2", "3"].enumerated().map { index, id in
      purchase(id, of: Magazine.season, at: day("2026-01-15") + .seconds(index * 86_400))
    }
    #expect(until(seasons, Magazine.season, at: "2026-02-01") == day("2026-10-15"))
    #expect(until(seasons.reversed(), Magazine.season, at: "2026-02-01") == day("2026-10-15"))
    // One that is bought after a lapse begins with its purchase.
    let late = purchase("4", of: Magazine.season, at: day("2026-11-15"))
    #expect(until(seasons + [late], Magazine.season, at: "2026-11-20") == day("2027-02-15"))
    // A refunded one takes no time.
    let refunded = [seasons[0].refunded(at: day("2026-02-01"))] + seasons.dropFirst()
    #expect(until(refunded, Magazine.season, at: "2026-02-02") == day("2026-07-16"))
  }

  @Test("a season that is shown again under another number is no second payment")
  func restoredSeason() {
    let first = purchase("1", of: Magazine.season, at: day("2026-01-15"))
    let again = purchase("2", of: Magazine.season, at: day("2026-01-15"), original: "1")
    #expect(until([first, again], Magazine.season, at: "2026-02-01") == day("2026-04-15"))
  }

  @Test("a store may continue the first season's number with the next one: it is a payment all the same")
  func continuedSeason() {
    let first = purchase("1", of: Magazine.season, at: day("2026-01-15"))
    let next = purchase("2", of: Magazine.season, at: day("2026-02-15"), original: "1")
    #expect(until([first, next], Magazine.season, at: "2026-03-01") == day("2026-07-15"))
  }

  @Test("how long a season lasts is written down: a catalog that is changed later changes nothing of it")
  func recordedLength() throws {
    let bought = purchase("1", of: Magazine.season, at: day("2026-01-15"))
    let length = try #require(BillingPeriod("P6M"))
    let report = EntitlementRules().evaluate(
      [bought], catalog: Magazine.catalog,
      record: EntitlementRecord(lengths: [transaction("1"): length]), now: day("2026-05-01"))
    #expect(report.ends[Magazine.season] == day("2026-07-15"))
  }

  @Test("a free trial of price zero lasts its product's period from the purchase date")
  func freeTrial() {
    let trial = VerifiedTransaction(
      vouchedForBy: .apple, in: .production, id: transaction("1"), originalID: transaction("1"),
      product: Magazine.season, purchaseDate: day("2026-01-15"), price: Price(amount: "0", currency: "USD"))
    #expect(until([trial], Magazine.season, at: "2026-01-16") == day("2026-04-15"))
  }

  @Test("a free subscription runs without an end until it is taken back, and opens the issues that appear")
  func freeSubscription() {
    let free = Product(
      id: product("com.example.heroes.free"), type: .freeSubscription, publication: Magazine.publication)
    func report(_ list: [VerifiedTransaction]) -> EntitlementReport {
      EntitlementRules().evaluate(list, catalog: Magazine.catalog + [free], now: day("2026-12-31"))
    }
    let subscribed = purchase("1", of: free.id, at: day("2026-09-15"))
    #expect(report([subscribed])[free.id] == .owned(by: "1", .purchased))
    #expect(report([subscribed]).ends[free.id] == nil)
    #expect(Magazine.months(report([subscribed])) == [9, 10, 11, 12])
    let ended = subscribed.refunded(at: day("2026-11-15"))
    #expect(report([ended])[free.id] == .revoked(with: "1"))
    #expect(Magazine.months(report([ended])) == [])
  }

  @Test("the times that are paid for follow one another where seasons do, and none is of what was given back")
  func paidTimes() {
    let free = Product(
      id: product("com.example.heroes.free"), type: .freeSubscription, publication: Magazine.publication)
    func times(_ list: [VerifiedTransaction]) -> [Range<Timestamp>] {
      EntitlementRules().paidTimes(
        of: Magazine.publication, by: list, catalog: Magazine.catalog + [free], now: day("2026-12-31"))
    }
    let seasons = [
      purchase("1", of: Magazine.season, at: day("2026-02-15")),
      purchase("2", of: Magazine.season, at: day("2026-03-01")),
    ]
    let computed = [
      day("2026-02-15")..<day("2026-05-15"), day("2026-05-15")..<day("2026-08-15"),
    ]
    #expect(times(seasons) == computed)
    let month = purchase("3", of: Magazine.monthly, at: day("2026-10-01"), until: day("2026-11-01"))
    #expect(times([month] + seasons) == computed + [day("2026-10-01")..<day("2026-11-01")])
    let gratis = times([purchase("4", of: free.id, at: day("2026-09-15"))])
    #expect(gratis.count == 1 && gratis[0].contains(day("2036-01-01")))
    #expect(times([seasons[0].refunded(at: day("2026-02-20"))]) == [])
    #expect(
      times([purchase("5", of: Magazine.otherMonthly, at: day("2026-10-01"), until: day("2026-11-01"))]) == []
    )
  }
}
