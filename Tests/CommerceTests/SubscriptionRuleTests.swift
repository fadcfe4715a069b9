import Commerce
import CoreTypes
import Entitlements
import Testing

/// "All content published between each subscription start and end date, and the content that was initially unlocked
/// when the subscription was purchased": each rule beside what it must not do.
@Suite("What a subscription opens")
struct SubscriptionRuleTests {
  private func monthly(
    _ id: String, _ from: String, _ until: String, revoked: Timestamp? = nil
  ) -> VerifiedTransaction {
    purchase(id, of: Magazine.monthly, at: day(from), until: day(until), revoked: revoked)
  }

  // MARK: The start of a run

  @Test("the start unlocks the latest issue, and none before it")
  func unlock() {
    let report = Magazine.evaluate([monthly("1", "2026-05-20", "2026-05-27")])
    #expect(Magazine.months(report) == [5])
    #expect(report[Magazine.issue(5)] == .owned(by: "1", .unlockedAtStart))
    #expect(report[Magazine.issue(4)] == .notOwned)
  }

  @Test("an issue that appears at the very start was published during the subscription")
  func publishedAtTheStart() {
    let report = Magazine.evaluate([monthly("1", "2026-05-01", "2026-05-27")])
    #expect(report[Magazine.issue(5)] == .owned(by: "1", .publishedDuringSubscription))
    // The latest issue at the start is that one, so that none before it is unlocked.
    #expect(report[Magazine.issue(4)] == .notOwned)
  }

  @Test("in the grace after its period a subscription is owned, and no issue that appears then is")
  func grace() {
    let period = VerifiedTransaction(
      vouchedForBy: .sandbox, in: .sandbox, id: transaction("1"), originalID: transaction("1"),
      product: Magazine.monthly, purchaseDate: day("2026-04-20"), expiresDate: day("2026-05-20"),
      graceExpiresDate: day("2026-06-05"))
    let inGrace = Magazine.evaluate([period], now: day("2026-06-04"))
    #expect(inGrace[Magazine.monthly] == .owned(by: "1", .inGrace))
    #expect(inGrace[Magazine.issue(6)] == .expired(with: "1"))
    let after = Magazine.evaluate([period], now: day("2026-06-05"))
    #expect(after[Magazine.monthly] == .expired(with: "1"))
  }

  @Test("a millisecond before an issue appears, the one before it is unlocked, and both are owned")
  func justBefore() {
    let start = day("2026-05-01") - .milliseconds(1)
    let report = Magazine.evaluate([
      purchase("1", of: Magazine.monthly, at: start, until: day("2026-05-27"))
    ])
    #expect(report[Magazine.issue(4)] == .owned(by: "1", .unlockedAtStart))
    #expect(report[Magazine.issue(5)] == .owned(by: "1", .publishedDuringSubscription))
  }

  @Test("a subscription that began before the first issue unlocks nothing")
  func beforeTheFirstIssue() {
    #expect(Magazine.months([monthly("1", "2025-11-10", "2025-12-10")]) == [])
    #expect(Magazine.months([monthly("1", "2025-12-10", "2026-01-10")]) == [1])
  }

  @Test("issues that appeared on the same day are unlocked together")
  func sameDay() {
    let special = Product(
      id: product("com.example.heroes.special"), type: .nonConsumable, publication: Magazine.publication,
      publicationDate: day("2026-05-01"))
    let report = EntitlementRules().evaluate(
      [monthly("1", "2026-05-20", "2026-05-27")], catalog: Magazine.catalog + [special],
      now: day("2026-12-31"))
    #expect(report[Magazine.issue(5)] == .owned(by: "1", .unlockedAtStart))
    #expect(report[special.id] == .owned(by: "1", .unlockedAtStart))
  }

  @Test(
    "a renewal unlocks nothing: the latest issue at its start belongs to the run already, or was published before it"
  )
  func renewalUnlocksNothing() {
    let periods = [
      monthly("1", "2026-05-20", "2026-06-20"), monthly("2", "2026-06-20", "2026-07-20"),
      monthly("3", "2026-07-20", "2026-08-20"),
    ]
    let report = Magazine.evaluate(periods)
    #expect(Magazine.months(report) == [5, 6, 7, 8])
    #expect(report.products(claimedBy: transaction("1")) == [Magazine.issue(5), Magazine.issue(6)])
    #expect(report.products(claimedBy: transaction("2")) == [Magazine.issue(7)])
    #expect(report.products(claimedBy: transaction("3")) == [Magazine.issue(8)])
  }

  // MARK: Bounds of a period

  @Test("an issue a millisecond before the end is owned, one at the end is not")
  func end() {
    let issues = day("2026-06-01")
    for (end, months) in [(issues, [5]), (issues + .milliseconds(1), [5, 6])] {
      let period = purchase("1", of: Magazine.monthly, at: day("2026-05-20"), until: end)
      #expect(Magazine.months([period]) == months)
    }
  }

  @Test("an issue without a publication date belongs to no subscription")
  func withoutDate() {
    let undated = Product(
      id: product("com.example.heroes.undated"), type: .nonConsumable, publication: Magazine.publication)
    let report = EntitlementRules().evaluate(
      [monthly("1", "2026-01-01", "2026-12-31")], catalog: Magazine.catalog + [undated],
      now: day("2026-12-31"))
    #expect(report[undated.id] == .notOwned)
  }

  @Test("another publication's issues stay closed")
  func otherPublication() {
    let report = Magazine.evaluate([
      purchase("1", of: Magazine.otherMonthly, at: day("2026-05-20"), until: day("2026-06-20"))
    ])
    #expect(Magazine.months(report) == [])
    #expect((1...12).filter { report[Magazine.otherIssue($0)].isOwned } == [5, 6])
  }

  @Test("an issue that has not appeared is not owned, although the period reaches beyond its date")
  func notYet() {
    let period = monthly("1", "2026-05-20", "2026-06-20")
    let issue = day("2026-06-01")
    #expect(Magazine.months([period], now: issue - .milliseconds(1)) == [5])
    #expect(Magazine.months([period], now: issue) == [5, 6])
    #expect(Magazine.evaluate([period], now: issue - .milliseconds(1))[Magazine.issue(6)] == .notOwned)
  }

  @Test(
    "a period that ends where it began, or before, opens nothing", arguments: ["2026-05-20", "2026-05-19"])
  func emptyPeriod(end: String) {
    let report = Magazine.evaluate([monthly("1", "2026-05-20", end)])
    #expect(Magazine.months(report) == [])
    #expect(report[Magazine.monthly] == .notOwned)
  }

  // MARK: Lapses

  @Test("an issue published in a lapse is not owned, and coming back unlocks the latest one only")
  func lapse() {
    // Three issues appear in the lapse: June, July and August.
    let report = Magazine.evaluate([
      monthly("1", "2026-04-20", "2026-05-20"), monthly("2", "2026-08-10", "2026-09-10"),
    ])
    #expect(Magazine.months(report) == [4, 5, 8, 9])
    #expect(report[Magazine.issue(6)] == .notOwned)
    #expect(report[Magazine.issue(8)] == .owned(by: "2", .unlockedAtStart))
  }

  @Test("what was owned stays owned after the subscription has ended")
  func keepsIssues() {
    let period = monthly("1", "2026-05-20", "2026-06-20")
    #expect(Magazine.months([period], now: day("2099-01-01")) == [5, 6])
  }

  @Test("the refusal of an issue after the end names the last period, of one before the start nothing")
  func refusals() {
    let report = Magazine.evaluate([
      monthly("2", "2026-05-20", "2026-06-20"), monthly("1", "2026-04-20", "2026-05-20"),
    ])
    #expect(report[Magazine.issue(7)] == .expired(with: "2"))
    #expect(report[Magazine.issue(12)] == .expired(with: "2"))
    #expect(report[Magazine.issue(3)] == .notOwned)
  }

  @Test("while a subscription runs nothing of it has expired")
  func runningIsNotExpired() {
    let report = Magazine.evaluate([monthly("1", "2026-05-20", "2026-06-20")], now: day("2026-06-19"))
    for month in 1...12 where ![5, 6].contains(month) {
      #expect(report[Magazine.issue(month)] == .notOwned)
    }
  }

  // MARK: Bridged gaps

  @Test(
    "a gap of five minutes is bridged, one of a millisecond more is a lapse",
    arguments: [(0, true), (1, true), (299_999, true), (300_000, true), (300_001, false), (3_600_000, false)])
  func gap(milliseconds: Int, bridged: Bool) {
    // The July issue appears at the end of the first period, where the gap begins.
    let end = day("2026-07-01")
    let report = Magazine.evaluate([
      purchase("1", of: Magazine.monthly, at: day("2026-06-10"), until: end),
      purchase("2", of: Magazine.monthly, at: end + .milliseconds(milliseconds), until: day("2026-07-20")),
    ])
    #expect(Magazine.months(report) == [6, 7])
    let expected: Entitlement =
      if milliseconds == 0 {
        .owned(by: "2", .publishedDuringSubscription)
      } else if bridged {
        .owned(by: "1", .publishedInToleratedGap)
      } else {
        .owned(by: "2", .unlockedAtStart)
      }
    #expect(report[Magazine.issue(7)] == expected)
  }

  @Test("bridging lends nothing: without the next period the issue in the gap is not owned")
  func gapWithoutRenewal() {
    let first = purchase("1", of: Magazine.monthly, at: day("2026-06-10"), until: day("2026-07-01"))
    #expect(Magazine.months([first]) == [6])
  }

  @Test("how long a gap is bridged is the caller's to say")
  func configuredGap() {
    let periods = [monthly("1", "2026-04-20", "2026-05-20"), monthly("2", "2026-07-20", "2026-08-20")]
    #expect(Magazine.months(periods) == [4, 5, 7, 8])
    let patient = EntitlementRules(defaultPolicy: PublicationPolicy(tolerance: .seconds(61 * 86_400)))
    #expect(Magazine.months(periods, rules: patient) == [4, 5, 6, 7, 8])
    let impatient = EntitlementRules(defaultPolicy: PublicationPolicy(tolerance: .seconds(61 * 86_400 - 1)))
    #expect(Magazine.months(periods, rules: impatient) == [4, 5, 7, 8])
    // Without any, periods that touch are still one run.
    let strict = EntitlementRules(defaultPolicy: PublicationPolicy(tolerance: .zero))
    let touching = [monthly("1", "2026-04-20", "2026-05-20"), monthly("2", "2026-05-20", "2026-06-20")]
    #expect(
      Magazine.evaluate(touching, rules: strict).products(claimedBy: transaction("2")) == [Magazine.issue(6)])
  }

  @Test("gaps are not added up: each is measured from the end before it")
  func manyGaps() {
    var periods: [VerifiedTransaction] = []
    var start = day("2026-06-10")
    for number in 1...10 {
      let end = start + .seconds(7 * 86_400)
      periods.append(purchase("\(number)", of: Magazine.monthly, at: start, until: end))
      start = end + .seconds(300)
    }
    let report = Magazine.evaluate(periods)
    #expect(report.products(claimedBy: transaction("1")) == [Magazine.issue(6)])
    // One run: no later period unlocks the issue again.
    #expect(report.claims[Magazine.issue(6)]?.count == 1)
  }

  @Test("a long period covers the lapse between two short ones")
  func coveredLapse() {
    let periods = [
      monthly("1", "2026-03-20", "2026-04-20"), monthly("3", "2026-08-20", "2026-09-20"),
      purchase("2", of: Magazine.yearly, at: day("2026-04-10"), until: day("2026-08-30")),
    ]
    #expect(Magazine.months(periods) == [3, 4, 5, 6, 7, 8, 9])
  }

  // MARK: Several subscriptions of one publication

  @Test("two subscriptions of one publication at once give each issue once, by the one that began last")
  func overlapping() {
    let report = Magazine.evaluate([
      purchase("1", of: Magazine.yearly, at: day("2026-03-10"), until: day("2026-09-10")),
      monthly("2", "2026-05-20", "2026-06-20"),
    ])
    #expect(Magazine.months(report) == [3, 4, 5, 6, 7, 8, 9])
    #expect(report[Magazine.issue(6)] == .owned(by: "2", .publishedDuringSubscription))
    #expect(report[Magazine.issue(7)] == .owned(by: "1", .publishedDuringSubscription))
  }

  @Test("of two periods that begin at the same moment the same one counts, however they are listed")
  func sameStart() {
    let first = purchase("1", of: Magazine.yearly, at: day("2026-05-20"), until: day("2027-05-20"))
    let second = monthly("2", "2026-05-20", "2026-06-20")
    let report = Magazine.evaluate([first, second])
    #expect(report == Magazine.evaluate([second, first]))
    #expect(report[Magazine.issue(6)] == .owned(by: "2", .publishedDuringSubscription))
    #expect(report[Magazine.issue(5)] == .owned(by: "1", .unlockedAtStart))
    // After both have ended, the refusal is the same as well.
    let over = [
      monthly("2", "2026-05-20", "2026-06-20"),
      purchase("1", of: Magazine.yearly, at: day("2026-05-20"), until: day("2026-06-10")),
    ]
    #expect(
      Magazine.evaluate(over)[Magazine.issue(7)] == Magazine.evaluate(over.reversed())[Magazine.issue(7)])
  }

  @Test("a refund of one of two overlapping subscriptions leaves the other's issues")
  func overlappingRefund() {
    let yearly = purchase("1", of: Magazine.yearly, at: day("2026-03-10"), until: day("2026-09-10"))
    let refunded = monthly("2", "2026-05-20", "2026-06-20", revoked: day("2026-06-02"))
    let report = Magazine.evaluate([yearly, refunded])
    #expect(Magazine.months(report) == [3, 4, 5, 6, 7, 8, 9])
    #expect(report[Magazine.issue(6)] == .owned(by: "1", .publishedDuringSubscription))
  }

  @Test("an upgrade ends the period before it, which stays paid for up to then")
  func upgrade() {
    // The store shortens the first entry to the moment of the upgrade; it is no refund of what was read before.
    let report = Magazine.evaluate([
      monthly("1", "2026-04-20", "2026-05-05"),
      purchase("2", of: Magazine.yearly, at: day("2026-05-05"), until: day("2027-05-05")),
    ])
    #expect(Magazine.months(report) == [4, 5, 6, 7, 8, 9, 10, 11, 12])
    #expect(report[Magazine.issue(5)] == .owned(by: "1", .publishedDuringSubscription))
    #expect(report[Magazine.issue(6)] == .owned(by: "2", .publishedDuringSubscription))
  }

  // MARK: Renewals as stores make them

  @Test("six contracted renewals of five minutes are one run, which unlocks one issue and ends")
  func contractedRenewals() {
    let start = moment("2026-06-10T12:00:00Z")
    let periods = (0...6).map { number in
      purchase(
        "\(100 + number)", of: Magazine.monthly, at: start + .seconds(number * 300),
        until: start + .seconds((number + 1) * 300), original: "100")
    }
    let report = Magazine.evaluate(periods, now: start + .seconds(7 * 300 - 1))
    #expect(Magazine.months(report) == [6])
    #expect(report.claims[Magazine.issue(6)]?.count == 1)
    #expect(report[Magazine.monthly] == .owned(by: "106", .purchased))
    #expect(
      Magazine.evaluate(periods, now: start + .seconds(7 * 300))[Magazine.monthly] == .expired(with: "106"))
  }

  @Test("recovered within grace the dates go on, and the issue of the days between is owned")
  func recoveredInGrace() {
    // The charge of April 20 failed and succeeded on May 5: the new period begins where the old one ended.
    let report = Magazine.evaluate([
      monthly("1", "2026-03-20", "2026-04-20"), monthly("2", "2026-04-20", "2026-05-20"),
    ])
    #expect(report[Magazine.issue(5)] == .owned(by: "2", .publishedDuringSubscription))
  }

  @Test("recovered after grace a new run begins (Table 6-2): failed April 20, paid May 5, next June 5")
  func recoveredLater() {
    let report = Magazine.evaluate([
      monthly("1", "2026-03-20", "2026-04-20"), monthly("2", "2026-05-05", "2026-06-05"),
    ])
    #expect(Magazine.months(report) == [3, 4, 5, 6])
    #expect(report[Magazine.issue(5)] == .owned(by: "2", .unlockedAtStart))
  }

  // MARK: Non-renewing subscriptions

  @Test("a period that the receipt does not tell is computed by the calendar: from 31 May three months")
  func nonRenewing() {
    let season = purchase("1", of: Magazine.season, at: day("2026-05-31"))
    // To August 31.
    #expect(Magazine.months([season]) == [5, 6, 7, 8])
    #expect(Magazine.evaluate([season], now: day("2026-08-31") - .milliseconds(1))[Magazine.season].isOwned)
    #expect(Magazine.evaluate([season], now: day("2026-08-31"))[Magazine.season] == .expired(with: "1"))
  }

  @Test(
    "periods in a row that are computed end where they would together: two months from 31 January end on 31 March"
  )
  func monthEnd() throws {
    let monthly = Product(
      id: product("com.example.heroes.month"), type: .nonRenewingSubscription,
      publication: Magazine.publication,
      period: .month)
    func end(_ dates: String...) -> Timestamp? {
      let paid = dates.enumerated().map { purchase("\($0.offset + 1)", of: monthly.id, at: day($0.element)) }
      return EntitlementRules().evaluate(paid, catalog: [monthly], now: day(dates[dates.count - 1])).ends[
        monthly.id]
    }
    #expect(end("2026-01-31") == day("2026-02-28"))
    #expect(end("2026-01-31", "2026-02-01") == day("2026-03-31"))
    #expect(end("2026-01-31", "2026-02-01", "2026-02-02") == day("2026-04-30"))
    #expect(end("2026-01-31", "2026-02-01", "2026-02-02", "2026-02-03") == day("2026-05-31"))
    // One that is bought later begins with its own date.
    #expect(end("2026-01-31", "2026-03-05") == day("2026-04-05"))
    #expect(end("2023-12-31", "2024-01-02") == day("2024-02-29"))
  }

  @Test("an end that the receipt tells counts before the computed one")
  func toldEnd() {
    let season = purchase("1", of: Magazine.season, at: day("2026-05-31"), until: day("2026-06-15"))
    #expect(Magazine.months([season]) == [5, 6])
  }

  @Test("without a period in the catalog a non-renewing subscription opens nothing")
  func withoutPeriod() {
    let endless = Product(
      id: product("com.example.heroes.endless"), type: .nonRenewingSubscription,
      publication: Magazine.publication)
    let report = EntitlementRules().evaluate(
      [purchase("1", of: endless.id, at: day("2026-05-20"))], catalog: Magazine.catalog + [endless],
      now: day("2026-06-10"))
    #expect(Magazine.months(report) == [])
    #expect(report[endless.id] == .notOwned)
  }

  @Test("an auto-renewable period is never computed, although the catalog knows its length")
  func neverComputed() {
    let endless = purchase("1", of: Magazine.monthly, at: day("2026-05-20"))
    #expect(Magazine.months([endless]) == [])
    #expect(Magazine.evaluate([endless], now: day("2026-05-21"))[Magazine.monthly] == .notOwned)
  }

  @Test("a refunded purchase whose end the store did not tell is no reason for a refusal either")
  func refundedWithoutEnd() {
    let endless = purchase("1", of: Magazine.monthly, at: day("2026-05-20"), revoked: day("2026-05-21"))
    #expect(Magazine.evaluate([endless])[Magazine.issue(5)] == .notOwned)
  }

  @Test("a period that would end after the year 9999 has no end and opens nothing")
  func endOfTheCalendar() {
    let season = purchase("1", of: Magazine.season, at: day("9999-11-01"))
    #expect(Magazine.evaluate([season], now: day("9999-12-01"))[Magazine.season] == .notOwned)
  }
}
