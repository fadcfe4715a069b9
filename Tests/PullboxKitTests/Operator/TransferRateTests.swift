import CoreTypes
import PullboxKit
import PullboxOperatorKit
import Testing

@Suite("Speed and time remaining")
struct TransferRateTests {
  private func rate(_ samples: [(milliseconds: UInt64, bytes: Int)]) -> TransferRate {
    var rate = TransferRate()
    for sample in samples {
      rate.add(ByteCount(sample.bytes), at: MonotonicInstant(nanoseconds: sample.milliseconds * 1_000_000))
    }
    return rate
  }

  @Test("nothing is said of the first moments")
  func first() {
    #expect(rate([]).speed == nil)
    #expect(rate([(0, 0), (499, 1000)]).speed == nil)
    #expect(rate([(0, 0), (500, 1000)]).speed == ByteCount(2000))
  }

  @Test("only the last seconds count")
  func window() {
    let rate = rate([(0, 0), (1000, 100_000), (6000, 100_500), (7000, 100_600)])
    #expect(rate.speed == ByteCount(100))
    #expect(rate.timeRemaining(to: ByteCount(100_800)) == .seconds(2))
  }

  @Test("while nothing moves the time remaining is unknown")
  func still() {
    #expect(rate([(0, 500), (1000, 500)]).timeRemaining(to: ByteCount(1000)) == nil)
  }

  @Test("a step back, after a broken connection, starts the measuring again")
  func stepBack() {
    #expect(rate([(0, 0), (1000, 1000), (2000, 500)]).speed == nil)
    #expect(rate([(0, 0), (1000, 1000), (2000, 500), (3000, 600)]).speed == ByteCount(100))
  }
}
