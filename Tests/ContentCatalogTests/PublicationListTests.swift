import CoreTypes
import PullboxAPI
import ServiceAPI
import Testing

@testable import ContentCatalog

@Suite("Publications and what is for sale of them")
struct PublicationListTests {
  @Test(
    "beyond the bound the identifiers that were asked for least count together: new ones have their place")
  func bound() {
    let now = Timestamp(millisecondsSinceEpoch: 1_800_000_000_000)
    let counts = InvalidProductCounts(since: now)
    counts.note("a0", .unknown, at: now)
    for number in 0..<(InvalidProductCounts.capacity + 5) { counts.note("a\(number)", .unknown, at: now) }
    counts.note("late", .unknown, at: now)
    counts.note("late", .unknown, at: now)
    counts.note(String(repeating: "x", count: 10_000), .unknown, at: now)
    let report = counts.report(near: .empty)
    #expect(report.items.count == InvalidProductCounts.reportLength)
    #expect(report.items.prefix(2).map(\.id) == ["a0", "late"])
    #expect(report.items.prefix(2).map(\.count) == [2, 2])
    #expect(report.items.reduce(report.others) { $0 + $1.count } == InvalidProductCounts.capacity + 9)
  }
}
