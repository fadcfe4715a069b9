import Commerce
import CoreTypes
import Entitlements
import Testing

/// Purchases of a product itself, and refunds: each rule beside what it must not do.
@Suite("What a purchase opens")
struct PurchaseRuleTests {
  @Test("what was bought is owned, for good")
  func bought() {
    let bought = purchase("1", of: Magazine.single, at: day("2026-05-20"))
    for now in ["2026-05-20", "2026-12-31", "9999-12-31"] {
      #expect(Magazine.evaluate([bought], now: day(now))[Magazine.single] == .owned(by: "1", .purchased))
    }
  }

  @Test("and nothing else is")
  func nothingElse() {
    let report = Magazine.evaluate([purchase("1", of: Magazine.single, at: day("2026-05-20"))])
    #expect(report.verdicts.values.count(where: \.isOwned) == 1)
    #expect(report.claims.keys.sorted() == [Magazine.single])
  }

  @Test("an issue that was bought is owned before it appears and without any subscription")
  func issue() {
    let bought = purchase("1", of: Magazine.issue(9), at: day("2026-05-20"))
    #expect(Magazine.months([bought], now: day("2026-05-20")) == [9])
    #expect(Magazine.evaluate([bought])[Magazine.monthly] == .notOwned)
  }

  @Test("without transactions every product of the catalog has a verdict: not owned")
  func empty() {
    let report = Magazine.evaluate([])
    #expect(report.verdicts.count == Magazine.catalog.count)
    #expect(report.verdicts.values.allSatisfy { $0 == .notOwned })
    #expect(report.claims.isEmpty)
  }

  @Test("an empty catalog opens nothing")
  func emptyCatalogue() {
    let report = EntitlementRules().evaluate(
      [purchase("1", of: Magazine.single, at: day("2026-05-20"))], catalog: [], now: day("2026-12-31"))
    #expect(report.verdicts.isEmpty)
    #expect(report[Magazine.single] == .notOwned)
  }

  // MARK: Refunds

  @Test("a refund ends what it paid for, from then on and for every moment before")
  func refund() {
    let bought = purchase("1", of: Magazine.single, at: day("2026-05-20"), revoked: day("2026-06-01"))
    // A refund that is known counts as if no purchase had ever been made.
    for now in ["2026-05-21", "2026-06-01", "2026-12-31"] {
      let report = Magazine.evaluate([bought], now: day(now))
      #expect(report[Magazine.single] == .revoked(with: "1"))
      #expect(report.claims[Magazine.single] == nil)
    }
  }

  @Test("one refund of two purchases leaves the product owned, two do not")
  func refundOfOne() {
    let first = purchase("1", of: Magazine.single, at: day("2026-05-20"))
    let second = purchase("2", of: Magazine.single, at: day("2026-06-20"))
    let refund = day("2026-07-01")
    let report = Magazine.evaluate([first, second.refunded(at: refund)])
    #expect(report[Magazine.single] == .owned(by: "1", .purchased))
    #expect(
      Magazine.evaluate([first.refunded(at: refund), second])[Magazine.single] == .owned(by: "2", .purchased))
    #expect(
      Magazine.evaluate([first.refunded(at: refund), second.refunded(at: refund)])[Magazine.single]
        == .revoked(with: "2"))
  }

  @Test("a refund of one product says nothing about another that was bought with it")
  func refundOfAnother() {
    let report = Magazine.evaluate([
      purchase("1", of: Magazine.single, at: day("2026-05-20"), revoked: day("2026-05-21")),
      purchase("2", of: Magazine.issue(5), at: day("2026-05-20")),
    ])
    #expect(report[Magazine.single] == .revoked(with: "1"))
    #expect(report[Magazine.issue(5)] == .owned(by: "2", .purchased))
  }

  @Test("a bought issue stays owned when the subscription that also opened it is refunded")
  func refundedSubscription() {
    let report = Magazine.evaluate([
      purchase(
        "1", of: Magazine.monthly, at: day("2026-05-20"), until: day("2026-06-20"), revoked: day("2026-06-02")
      ),
      purchase("2", of: Magazine.issue(6), at: day("2026-06-05")),
    ])
    #expect(report[Magazine.issue(6)] == .owned(by: "2", .purchased))
    #expect(report[Magazine.issue(5)] == .revoked(with: "1"))
    #expect(report[Magazine.monthly] == .revoked(with: "1"))
  }

  @Test("a refunded period in the middle splits the run: only its own issues go")
  func refundInTheMiddle() {
    func monthly(_ id: String, _ from: String, _ until: String) -> VerifiedTransaction {
      purchase(id, of: Magazine.monthly, at: day(from), until: day(until))
    }
    let periods = [
      monthly("1", "2026-02-20", "2026-03-20"), monthly("2", "2026-03-20", "2026-05-20"),
      monthly("3", "2026-05-20", "2026-06-20"),
    ]
    #expect(Magazine.months(periods) == [2, 3, 4, 5, 6])
    let report = Magazine.evaluate([periods[0], periods[1].refunded(at: day("2026-05-21")), periods[2]])
    // The third period begins a run of its own now, and unlocks the issue that was the latest one then.
    #expect(Magazine.months(report) == [2, 3, 5, 6])
    #expect(report[Magazine.issue(4)] == .revoked(with: "2"))
    #expect(report[Magazine.issue(5)] == .owned(by: "3", .unlockedAtStart))
  }

  @Test("of refund and end, the later purchase gives the reason")
  func refundOrEnd() {
    let early = purchase("1", of: Magazine.monthly, at: day("2026-02-20"), until: day("2026-03-20"))
    let late = purchase("2", of: Magazine.monthly, at: day("2026-06-20"), until: day("2026-07-20"))
    let refund = day("2026-07-01")
    let lateRefund = Magazine.evaluate([early, late.refunded(at: refund)])
    #expect(lateRefund[Magazine.monthly] == .revoked(with: "2"))
    let earlyRefund = Magazine.evaluate([early.refunded(at: refund), late])
    #expect(earlyRefund[Magazine.monthly] == .expired(with: "2"))
  }

  @Test("several ends: the last one is named")
  func lastEnd() {
    let periods = [2, 4, 3].map { month in
      purchase(
        "\(month)", of: Magazine.monthly, at: day("2026-0\(month)-20"), until: day("2026-0\(month + 1)-20"))
    }
    #expect(Magazine.evaluate(periods)[Magazine.monthly] == .expired(with: "4"))
  }

  // MARK: The subscription itself

  @Test("a subscription is owned in its period: from its start up to its end")
  func subscription() {
    let period = purchase("1", of: Magazine.monthly, at: day("2026-05-20"), until: day("2026-06-20"))
    let verdicts: [(Timestamp, Entitlement)] = [
      (day("2026-05-20") - .milliseconds(1), .notOwned), (day("2026-05-20"), .owned(by: "1", .purchased)),
      (day("2026-06-20") - .milliseconds(1), .owned(by: "1", .purchased)),
      (day("2026-06-20"), .expired(with: "1")),
    ]
    for (now, verdict) in verdicts {
      #expect(Magazine.evaluate([period], now: now)[Magazine.monthly] == verdict, "\(now)")
    }
  }

  @Test("a bridged gap keeps issues, not service: in the gap nothing is running")
  func serviceInTheGap() {
    let end = day("2026-06-20")
    let periods = [
      purchase("1", of: Magazine.monthly, at: day("2026-05-20"), until: end),
      purchase("2", of: Magazine.monthly, at: end + .seconds(300), until: day("2026-07-20")),
    ]
    #expect(Magazine.evaluate(periods, now: end + .seconds(60))[Magazine.monthly] == .expired(with: "1"))
    #expect(
      Magazine.evaluate(periods, now: end + .seconds(300))[Magazine.monthly] == .owned(by: "2", .purchased))
  }

  @Test("one subscription of a publication does not own another one of it")
  func otherSubscription() {
    let report = Magazine.evaluate(
      [purchase("1", of: Magazine.monthly, at: day("2026-05-20"), until: day("2026-06-20"))],
      now: day("2026-05-21"))
    #expect(report[Magazine.yearly] == .notOwned)
    #expect(report[Magazine.season] == .notOwned)
  }

  // MARK: Consumables, restores, quantities, stores

  @Test("a consumable is owned while a receipt holds it, once for each purchase, and not after it left")
  func consumable() {
    let purchases = ["1", "2"].map { purchase($0, of: Magazine.coins, at: day("2026-05-20"), quantity: 10) }
    let report = Magazine.evaluate(purchases)
    #expect(report[Magazine.coins] == .owned(by: "2", .purchased))
    #expect(report.claims[Magazine.coins]?.map(\.transaction.description) == ["2", "1"])
    // The first was finished and is in no receipt any more, then the second.
    #expect(Magazine.evaluate([purchases[1]]).claims[Magazine.coins]?.count == 1)
    #expect(Magazine.evaluate([])[Magazine.coins] == .notOwned)
  }

  @Test("a refunded consumable is not owned, another one of the same product is")
  func refundedConsumable() {
    let first = purchase("1", of: Magazine.coins, at: day("2026-05-20"))
    let second = purchase("2", of: Magazine.coins, at: day("2026-05-21"), revoked: day("2026-05-22"))
    #expect(Magazine.evaluate([first, second])[Magazine.coins] == .owned(by: "1", .purchased))
    #expect(Magazine.evaluate([second])[Magazine.coins] == .revoked(with: "2"))
  }

  @Test("a restored purchase has an identifier of its own and entitles like the first one")
  func restored() {
    let first = purchase("1", of: Magazine.single, at: day("2026-05-20"))
    let restored = purchase("2", of: Magazine.single, at: day("2026-08-20"), original: "1")
    #expect(Magazine.evaluate([restored])[Magazine.single] == .owned(by: "2", .purchased))
    #expect(Magazine.evaluate([first, restored]).claims[Magazine.single]?.count == 2)
    // A refund is judged transaction by transaction, so that the store has to refund both.
    #expect(Magazine.evaluate([first.refunded(at: day("2026-09-01")), restored])[Magazine.single].isOwned)
  }

  @Test("quantity changes no verdict", arguments: [1, 2, 10])
  func quantity(count: Int) {
    let bought = purchase("1", of: Magazine.single, at: day("2026-05-20"), quantity: count)
    #expect(Magazine.evaluate([bought])[Magazine.single] == .owned(by: "1", .purchased))
  }

  @Test("which stores and environments count was decided before: the rules take what they are given")
  func storesAndEnvironments() {
    for environment in StoreEnvironment.allCases {
      for store in [StoreIdentifier.sandbox, .apple, .google] {
        let bought = purchase(
          "1", of: Magazine.single, at: day("2026-05-20"), store: store, environment: environment)
        #expect(Magazine.evaluate([bought])[Magazine.single].isOwned)
      }
    }
  }

  @Test("purchases at two stores are two claims, although both stores call theirs 1")
  func twoStores() {
    let transactions = [StoreIdentifier.apple, .google].map {
      purchase("1", of: Magazine.single, at: day("2026-05-20"), store: $0)
    }
    #expect(Magazine.evaluate(transactions).claims[Magazine.single]?.count == 2)
    let refunded = [transactions[0].refunded(at: day("2026-05-21")), transactions[1]]
    #expect(Magazine.evaluate(refunded)[Magazine.single].isOwned)
  }

  @Test("the strongest claim comes first: purchases before subscriptions, later before earlier")
  func strongest() {
    let report = Magazine.evaluate([
      purchase("1", of: Magazine.monthly, at: day("2026-05-20"), until: day("2026-06-20")),
      purchase("2", of: Magazine.issue(6), at: day("2026-03-01")),
      purchase("3", of: Magazine.issue(6), at: day("2026-04-01")),
      purchase("4", of: Magazine.monthly, at: day("2026-06-25"), until: day("2026-06-30")),
    ])
    #expect(report.claims[Magazine.issue(6)]?.map(\.transaction.description) == ["3", "2", "4", "1"])
    #expect(report[Magazine.issue(6)] == .owned(by: "3", .purchased))
    #expect(report.products(claimedBy: transaction("4")) == [Magazine.issue(6)])
    #expect(report.products(claimedBy: transaction("5")) == [])
  }
}
