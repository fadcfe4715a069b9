import Commerce
import CoreTypes
import Entitlements
import Testing

/// The closed list of docs/entitlements.md, one test for each rule.
@Suite("Every rule of the list")
struct EntitlementRuleListTests {
  private func explain(
    _ product: ProductIdentifier, _ transactions: [VerifiedTransaction], at text: String = "2026-12-31",
    policy: PublicationPolicy = .standard, record: EntitlementRecord = .empty
  ) -> EntitlementExplanation {
    EntitlementRules().explain(
      product, by: transactions, catalog: Magazine.catalog, policies: [Magazine.publication: policy],
      record: record, at: day(text))
  }

  /// A month from the 20th of May, with what the store says of the time after it.
  private func may(grace: String? = nil, retry: String? = nil, revoked: String? = nil) -> VerifiedTransaction
  {
    VerifiedTransaction(
      vouchedForBy: .sandbox, in: .sandbox, id: transaction("1"), originalID: transaction("1"),
      product: Magazine.monthly, purchaseDate: day("2026-05-20"), expiresDate: day("2026-06-20"),
      graceExpiresDate: grace.map(day), billingRetryEndDate: retry.map(day), revokedDate: revoked.map(day))
  }

  private func rules(_ findings: [EntitlementFinding]) -> [EntitlementRule] { findings.map(\.rule) }

  @Test("purchased: its own purchase opens a product for good, and a period its subscription until its end")
  func purchased() {
    let bought = explain(Magazine.single, [purchase("9", of: Magazine.single, at: day("2026-03-01"))])
    #expect(bought.isAllowed && bought.until == nil && rules(bought.because) == [.purchased])
    let running = explain(Magazine.monthly, [may()], at: "2026-06-01")
    #expect(running.isAllowed && running.until == day("2026-06-20"))
    #expect(
      running.because == [
        EntitlementFinding(
          rule: .purchased, transaction: transaction("1"),
          period: .init(start: day("2026-05-20"), end: day("2026-06-20")), until: day("2026-06-20"))
      ])
  }

  @Test("published-during-subscription: an issue of a period that ran stays, with the period that paid")
  func publishedDuringSubscription() {
    let issue = explain(Magazine.issue(6), [may()])
    #expect(issue.isAllowed && issue.until == nil && issue.against.isEmpty)
    #expect(
      issue.because == [
        EntitlementFinding(
          rule: .publishedDuringSubscription, transaction: transaction("1"),
          period: .init(start: day("2026-05-20"), end: day("2026-06-20")))
      ])
  }

  @Test(
    "released-during-subscription: what is dated before a period and first released in it is its own, and only then"
  )
  func releasedDuringSubscription() {
    var march = Product(
      id: Magazine.issue(3), type: .nonConsumable, publication: Magazine.publication,
      publicationDate: day("2026-03-01"))
    let others = Magazine.catalog.filter { $0.id != march.id }.map { product in
      var product = product
      product.firstReleased = product.publicationDate
      return product
    }
    func explained(
      released: String?, after seconds: Int = 0, at text: String = "2026-12-31"
    ) -> EntitlementExplanation {
      march.firstReleased = released.map { day($0) + .seconds(seconds) }
      return EntitlementRules().explain(march.id, by: [may()], catalog: others + [march], at: day(text))
    }
    #expect(
      explained(released: "2026-06-02").because == [
        EntitlementFinding(
          rule: .releasedDuringSubscription, transaction: transaction("1"),
          period: .init(start: day("2026-05-20"), end: day("2026-06-20")))
      ])
    // Stores date by whole seconds: what was released in the first one may have been there before.
    #expect(explained(released: "2026-05-20", after: 1).isAllowed)
    for other in [nil, "2026-02-01", "2026-05-19", "2026-05-20", "2026-06-20", "2026-07-01"] {
      let closed = explained(released: other)
      #expect(!closed.isAllowed && rules(closed.against) == [.publishedOutsidePeriods], "\(other ?? "never")")
    }
    #expect(!explained(released: "2026-06-02", at: "2026-06-01").isAllowed, "it was not there yet")
  }

  @Test("unlocked-at-start: of a later issue that was not released yet the one before is opened too")
  func latestUnreleased() {
    func opened(aprilReleased: String, mayReleased: String?) -> [Int] {
      let catalog = Magazine.catalog.map { product in
        var product = product
        if product.id == Magazine.issue(4) { product.firstReleased = day(aprilReleased) }
        if product.id == Magazine.issue(5) { product.firstReleased = mayReleased.map(day) }
        return product
      }
      let report = EntitlementRules().evaluate([may()], catalog: catalog, now: day("2026-12-31"))
      return Magazine.months(report)
    }
    #expect(opened(aprilReleased: "2026-04-01", mayReleased: "2026-05-25") == [4, 5, 6])
    #expect(opened(aprilReleased: "2026-04-01", mayReleased: nil) == [4, 5, 6])
    #expect(opened(aprilReleased: "2026-04-01", mayReleased: "2026-05-19") == [5, 6])
  }

  /// A period that begins so many seconds after the 20th of May, and lasts so many.
  private func span(
    _ id: String, from start: Int, for length: Int, grace: Int? = nil
  ) -> VerifiedTransaction {
    let begin = day("2026-05-20") + .seconds(start)
    return VerifiedTransaction(
      vouchedForBy: .sandbox, in: .sandbox, id: transaction(id), originalID: transaction("1"),
      product: Magazine.monthly, purchaseDate: begin, expiresDate: begin + .seconds(length),
      graceExpiresDate: grace.map { begin + .seconds(length + $0) })
  }

  /// The issue of June, as one that appears so many seconds after the 20th of May.
  private func explain(
    issueAt seconds: Int, _ transactions: [VerifiedTransaction], policy: PublicationPolicy = .standard
  ) -> EntitlementExplanation {
    let catalog = [
      Magazine.catalog.first { $0.id == Magazine.monthly },
      Product(
        id: Magazine.issue(1), type: .nonConsumable, publication: Magazine.publication,
        publicationDate: day("2026-05-01")),
      Product(
        id: Magazine.issue(6), type: .nonConsumable, publication: Magazine.publication,
        publicationDate: day("2026-05-20") + .seconds(seconds)),
      // The issue that is the latest when a run begins is opened by that; this one is it for what begins later.
      Product(
        id: Magazine.issue(7), type: .nonConsumable, publication: Magazine.publication,
        publicationDate: day("2026-05-20") + .seconds(seconds + 1)),
    ].compactMap { $0 }
    return EntitlementRules().explain(
      Magazine.issue(6), by: transactions, catalog: catalog, policies: [Magazine.publication: policy],
      at: day("2026-12-31"))
  }

  @Test("published-in-tolerated-gap: names the gap, and not a period that was over when the issue appeared")
  func publishedInToleratedGap() {
    let month = 30 * 86_400
    let issue = explain(
      issueAt: month + 100, [span("1", from: 0, for: month), span("2", from: month + 300, for: month)])
    let end = day("2026-05-20") + .seconds(month)
    #expect(
      issue.because == [
        EntitlementFinding(
          rule: .publishedInToleratedGap, transaction: transaction("1"),
          period: .init(start: end, end: end + .seconds(300)))
      ])
    #expect(issue.because.first?.sentence.contains("a gap that the publication tolerates") == true)
    let late = explain(
      issueAt: month + 100, [span("1", from: 0, for: month), span("2", from: month + 301, for: month)])
    #expect(!late.isAllowed && rules(late.against) == [.publishedOutsidePeriods])
  }

  @Test(
    "a lapse of a contracted month is one, however short the month is, and a gap of its share is none",
    arguments: [2, 10, 30, 300])
  func contractedMonth(seconds month: Int) {
    let lapsed = explain(
      issueAt: month + 1, [span("1", from: 0, for: month), span("2", from: 2 * month, for: month)])
    #expect(!lapsed.isAllowed && rules(lapsed.against) == [.publishedOutsidePeriods])
    // 300 s of a week are a 2016th part.
    #expect(
      PublicationPolicy.standard.tolerance(after: .seconds(month))
        == .milliseconds(month * 1000 / 2016))
  }

  @Test("the tolerance behind a week and longer is the policy's, also where that is a day")
  func realPeriods() {
    for days in [7, 28, 365] {
      #expect(PublicationPolicy.standard.tolerance(after: .seconds(days * 86_400)) == .seconds(300))
      #expect(
        PublicationPolicy(tolerance: .seconds(86_400)).tolerance(after: .seconds(days * 86_400))
          == .seconds(86_400))
    }
  }

  @Test("published-in-paid-grace: only a payment within the grace counts, not one shortly behind it")
  func publishedInPaidGrace() {
    let (month, grace) = (30 * 86_400, 200)
    func explained(paidAt payment: Int) -> EntitlementExplanation {
      explain(
        issueAt: month + 100,
        [span("1", from: 0, for: month, grace: grace), span("2", from: month + payment, for: month)])
    }
    let end = day("2026-05-20") + .seconds(month)
    #expect(
      explained(paidAt: 150).because == [
        EntitlementFinding(
          rule: .publishedInPaidGrace, transaction: transaction("1"),
          period: .init(start: end, end: end + .seconds(150)))
      ])
    let late = explained(paidAt: 202)
    #expect(!late.isAllowed && rules(late.against) == [.publishedInUnpaidGrace])
  }

  @Test("unlocked-at-start: the latest issue, unless the policy leaves it out")
  func unlockedAtStart() {
    #expect(rules(explain(Magazine.issue(5), [may()]).because) == [.unlockedAtStart])
    let without = explain(
      Magazine.issue(5), [may()], policy: PublicationPolicy(unlocksLatestIssue: false))
    #expect(!without.isAllowed && rules(without.against) == [.publishedOutsidePeriods])
  }

  @Test("back-issue: as many before the latest as the policy says, and none unless it says so")
  func backIssue() {
    let policy = PublicationPolicy(backIssues: 2)
    func allowed(_ policy: PublicationPolicy) -> [Int] {
      (1...12).filter { explain(Magazine.issue($0), [may()], policy: policy).isAllowed }
    }
    #expect(allowed(.standard) == [5, 6])
    #expect(allowed(policy) == [3, 4, 5, 6])
    #expect(allowed(PublicationPolicy(backIssues: 1000)) == [1, 2, 3, 4, 5, 6])
    #expect(allowed(PublicationPolicy(unlocksLatestIssue: false, backIssues: 1)) == [4, 6])
    #expect(rules(explain(Magazine.issue(4), [may()], policy: policy).because) == [.backIssue])
  }

  @Test("published-in-grace: of a grace that was never paid, where the policy gives it")
  func publishedInGrace() {
    let late = may(grace: "2026-07-06")
    #expect(!explain(Magazine.issue(7), [late]).isAllowed)
    let kept = explain(
      Magazine.issue(7), [late], policy: PublicationPolicy(keepsIssuesOfUnrecoveredGrace: true))
    #expect(kept.isAllowed && rules(kept.because) == [.publishedInGrace])
  }

  @Test("granted-before: what was granted stays whatever the catalog says, and goes with a refund")
  func grantedBefore() {
    let record = EntitlementRecord(granted: [transaction("1"): [Magazine.issue(2)]])
    let kept = explain(Magazine.issue(2), [may()], record: record)
    #expect(kept.isAllowed && rules(kept.because) == [.grantedBefore])
    let refunded = explain(Magazine.issue(2), [may(revoked: "2026-06-01")], record: record)
    #expect(!refunded.isAllowed && rules(refunded.against).contains(.revoked))
  }

  @Test("in-grace: the subscription goes on up to the grace's end, where the policy serves in it")
  func inGrace() {
    let served = explain(Magazine.monthly, [may(grace: "2026-07-06")], at: "2026-07-01")
    #expect(served.isAllowed && served.until == day("2026-07-06"))
    #expect(rules(served.because) == [.inGrace] && rules(served.against) == [.periodOver])
  }

  @Test("in-billing-retry: the subscription goes on while the store charges, where the policy waits for it")
  func inBillingRetry() {
    let policy = PublicationPolicy(servesInBillingRetry: true)
    let waiting = explain(Magazine.monthly, [may(retry: "2026-08-19")], at: "2026-08-01", policy: policy)
    #expect(waiting.isAllowed && waiting.until == day("2026-08-19"))
    #expect(rules(waiting.because) == [.inBillingRetry])
  }

  @Test("not-bought: nothing leads to it")
  func notBought() {
    let nothing = explain(Magazine.single, [may()])
    #expect(!nothing.isAllowed && nothing.until == nil && rules(nothing.against) == [.notBought])
  }

  @Test("not-in-catalog: there is no such product")
  func notInCatalog() {
    #expect(rules(explain(product("com.example.none"), [may()]).against) == [.notInCatalog])
  }

  @Test("revoked: what the store took back opens nothing, from the day on which it did")
  func revoked() {
    let refunded = may(revoked: "2026-06-10")
    #expect(explain(Magazine.issue(6), [refunded], at: "2026-06-09").isAllowed)
    let after = explain(Magazine.issue(6), [refunded], at: "2026-06-10")
    #expect(!after.isAllowed && after.until == day("2026-06-10") && rules(after.against) == [.revoked])
  }

  @Test("license-ended: a volume purchase whose license was withdrawn is locked at the license's end")
  func licenseEnded() {
    let licensed = VerifiedTransaction(
      vouchedForBy: .apple, in: .production, id: transaction("1"), originalID: transaction("1"),
      product: Magazine.single, purchaseDate: day("2026-03-01"), licenseEndDate: day("2026-05-31"))
    // Withdrawn on the 1st of May: the thirtieth day is the 31st.
    let last = explain(Magazine.single, [licensed], at: "2026-05-30")
    #expect(last.isAllowed && last.until == day("2026-05-31"))
    let locked = explain(Magazine.single, [licensed], at: "2026-05-31")
    #expect(!locked.isAllowed && locked.until == day("2026-05-31"))
    #expect(rules(locked.against) == [.licenseEnded])
    #expect(
      Magazine.evaluate([licensed], now: day("2026-05-31"))[Magazine.single] == .expired(with: "1"))
  }

  @Test("period-without-end: an end that the store did not tell is never guessed")
  func periodWithoutEnd() {
    let endless = purchase("1", of: Magazine.monthly, at: day("2026-05-20"))
    let answer = explain(Magazine.monthly, [endless], at: "2026-05-21")
    #expect(!answer.isAllowed && rules(answer.against) == [.periodWithoutEnd])
  }

  @Test("period-ahead: a second season begins when the first is over")
  func periodAhead() {
    let seasons = ["1", "2"].map { purchase($0, of: Magazine.season, at: day("2026-05-20")) }
    let answer = explain(Magazine.season, seasons, at: "2026-06-01")
    #expect(answer.isAllowed && answer.until == day("2026-11-20"))
    #expect(
      answer.against == [
        EntitlementFinding(
          rule: .periodAhead, transaction: transaction("2"),
          period: .init(start: day("2026-08-20"), end: day("2026-11-20")), until: day("2026-08-20"))
      ])
  }

  @Test("period-over: which period it was, and when it ended")
  func periodOver() {
    let over = explain(Magazine.monthly, [may()])
    #expect(!over.isAllowed && over.until == day("2026-06-20") && rules(over.against) == [.periodOver])
    #expect(over.against.first?.period == .init(start: day("2026-05-20"), end: day("2026-06-20")))
    #expect(
      over.against.first?.sentence
        == "The period that was paid for is over: 2026-05-20T00:00:00.000Z to 2026-06-20T00:00:00.000Z.")
  }

  @Test("grace-not-served: the policy gives nothing in a grace")
  func graceNotServed() {
    let refused = explain(
      Magazine.monthly, [may(grace: "2026-07-06")], at: "2026-07-01",
      policy: PublicationPolicy(servesInGrace: false))
    #expect(!refused.isAllowed && refused.until == day("2026-06-20"))
    #expect(rules(refused.against) == [.graceNotServed, .periodOver])
  }

  @Test("billing-retry-not-served: the policy does not wait unless it says so")
  func billingRetryNotServed() {
    let refused = explain(Magazine.monthly, [may(retry: "2026-08-19")], at: "2026-08-01")
    #expect(!refused.isAllowed && rules(refused.against) == [.billingRetryNotServed, .periodOver])
  }

  @Test("not-yet-published: an issue of the future is not owned yet")
  func notYetPublished() {
    let early = explain(Magazine.issue(6), [may()], at: "2026-05-21")
    #expect(!early.isAllowed && rules(early.against) == [.notYetPublished])
  }

  @Test("published-outside-periods: the nearest run is named")
  func publishedOutsidePeriods() {
    let missed = explain(Magazine.issue(8), [may()])
    // It was never owned, so that nothing of it ended.
    #expect(!missed.isAllowed && missed.until == nil)
    #expect(
      missed.against == [
        EntitlementFinding(
          rule: .publishedOutsidePeriods, transaction: transaction("1"),
          period: .init(start: day("2026-05-20"), end: day("2026-06-20")))
      ])
  }

  @Test("published-in-unpaid-grace: an issue of a grace opens with a payment in it, and not before")
  func publishedInUnpaidGrace() {
    let late = may(grace: "2026-07-06")
    for now in ["2026-07-02", "2026-12-31"] {
      let issue = explain(Magazine.issue(7), [late], at: now)
      #expect(!issue.isAllowed && issue.until == nil)
      #expect(
        issue.against == [
          EntitlementFinding(
            rule: .publishedInUnpaidGrace, transaction: transaction("1"),
            period: .init(start: day("2026-06-20"), end: day("2026-07-06")))
        ])
    }
    #expect(rules(explain(Magazine.issue(8), [late]).against) == [.publishedOutsidePeriods])
    let paid = purchase(
      "2", of: Magazine.monthly, at: day("2026-07-03"), until: day("2026-08-03"), original: "1")
    let open = explain(Magazine.issue(7), [late, paid])
    #expect(open.isAllowed && open.against.isEmpty)
  }

  @Test("what was opened and written down is closed, and refunded, once")
  func closedOnce() {
    let record = EntitlementRecord(
      unlocked: [transaction("1"): [Magazine.issue(5)]],
      granted: [transaction("1"): [Magazine.issue(5), Magazine.issue(6)]])
    for issue in [5, 6].map(Magazine.issue) {
      let lapsed = explain(
        issue, [may()], policy: PublicationPolicy(keepsIssuesAfterLapse: false), record: record)
      #expect(rules(lapsed.against) == [.closedByLapse] && lapsed.until == day("2026-06-20"))
      let refunded = explain(issue, [may(revoked: "2026-06-10")], record: record)
      #expect(rules(refunded.against) == [.revoked] && refunded.until == day("2026-06-10"))
    }
  }

  @Test("closed-by-lapse: by policy issues are open while a subscription runs, and again when one runs again")
  func closedByLapse() {
    let policy = PublicationPolicy(keepsIssuesAfterLapse: false)
    let running = explain(Magazine.issue(6), [may()], at: "2026-06-10", policy: policy)
    #expect(running.isAllowed && running.until == day("2026-06-20"))
    let lapsed = explain(Magazine.issue(6), [may()], policy: policy)
    #expect(
      !lapsed.isAllowed && lapsed.until == day("2026-06-20") && rules(lapsed.against) == [.closedByLapse])
    let again = purchase("2", of: Magazine.monthly, at: day("2026-12-01"), until: day("2027-01-01"))
    #expect(explain(Magazine.issue(6), [may(), again], policy: policy).isAllowed)
  }

  @Test("each rule has a name of its own, a side and a sentence")
  func sentences() {
    #expect(EntitlementRule.allCases.count(where: \.isInFavor) == 12)
    let period = EntitlementFinding.Period(start: day("2026-05-20"), end: nil)
    for rule in EntitlementRule.allCases {
      for finding in [
        EntitlementFinding(rule: rule),
        EntitlementFinding(
          rule: rule, transaction: transaction("1"), period: period, until: day("2026-06-01")),
      ] {
        #expect(finding.sentence.hasSuffix(".") && finding.sentence.count > 10, "\(finding.sentence)")
      }
    }
  }
}
