import PullboxAPI
import ServiceAPI
import Testing

@testable import DeliveryModel

@Suite("Reports of sales")
struct SalesReportTests {
  @Test("a renewal that begins as the period before ends changes nothing of what is active")
  func tally() {
    var tally = SalesTally(days: 10..<13, dimensions: [.day])
    let group = SalesCount.Group()
    tally.add(SalesCount(event: .runningBefore, day: 0, group: group, count: 5))
    tally.add(SalesCount(event: .periodEnded, day: 11, group: group, count: 5))
    tally.add(SalesCount(event: .periodBegan, day: 11, group: group, count: 4))
    tally.add(SalesCount(event: .sold, day: 99, group: group, count: 4))
    #expect(tally.rows(atMost: 3)?.map(\.active) == [5, 4, 4])
    #expect(tally.rows(atMost: 2) == nil)
  }
}
