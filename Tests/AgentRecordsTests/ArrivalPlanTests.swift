import Commerce
import CoreTypes
import PullboxAPI
import Testing

@testable import AgentRecords

@Suite("What is fetched of what arrives")
struct ArrivalPlanTests {
  private func entry(
    _ product: String, _ kind: FeedEntry.Kind = .issueAvailable, version: String? = "1.0",
    of publication: String? = "heroes", month: Int? = nil
  ) throws -> FeedEntry {
    FeedEntry(
      kind: kind, product: try #require(ProductIdentifier(product)),
      publication: publication.flatMap { ProductIdentifier($0) },
      publicationDate: month.map {
        Timestamp(year: 2026, month: $0, day: 1) ?? Timestamp(millisecondsSinceEpoch: 0)
      },
      version: version.flatMap { ContentVersion($0) }, transaction: try #require(TransactionIdentifier("1")))
  }

  private func held(_ versions: [String: String]) throws -> [ProductIdentifier: ContentVersion] {
    var held: [ProductIdentifier: ContentVersion] = [:]
    for (product, version) in versions {
      held[try #require(ProductIdentifier(product))] = ContentVersion(version)
    }
    return held
  }

  private func fetched(_ plan: ArrivalPlan) -> [String] { plan.fetched.map(\.product.description) }

  @Test("the latest issue is that of each publication that appeared last, however they are told")
  func latest() throws {
    let entries = try [
      entry("b", month: 2), entry("c", month: 3), entry("a", month: 1), entry("x", of: "villains", month: 1),
      entry("alone", of: nil),
    ]
    for entries in [entries, entries.reversed()] {
      let plan = ArrivalPlan(entries, policies: ArrivalPolicies(.latest), held: [:])
      #expect(Set(fetched(plan)) == ["c", "x", "alone"])
      #expect(plan.listed.isEmpty)
    }
    #expect(
      fetched(ArrivalPlan(entries, policies: ArrivalPolicies(.all), held: [:])) == [
        "b", "c", "a", "x", "alone",
      ])
  }

  @Test("a correction is fetched for what is in the library, and for nothing else")
  func corrections() throws {
    let correction = try entry("a", .correctionAvailable, version: "1.1", month: 1)
    for policy in [ArrivalPolicy.latest, .all] {
      #expect(
        fetched(ArrivalPlan([correction], policies: ArrivalPolicies(policy), held: try held(["a": "1.0"])))
          == ["a"])
      #expect(
        fetched(ArrivalPlan([correction], policies: ArrivalPolicies(policy), held: try held(["a": "1.1"])))
          .isEmpty)
      #expect(fetched(ArrivalPlan([correction], policies: ArrivalPolicies(policy), held: [:])).isEmpty)
      let awaited = ArrivalPlan(
        [correction], policies: ArrivalPolicies(policy), held: [:], expected: [correction.product])
      #expect(fetched(awaited) == ["a"], "the version that was told before waits for its slot, or is listed")
    }
    // A correction does not take the place of the newest issue.
    let both = try [correction, entry("b", month: 2)]
    #expect(
      fetched(ArrivalPlan(both, policies: ArrivalPolicies(.latest), held: try held(["a": "1.0"]))) == [
        "a", "b",
      ])
  }

  @Test("what is older than what is here is not the latest issue")
  func older() throws {
    let entries = try [entry("a", month: 1), entry("b", month: 2), entry("c", month: 3)]
    let plan = ArrivalPlan(entries, policies: ArrivalPolicies(.latest), held: try held(["c": "1.0"]))
    #expect(fetched(plan).isEmpty)
  }

  @Test("what is in the library is not fetched again, what came back is")
  func present() throws {
    let plan = try ArrivalPlan(
      [entry("a", month: 1), entry("b", .reinstated, month: 2)], policies: ArrivalPolicies(.all),
      held: held(["a": "1.0"]))
    #expect(fetched(plan) == ["b"])
  }

  @Test(
    "what is gone, has no content or is of a later server is nothing to fetch",
    arguments: [FeedEntry.Kind.revoked, .withdrawn, .subscriptionEnding, .subscriptionEnded])
  func nothing(kind: FeedEntry.Kind) throws {
    var later = try entry("b", month: 2)
    later.kind = "celebrated"
    let plan = try ArrivalPlan(
      [entry("a", kind, month: 1), later, entry("c", version: nil, month: 3)],
      policies: ArrivalPolicies(.all), held: [:])
    #expect(fetched(plan).isEmpty)
    #expect(plan.needsReceipt == (kind == .subscriptionEnded))
  }

  @Test("a publication may have a policy of its own")
  func ownPolicies() throws {
    let villains = try #require(ProductIdentifier("villains"))
    let entries = try [
      entry("a", month: 1), entry("b", month: 2), entry("x", of: "villains", month: 1),
      entry("y", of: "villains", month: 2), entry("alone", of: nil),
    ]
    let all = ArrivalPlan(entries, policies: ArrivalPolicies(.latest, own: [villains: .all]), held: [:])
    #expect(fetched(all) == ["b", "x", "y", "alone"])
    let ask = ArrivalPlan(entries, policies: ArrivalPolicies(.nothing, own: [villains: .ask]), held: [:])
    #expect(ask.fetched.isEmpty && ask.listed.map(\.product.description) == ["x", "y"])
  }

  @Test("by the policy ask all of it is listed, by none nothing")
  func policies() throws {
    let entries = try [entry("a", month: 1), entry("b", .correctionAvailable, version: "2.0", month: 2)]
    let ask = ArrivalPlan(entries, policies: ArrivalPolicies(.ask), held: try held(["b": "1.0"]))
    #expect(ask.listed.map(\.product.description) == ["a", "b"] && ask.fetched.isEmpty)
    let none = ArrivalPlan(entries, policies: ArrivalPolicies(.nothing), held: try held(["b": "1.0"]))
    #expect(none.listed.isEmpty && none.fetched.isEmpty)
  }
}
