import CoreTypes
import Testing

@testable import AgentRecords

@Suite struct ProgressEstimatorTests {
  private func instant(_ seconds: Double) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: UInt64(seconds * 1e9))
  }

  @Test("speed and time are unknown until a second was seen") func unknownAtFirst() {
    var estimator = ProgressEstimator()
    #expect(estimator.estimate(remaining: ByteCount(100), at: instant(0)) == .init(speed: 0))
    estimator.record(received: .zero, at: instant(0))
    estimator.record(received: ByteCount(500), at: instant(0.5))
    #expect(estimator.estimate(remaining: ByteCount(100), at: instant(0.5)).timeRemaining == nil)
    estimator.record(received: ByteCount(1000), at: instant(1))
    let estimate = estimator.estimate(remaining: ByteCount(500), at: instant(1))
    #expect(estimate == .init(speed: 1000, timeRemaining: 0.5))
  }

  @Test("the speed looks at the last seconds only") func window() {
    var estimator = ProgressEstimator()
    for second in 0...20 {
      let bytes = second <= 10 ? second * 100 : 1000 + (second - 10) * 1000
      estimator.record(received: ByteCount(bytes), at: instant(Double(second)))
    }
    #expect(estimator.estimate(remaining: nil, at: instant(20)).speed == 1000)
  }

  @Test("when nothing moves for long the speed is 0 and the time unknown") func stalled() {
    var estimator = ProgressEstimator()
    estimator.record(received: ByteCount(1000), at: instant(0))
    for second in 1...10 { estimator.record(received: ByteCount(1000), at: instant(Double(second))) }
    let estimate = estimator.estimate(remaining: ByteCount(5000), at: instant(10))
    #expect(estimate == .init(speed: 0, timeRemaining: nil, stall: .seconds(10)))
  }

  @Test("three seconds without a byte are a stall, of which it is known since when; the next bytes end it")
  func stall() {
    var estimator = ProgressEstimator()
    for second in 0...8 { estimator.record(received: ByteCount(second * 1000), at: instant(Double(second))) }
    #expect(estimator.estimate(remaining: ByteCount(5000), at: instant(10.9)).speed > 0)
    // Also where no sample tells that nothing came.
    #expect(
      estimator.estimate(remaining: ByteCount(5000), at: instant(11)) == .init(speed: 0, stall: .seconds(3)))
    estimator.record(received: ByteCount(8000), at: instant(11.5))
    #expect(estimator.estimate(remaining: ByteCount(5000), at: instant(12)).stall == .seconds(4))
    estimator.record(received: ByteCount(9000), at: instant(12.5))
    let after = estimator.estimate(remaining: ByteCount(5000), at: instant(12.5))
    #expect(after.stall == nil && after.speed > 0 && after.timeRemaining != nil)
    #expect(estimator.estimate(remaining: .zero, at: instant(60)).timeRemaining == 0, "nothing is to come")
  }

  @Test("a pause does not count as slowness") func pause() {
    var estimator = ProgressEstimator()
    estimator.record(received: ByteCount(1000), at: instant(0))
    estimator.reset()
    estimator.record(received: ByteCount(1000), at: instant(100))
    estimator.record(received: ByteCount(3000), at: instant(101))
    #expect(estimator.estimate(remaining: nil, at: instant(101)).speed == 2000)
  }

  @Test("a clock that stands still gives no infinite speed") func standingClock() {
    var estimator = ProgressEstimator()
    estimator.record(received: ByteCount(0), at: instant(5))
    estimator.record(received: ByteCount(9000), at: instant(5))
    #expect(estimator.estimate(remaining: ByteCount(1), at: instant(5)) == .init(speed: 0))
  }

  @Test("nothing remaining takes no time") func done() {
    var estimator = ProgressEstimator()
    estimator.record(received: .zero, at: instant(0))
    estimator.record(received: ByteCount(10), at: instant(2))
    #expect(estimator.estimate(remaining: .zero, at: instant(2)).timeRemaining == 0)
  }

  @Test(
    "the fraction is 1 exactly when every byte is verified, never more",
    arguments: [
      (0, 100, 0.0), (50, 100, 0.5), (100, 100, 1.0), (141, 100, 1.0), (5, 0, 0.0), (-3, 100, 0.0),
    ])
  func fraction(verified: Int, total: Int, expected: Double) {
    #expect(ProgressEstimator.fraction(verified: ByteCount(verified), of: ByteCount(total)) == expected)
  }

  @Test("one missing byte of 2 GiB is not everything") func almost() {
    let total = ByteCount.gibibytes(2)
    #expect(ProgressEstimator.fraction(verified: total - ByteCount(1), of: total) < 1)
    #expect(ProgressEstimator.fraction(verified: .zero, of: nil) == 0)
  }
}
