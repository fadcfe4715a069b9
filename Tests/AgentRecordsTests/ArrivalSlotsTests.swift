import Commerce
import CoreTypes
import PullboxAPI
import ServiceAPI
import Testing

@testable import AgentRecords

@Suite("Slots of what arrives by itself")
struct ArrivalSlotsTests {
  private static let start = Timestamp(millisecondsSinceEpoch: 1_790_000_000_000)
  private static let boot = MonotonicInstant(nanoseconds: 5_000_000_000)
  private static let year: Duration = .seconds(365 * 86_400)

  private func entry(_ number: Int, notBefore: Timestamp? = nil, version: String = "1") throws -> FeedEntry {
    FeedEntry(
      kind: .issueAvailable, product: try #require(ProductIdentifier("com.example.\(number)")),
      version: ContentVersion(version), transaction: try #require(TransactionIdentifier("1")),
      notBefore: notBefore)
  }

  private func slots(
    of entries: FeedEntry..., wall: Timestamp = start, into slots: ArrivalSlots = ArrivalSlots(),
    at now: MonotonicInstant = boot
  ) -> ArrivalSlots {
    var slots = slots
    slots.update(
      Dictionary(uniqueKeysWithValues: entries.map { ($0.product, $0) }), wall: wall, now: now)
    return slots
  }

  @Test("what has no slot, or one that has passed, is due at once, and what has one then")
  func due() throws {
    let (now, past) = (try entry(1), try entry(2, notBefore: Self.start - .seconds(1)))
    let later = try entry(3, notBefore: Self.start + .seconds(60))
    let slots = slots(of: now, past, later)
    for (entry, isDue) in [(now, true), (past, true), (later, false)] {
      #expect(slots.isDue(entry.product, at: Self.boot) == isDue)
    }
    #expect(slots.isDue(later.product, at: Self.boot + .seconds(60)))
    #expect(slots.next == Self.boot)
  }

  @Test("a wall clock that is set meanwhile moves no slot", arguments: [-1, 1])
  func steps(years: Int) throws {
    let later = try entry(1, notBefore: Self.start + .seconds(60))
    var known = slots(of: later)
    known = slots(
      of: later, try entry(2), wall: Self.start + Self.year * years, into: known, at: Self.boot + .seconds(10)
    )
    #expect(!known.isDue(later.product, at: Self.boot + .seconds(59)))
    #expect(known.isDue(later.product, at: Self.boot + .seconds(60)))
  }

  @Test("a slot that was kept is waited for a week at most, also with a clock that is years behind")
  func behind() throws {
    let kept = try entry(1, notBefore: Self.start)
    let slots = slots(of: kept, wall: Timestamp(millisecondsSinceEpoch: 0))
    #expect(slots.next == Self.boot + ArrivalSlots.longest)
  }

  @Test("what is told anew has the slot that was told, what is postponed waits, and what is gone has none")
  func changes() throws {
    var known = slots(of: try entry(1, notBefore: Self.start + .seconds(60)))
    let corrected = try entry(1, version: "2")
    known = slots(of: corrected, into: known)
    #expect(known.isDue(corrected.product, at: Self.boot))
    known.postpone(corrected.product, until: Self.boot + .seconds(5))
    known = slots(of: corrected, into: known)
    #expect(known.next == Self.boot + .seconds(5))
    known = slots(into: known)
    #expect(known.next == nil && !known.isDue(corrected.product, at: Self.boot + .seconds(100)))
  }

  @Test("a server's date is as far ahead by the device's clock as by the server's")
  func translated() throws {
    let told = FeedResponse(
      entries: [try entry(1, notBefore: Self.start + .seconds(60)), try entry(2)], cursor: "1-1",
      isWhole: false,
      feed: FeedReference(url: "/v1/feed", token: "t", expires: Self.start))
    let epoch = Timestamp(millisecondsSinceEpoch: 0)
    let answer = told.translated(from: Self.start, to: epoch)
    #expect(answer.entries.map(\.notBefore) == [epoch + .seconds(60), nil])
    #expect(answer.cursor == told.cursor && answer.feed.expires == epoch)
  }
}
