import Commerce
import CoreTypes
import Entitlements
import PullboxTesting
import Testing

/// The rules against a second implementation that knows nothing of them, over 10,000 stories, of which a run tells its share
/// (`ExhaustiveShare`).
@Suite("Entitlement rules, against a look at every tick")
struct EntitlementStoryTests {
  static let seeds: Range<UInt64> = 0..<10_000
  private static let share = ExhaustiveShare.environment

  private func owned(_ report: EntitlementReport) -> [ProductIdentifier: Timestamp?] {
    report.verdicts.filter(\.value.isOwned).reduce(into: [:]) { $0[$1.key] = .some(report.ends[$1.key]) }
  }

  private func disagree(_ story: GeneratedStory) -> Bool { disagree(story, story.report()) }

  private func disagree(_ story: GeneratedStory, _ report: EntitlementReport) -> Bool {
    owned(report) != TickByTick(story).owned.mapValues { end in end.map(GeneratedStory.moment) }
  }

  @Test("what is owned, and until when, is what a look at every tick finds", .timeLimit(.minutes(5)))
  func everyTick() {
    var (events, ends) = (0, 0)
    for seed in Self.share.elements(of: Self.seeds) {
      let story = GeneratedStory(seed: seed)
      let report = story.report()
      events += story.transactions.count
      ends += report.ends.count
      guard disagree(story, report) else { continue }
      let smallest = story.shrunk(disagree)
      Issue.record(
        """
        seed \(seed): \(smallest)
        by the rules: \(owned(smallest.report()).mapValues { $0.map(GeneratedStory.tick(of:)) })
        by looking: \(TickByTick(smallest).owned)
        """)
      return
    }
    // All of the stories have more than 100,000 and 5000, and no share of them is poor.
    let least = (events: 90_000 / Self.share.count, ends: 2500 / Self.share.count)
    #expect(events > least.events && ends > least.ends, "\(events), \(ends)")
  }

  @Test("the stories come to every rule of the closed list but those of no product, no end and applications")
  func everyRule() {
    var found: Set<EntitlementRule> = []
    for seed in Self.seeds.prefix(1000) {
      let story = GeneratedStory(seed: seed)
      let (catalog, report) = (story.catalog, story.report())
      for product in catalog {
        let explained = EntitlementRules().explain(
          product.id, by: story.transactions, catalog: catalog,
          policies: [GeneratedStory.publication: story.policy], record: story.record,
          at: GeneratedStory.moment(story.now))
        let rules = (explained.because + explained.against).map(\.rule)
        #expect(explained.isAllowed == report[product.id].isOwned)
        #expect(explained.until == report.ends[product.id])
        #expect(explained.isAllowed == !explained.because.isEmpty && !rules.isEmpty)
        #expect(!explained.because.contains { !$0.rule.isInFavor })
        #expect(!explained.against.contains { $0.rule.isInFavor })
        let lines = (explained.because + explained.against).map {
          "\($0.sentence) \($0.transaction?.description ?? "")"
        }
        #expect(Set(lines).count == lines.count, "seed \(seed): \(lines)")
        found.formUnion(rules)
      }
    }
    #expect(
      Set(EntitlementRule.allCases).subtracting(found) == [
        .notInCatalog, .periodWithoutEnd, .ownedWithApplication, .applicationBoughtLater,
      ])
  }

  @Test("the order of the list, repetitions in it, and older statements among them change nothing")
  func lists() {
    for seed in Self.seeds.prefix(2000) {
      let story = GeneratedStory(seed: seed)
      var random = SplitMix(seed: seed ^ 0xFF)
      let moment = GeneratedStory.moment(story.now)
      // The words from before the refund was known: an older statement of the same transaction.
      let older = story.transactions.compactMap { paid in
        paid.revokedDate == nil
          ? nil : paid.revised(revokedDate: nil, asOf: paid.asOf - .seconds(1))
      }
      let statements =
        story.transactions + older + story.transactions.filter { _ in Bool.random(using: &random) }
      let parts = Dictionary(grouping: statements.shuffled(using: &random)) { _ in
        Int.random(in: 0..<3, using: &random)
      }
      let joined = parts.values.flatMap { $0 }
      guard story.report(of: joined) == story.report() else {
        Issue.record("seed \(seed) at \(moment): \(story)")
        return
      }
    }
  }
}
