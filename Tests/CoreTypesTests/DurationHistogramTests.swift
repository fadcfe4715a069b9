import CoreTypes
import Testing

@Suite("Duration histogram")
struct DurationHistogramTests {
  @Test("a duration counts at the first bound that is not below it, and its length in the sum")
  func buckets() {
    var histogram = DurationHistogram()
    #expect(DurationHistogram.bounds.count == 10)
    for duration: Duration in [.zero, .nanoseconds(65_536), .nanoseconds(65_537), .seconds(-1), .seconds(20)]
    {
      histogram.add(duration)
    }
    #expect(histogram.counts == [3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1])
    #expect(histogram.total == 5)
    #expect(histogram.sum == 20_000_131_073)
  }
}
