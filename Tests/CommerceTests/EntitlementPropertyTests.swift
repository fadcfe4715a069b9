import Commerce
import CoreTypes
import Entitlements
import PullboxTesting
import Testing

/// The properties of every history, held against seeded random ones.
@Suite("Entitlement rules, for all histories")
struct EntitlementPropertyTests {
  static let seeds: Range<UInt64> = 0..<600

  private func owned(_ report: EntitlementReport) -> Set<ProductIdentifier> {
    Set(report.verdicts.filter(\.value.isOwned).keys)
  }

  /// For each history in turn, until one fails; the failure prints it.
  private func forAll(_ check: (GeneratedHistory, inout SplitMix) -> Bool) {
    for seed in Self.seeds {
      let history = GeneratedHistory(seed: seed)
      var random = SplitMix(seed: seed ^ 0xFF)
      guard check(history, &random) else {
        Issue.record("seed \(seed): \(history)")
        return
      }
    }
  }

  @Test("the histories hold what the rules are about")
  func histories() {
    var verdicts: [String: Int] = [:]
    var reasons: [EntitlementRule: Int] = [:]
    forAll { history, _ in
      for verdict in history.evaluate().verdicts.values {
        switch verdict {
        case .owned(let claim): reasons[claim.reason, default: 0] += 1
        case .expired: verdicts["expired", default: 0] += 1
        case .revoked: verdicts["revoked", default: 0] += 1
        case .notOwned: verdicts["notOwned", default: 0] += 1
        }
      }
      return true
    }
    #expect(verdicts.count == 3)
    #expect(reasons.count == 3)
    for count in Array(verdicts.values) + Array(reasons.values) { #expect(count >= 100) }
  }

  @Test("what is owned is what a look at every minute finds")
  func everyMinute() {
    forAll { history, _ in owned(history.evaluate()) == history.ownedByLooking() }
  }

  @Test("judged beside other customers of the publication, it is the same without what is not owned")
  func besideOthers() {
    forAll { history, random in
      var policy = PublicationPolicy.standard
      policy.keepsIssuesAfterLapse = Bool.random(using: &random)
      policy.keepsIssuesOfUnrecoveredGrace = Bool.random(using: &random)
      policy.unlocksLatestIssue = Bool.random(using: &random)
      policy.backIssues = Int.random(in: 0...3, using: &random)
      var record = EntitlementRecord.empty
      for transaction in history.transactions where Int.random(in: 0..<4, using: &random) == 0 {
        record.unlocked[transaction.id] = Set(history.issues.keys.filter { _ in Bool.random(using: &random) })
        record.granted[transaction.id] = Set(history.issues.keys.prefix(1))
      }
      let (rules, now) = (EntitlementRules(defaultPolicy: policy), GeneratedHistory.moment(history.now))
      let catalog = history.catalog.map { product in
        var product = product
        let later = Int.random(in: -3...20, using: &random)
        product.firstReleased =
          Bool.random(using: &random) ? nil : product.publicationDate.map { $0 + .seconds(60 * later) }
        return product
      }
      let whole = rules.evaluate(history.transactions, catalog: catalog, record: record, now: now)
      let named = Set(history.transactions.map(\.product)).union(record.products)
      let report = rules.evaluate(
        history.transactions, naming: catalog.filter { named.contains($0.id) },
        issues: [GeneratedHistory.publication: PublicationIssues(of: catalog)], record: record,
        now: now)
      return report.verdicts == whole.verdicts.filter { $0.value != .notOwned }
        && report.claims == whole.claims && report.ends == whole.ends
        && report.subscribedSince == whole.subscribedSince
    }
  }

  @Test("the order of the list changes nothing, claims and reasons included")
  func order() {
    forAll { history, random in
      let report = history.evaluate()
      return (0..<4).allSatisfy { _ in
        history.evaluate(history.transactions.shuffled(using: &random)) == report
      }
    }
  }

  @Test("repetitions in the list change nothing, claims and reasons included")
  func repetition() {
    forAll { history, random in
      var list = history.transactions
      for transaction in history.transactions where Bool.random(using: &random) {
        list.insert(transaction, at: Int.random(in: 0...list.count, using: &random))
      }
      return history.evaluate(list + list) == history.evaluate()
    }
  }

  @Test("a period that was paid in two parts opens what it opens in one")
  func split() {
    forAll { history, random in
      var list: [VerifiedTransaction] = []
      for transaction in history.transactions {
        guard let expires = transaction.expiresDate, expires - transaction.purchaseDate >= .seconds(120)
        else {
          list.append(transaction)
          continue
        }
        let minutes = GeneratedHistory.minute(expires) - GeneratedHistory.minute(transaction.purchaseDate)
        let middle = transaction.purchaseDate + .seconds(60 * Int.random(in: 1..<minutes, using: &random))
        let halves = [
          (transaction.id.description, transaction.purchaseDate, middle),
          ("2\(transaction.id)", middle, expires),
        ]
        list += halves.map { id, start, end in
          purchase(
            id, of: transaction.product, at: start, until: end, revoked: transaction.revokedDate,
            original: transaction.id.description)
        }
      }
      return owned(history.evaluate(list)) == owned(history.evaluate())
    }
  }

  @Test("one purchase more never takes anything away")
  func monotony() {
    forAll { history, random in
      let kept = history.transactions.filter { _ in Bool.random(using: &random) }
      let live = history.transactions.filter { $0.revokedDate == nil }
      return owned(history.evaluate(kept)).isSubset(of: owned(history.evaluate(kept + live)))
    }
  }

  @Test("a refunded purchase opens as much as one that was never made")
  func refund() {
    forAll { history, random in
      guard let refunded = history.transactions.randomElement(using: &random) else { return true }
      let others = history.transactions.filter { $0.id != refunded.id }
      let after = history.evaluate(others + [refunded.refunded(at: GeneratedHistory.moment(history.now))])
      let without = history.evaluate(others)
      return owned(after) == owned(without) && after.claims == without.claims
    }
  }

  @Test("what is owned of issues stays owned as time goes on")
  func keeping() {
    forAll { history, _ in
      var later = history
      later.now = GeneratedHistory.length * 2
      let issues = Set(history.issues.keys)
      return owned(history.evaluate()).intersection(issues).isSubset(of: owned(later.evaluate()))
    }
  }

  @Test("a verdict is backed by the transaction it names")
  func evidence() {
    forAll { history, _ in
      let now = GeneratedHistory.moment(history.now)
      let byID = Dictionary(uniqueKeysWithValues: history.transactions.map { ($0.id, $0) })
      let report = history.evaluate()
      return report.verdicts.allSatisfy { product, verdict in
        switch verdict {
        case .owned(let claim):
          byID[claim.transaction]?.revokedDate == nil && report.claims[product]?.first == claim
            && (claim.reason != .purchased || byID[claim.transaction]?.product == product)
        case .revoked(let id): byID[id]?.revokedDate != nil && report.claims[product] == nil
        case .expired(let id):
          byID[id]?.revokedDate == nil && (byID[id]?.expiresDate).map { $0 <= now } == true
            && report.claims[product] == nil
        case .notOwned: report.claims[product] == nil
        }
      }
    }
  }

  @Test("each claim is listed once, and the strongest first")
  func claims() {
    forAll { history, _ in
      let report = history.evaluate()
      return report.claims.values.allSatisfy { claims in
        let firstSubscription = claims.firstIndex { $0.reason != .purchased } ?? claims.endIndex
        return !claims.isEmpty && Set(claims).count == claims.count
          && claims[firstSubscription...].allSatisfy { $0.reason != .purchased }
      }
    }
  }
}
