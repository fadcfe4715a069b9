import Commerce
import CoreTypes
import Entitlements
import Foundation
import Testing

@Suite("Products that the purchase of the application owns")
struct ApplicationPurchaseTests {
  private static let application = ApplicationIdentifier("com.example.comics")

  private func condition(_ text: String) throws -> OwnershipCondition {
    try JSONDecoder().decode(OwnershipCondition.self, from: Data(text.utf8))
  }

  private func version(_ text: String) throws -> OwnershipCondition {
    .originalVersionBelow(try #require(ApplicationVersion(text)))
  }

  private func bought(
    _ version: String?, at date: String = "2026-03-01", until end: String? = nil
  ) throws -> VerifiedTransaction {
    let application = try #require(Self.application)
    let purchase = VerifiedTransaction.purchase(
      of: application, vouchedForBy: .sandbox, in: .sandbox, number: "77", version: version, date: day(date),
      licenseEndDate: end.map { day($0) }, asOf: day(date))
    return try #require(purchase)
  }

  private func explain(
    _ condition: OwnershipCondition?, _ transactions: [VerifiedTransaction],
    application: ApplicationIdentifier? = nil, record: EntitlementRecord = .empty,
    policies: [ProductIdentifier: PublicationPolicy] = [:], publication: ProductIdentifier? = nil,
    at moment: String = "2026-12-31"
  ) -> EntitlementExplanation {
    let product = Product(
      id: Magazine.single, type: .nonConsumable, publication: publication, application: application,
      ownedIf: condition)
    return EntitlementRules().explain(
      product.id, by: transactions, catalog: [product], policies: policies, record: record, at: day(moment))
  }

  @Test(
    "owned-with-application: who bought it in a version below owns the product, by numbers",
    arguments: [
      ("1.9", "1.10", true), ("1.10", "1.9", false), ("2.0", "2.0", false), ("2", "2.0.1", true),
      ("1.0 beta", "2.0", false), (nil, "2.0", false), ("2024.01.05", "2024.02", true),
      ("2024.03.05", "2024.02", false), ("20240105123", "20250101000", true),
    ] as [(String?, String, Bool)])
  func versions(bought text: String?, below: String, isOwned: Bool) throws {
    let explained = explain(try version(below), [try bought(text)])
    #expect(explained.isAllowed == isOwned && explained.until == nil)
    #expect(explained.because.map(\.rule) == (isOwned ? [.ownedWithApplication] : []))
    #expect(explained.because.allSatisfy { $0.transaction?.description == "application-77" })
  }

  @Test("application-bought-later: at the date itself it is too late")
  func dates() throws {
    let condition = OwnershipCondition.originalPurchaseBefore(day("2026-03-01"))
    #expect(explain(condition, [try bought("1.0", at: "2026-02-28")]).isAllowed)
    let late = explain(condition, [try bought("1.0")])
    #expect(!late.isAllowed && late.against.map(\.rule) == [.applicationBoughtLater])
  }

  @Test("its own purchase goes before, and without a condition an application owns nothing")
  func others() throws {
    let own = purchase("9", of: Magazine.single, at: day("2026-01-01"))
    let both = explain(try version("2.0"), [try bought("1.0"), own])
    #expect(both.because.map(\.rule) == [.purchased, .ownedWithApplication])
    #expect(explain(nil, [try bought("1.0")]).against.map(\.rule) == [.notBought])
    // A purchase in it is no purchase of it.
    let other = purchase("10", of: Magazine.monthly, at: day("2026-01-01"))
    #expect(!explain(try version("2.0"), [other]).isAllowed)
  }

  @Test("a volume license of the application owns until it ends", arguments: ["2026-06-30", "2026-07-01"])
  func volumeLicense(moment: String) throws {
    let explained = explain(
      try version("2.0"), [try bought("1.0", until: "2026-07-01")], at: moment)
    let isOwned = moment < "2026-07-01"
    #expect(explained.isAllowed == isOwned)
    #expect(explained.until == day("2026-07-01"))
    #expect(explained.against.map(\.rule) == (isOwned ? [] : [.licenseEnded]))
  }

  @Test(
    "granted-before: what was granted by a condition stays when it is gone, up to the end of a volume license"
  )
  func grantedBefore() throws {
    let purchase = try bought("1.0", until: "2026-07-01")
    let record = EntitlementRecord(granted: [purchase.id: [Magazine.single]])
    // A product that the publication closes when a subscription lapses was not opened by one here.
    let policies = [Magazine.monthly: PublicationPolicy(keepsIssuesAfterLapse: false)]
    let kept = explain(
      nil, [purchase], record: record, policies: policies, publication: Magazine.monthly, at: "2026-06-30")
    #expect(kept.because.map(\.rule) == [.grantedBefore] && kept.until == day("2026-07-01"))
    #expect(!explain(nil, [purchase], record: record, at: "2026-07-01").isAllowed)
  }

  @Test("another application's purchase owns nothing")
  func applications() throws {
    let own = explain(try version("2.0"), [try bought("1.0")], application: Self.application)
    let foreign = explain(
      try version("2.0"), [try bought("1.0")], application: ApplicationIdentifier("com.example.other"))
    #expect(own.isAllowed && !foreign.isAllowed)
  }

  @Test("a product with the application's name is not bought by it")
  func name() throws {
    let transaction = try bought("1.0")
    let product = Product(id: transaction.product, type: .nonConsumable)
    let report = EntitlementRules().evaluate([transaction], catalog: [product], now: day("2026-12-31"))
    #expect(report[product.id] == .notOwned)
  }

  @Test("a condition is one of the two")
  func documents() throws {
    #expect(try condition(#"{"originalVersionBelow":"2.0"}"#) == version("2.0"))
    for text in [
      "{}", #"{"originalVersionBelow":"two"}"#,
      #"{"originalVersionBelow":"2.0","originalPurchaseBefore":"2026-01-01T00:00:00.000Z"}"#,
    ] {
      #expect(throws: DecodingError.self) { try condition(text) }
    }
  }
}
