import Commerce
import CoreTypes
import PullboxAPI
import Testing

@testable import AgentRecords

@Suite("What is known of what is owned")
struct KnownOwnershipTests {
  private let now = Timestamp(millisecondsSinceEpoch: 1_772_323_200_000)

  private func entry(_ kind: FeedEntry.Kind) throws -> FeedEntry {
    FeedEntry(
      kind: kind, product: try #require(ProductIdentifier("com.example.heroes.1")),
      transaction: try #require(TransactionIdentifier("1")))
  }

  @Test("what was taken back is owned no more, and what the feed offers again is")
  func revoked() throws {
    let lost = try #require(KnownOwnership(try entry(.revoked), after: nil, at: now))
    #expect(
      lost == KnownOwnership(isOwned: false, because: "revoked", until: nil, asOf: now, isConsumable: false))
    let later = now + .seconds(60)
    #expect(KnownOwnership(try entry(.revoked), after: lost, at: later) == lost, "told again")
    let back = try #require(KnownOwnership(try entry(.reinstated), after: lost, at: later))
    #expect(back == KnownOwnership(isOwned: true, because: nil, until: nil, asOf: later, isConsumable: false))
  }

  @Test("what ended when a subscription did was closed by its lapse, what ends later was taken back")
  func lapse() throws {
    for (until, because) in [
      (now, "closed-by-lapse"), (now - .seconds(1), "closed-by-lapse"), (now + .seconds(1), "revoked"),
    ] {
      let owned = KnownOwnership(
        isOwned: true, because: "published-during-subscription", until: until, asOf: now - .seconds(9))
      let lost = try #require(KnownOwnership(try entry(.revoked), after: owned, at: now))
      #expect(lost.because == because && !lost.isOwned)
      #expect(lost.until == (because == "revoked" ? nil : until))
    }
  }

  @Test(
    "what is said of offers and subscriptions says nothing of ownership",
    arguments: [FeedEntry.Kind.withdrawn, .subscriptionEnding, .subscriptionEnded])
  func nothing(kind: FeedEntry.Kind) throws {
    #expect(KnownOwnership(try entry(kind), after: nil, at: now) == nil)
  }
}
