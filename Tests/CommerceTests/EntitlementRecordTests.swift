import Commerce
import CoreTypes
import Entitlements
import Testing

/// The changes that an operator makes in the catalog after something was delivered, and what must not come of them.
@Suite("What was delivered stays owned")
struct EntitlementRecordTests {
  private let subscription = purchase(
    "1", of: Magazine.monthly, at: day("2026-05-20"), until: day("2026-06-20"))
  private let unlockedMay = EntitlementRecord(unlocked: [transaction("1"): [Magazine.issue(5)]])

  private func catalog(
    changing id: ProductIdentifier, _ change: (inout Product) -> Void
  ) -> [Product] {
    Magazine.catalog.map { product in
      guard product.id == id else { return product }
      var product = product
      change(&product)
      return product
    }
  }

  private func evaluate(
    _ transactions: [VerifiedTransaction], _ catalog: [Product], _ record: EntitlementRecord = .empty
  ) -> EntitlementReport {
    EntitlementRules().evaluate(transactions, catalog: catalog, record: record, now: day("2026-12-31"))
  }

  @Test("a back-dated issue does not take the place of the one that a run unlocked")
  func backDated() {
    let late = Product(
      id: product("com.example.heroes.late"), type: .nonConsumable, publication: Magazine.publication,
      publicationDate: day("2026-05-15"))
    let without = evaluate([subscription], Magazine.catalog + [late])
    // By the catalog alone, the later date wins: so it is written down.
    #expect(without[late.id].isOwned && !without[Magazine.issue(5)].isOwned)
    let report = evaluate([subscription], Magazine.catalog + [late], unlockedMay)
    #expect(report[Magazine.issue(5)] == .owned(by: "1", .unlockedAtStart))
    #expect(!report[late.id].isOwned)
    #expect(Magazine.months(report) == [5, 6])
  }

  @Test("an issue that gets another date, another publication or none stays owned by what paid for it")
  func redated() {
    let changes: [(inout Product) -> Void] = [
      { $0.publicationDate = day("2026-01-01") }, { $0.publicationDate = day("2027-06-01") },
      { $0.publicationDate = nil }, { $0.publication = product("com.example.villains") },
      { $0.publication = nil },
    ]
    let record = EntitlementRecord(
      unlocked: [transaction("1"): [Magazine.issue(5)]],
      granted: [transaction("1"): [Magazine.issue(5), Magazine.issue(6)]])
    for change in changes {
      for month in [5, 6] {
        let catalog = catalog(changing: Magazine.issue(month), change)
        #expect(!evaluate([subscription], catalog)[Magazine.issue(month)].isOwned)
        let report = evaluate([subscription], catalog, record)
        let reason: EntitlementRule = month == 5 ? .unlockedAtStart : .grantedBefore
        #expect(report[Magazine.issue(month)] == .owned(by: "1", reason))
        #expect(Magazine.months(report) == [5, 6])
      }
    }
  }

  @Test("a back issue that was written down is told as one, whatever dates and policies say later")
  func backIssues() {
    let record = EntitlementRecord(
      unlocked: [transaction("1"): [Magazine.issue(4), Magazine.issue(5)]],
      backIssues: [transaction("1"): [Magazine.issue(4)]])
    let undated = catalog(changing: Magazine.issue(4)) { $0.publicationDate = nil }
    for catalog in [Magazine.catalog, undated] {
      let report = evaluate([subscription], catalog, record)
      #expect(report[Magazine.issue(4)] == .owned(by: "1", .backIssue))
      #expect(report[Magazine.issue(5)] == .owned(by: "1", .unlockedAtStart))
    }
    let first = EntitlementRules(defaultPolicy: PublicationPolicy(backIssues: 1)).evaluate(
      [subscription], catalog: Magazine.catalog, now: day("2026-12-31"))
    #expect(
      first.issues(unlockedBy: transaction("1"))
        == [Magazine.issue(4): .backIssue, Magazine.issue(5): .unlockedAtStart])
  }

  @Test("the refund of the transaction that paid takes it back all the same")
  func refund() {
    let record = EntitlementRecord(granted: [transaction("1"): [Magazine.issue(6)]])
    let catalog = catalog(changing: Magazine.issue(6)) { $0.publicationDate = nil }
    let report = evaluate([subscription.refunded(at: day("2026-06-10"))], catalog, record)
    #expect(report[Magazine.issue(6)] == .revoked(with: "1"))
    #expect(report.ends[Magazine.issue(6)] == day("2026-06-10"))
  }

  @Test("what was delivered of a subscription itself ends with it")
  func subscriptionContent() {
    let record = EntitlementRecord(granted: [transaction("1"): [Magazine.monthly]])
    #expect(evaluate([subscription], Magazine.catalog, record)[Magazine.monthly] == .expired(with: "1"))
  }

  @Test("what is written down of other transactions changes nothing, nor does what the rules say anyway")
  func nothingNew() {
    let others = EntitlementRecord(
      unlocked: [transaction("9"): [Magazine.issue(1)]], granted: [transaction("9"): [Magazine.issue(2)]])
    let same = EntitlementRecord(
      unlocked: [transaction("1"): [Magazine.issue(5)]], granted: [transaction("1"): [Magazine.issue(6)]])
    let plain = evaluate([subscription], Magazine.catalog)
    #expect(evaluate([subscription], Magazine.catalog, others) == plain)
    #expect(evaluate([subscription], Magazine.catalog, same) == plain)
    #expect(same.products == [Magazine.issue(5), Magazine.issue(6)])
  }

  @Test("each verdict tells until when: a period's end, grace's end, what has ended, nothing for what stays")
  func ends() {
    let grace = VerifiedTransaction(
      vouchedForBy: .sandbox, in: .sandbox, id: transaction("1"), originalID: transaction("1"),
      product: Magazine.monthly, purchaseDate: day("2026-05-20"), expiresDate: day("2026-06-20"),
      graceExpiresDate: day("2026-07-06"))
    func end(_ now: String, _ product: ProductIdentifier = Magazine.monthly) -> Timestamp? {
      Magazine.evaluate([grace], now: day(now)).ends[product]
    }
    #expect(end("2026-06-19") == day("2026-06-20"))
    #expect(end("2026-06-21") == day("2026-07-06"))
    #expect(end("2026-08-01") == day("2026-07-06"))
    #expect(end("2026-06-19", Magazine.issue(5)) == nil)
    // An issue that appeared after the end was never owned.
    #expect(end("2026-08-01", Magazine.issue(7)) == nil)
    #expect(end("2026-08-01", Magazine.single) == nil)
  }
}
