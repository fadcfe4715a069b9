import CoreTypes
import Testing

@testable import AgentRecords

/// A transfer that is looked at four times a second, as the agent does, with the instant of each look.
private struct Replay {
  /// An estimate, and the seconds that truly remained at its time.
  struct Look {
    var share: Double
    var remaining: Double?
    var truth: Double
  }

  static let step = 0.25

  /// The looks at a transfer of `length` bytes whose speed, in bytes a second, goes by the seconds since its start. Pieces
  /// of `piece` bytes are verified when they are whole.
  static func run(length: Int, piece: Int = 1 << 20, speed: (Double) -> Double) -> [Look] {
    var estimator = ProgressEstimator()
    var (time, received) = (0.0, 0.0)
    var looks: [(time: Double, share: Double, remaining: Double?)] = []
    estimator.record(received: .zero, verified: .zero, at: instant(0))
    while received < Double(length) {
      received = min(Double(length), received + speed(time) * step)
      time += step
      let whole = received < Double(length) ? Int(received) / piece * piece : length
      estimator.record(received: ByteCount(Int(received)), verified: ByteCount(whole), at: instant(time))
      let estimate = estimator.estimate(remaining: ByteCount(length - whole), tail: 0, at: instant(time))
      looks.append((time, received / Double(length), estimate.timeRemaining))
    }
    return looks.map { Look(share: $0.share, remaining: $0.remaining, truth: time - $0.time) }
  }

  static func instant(_ seconds: Double) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: UInt64((seconds * 1e9).rounded()))
  }

  /// The error, as a share of what remained, that nine of ten looks around a quarter, a half and three quarters keep to.
  static func error(_ looks: [Look]) -> Double {
    let errors = looks.filter { look in [0.25, 0.5, 0.75].contains { abs(look.share - $0) <= 0.03 } }
      .compactMap { look in look.remaining.map { abs($0 - look.truth) / look.truth } }.sorted()
    return errors[errors.count * 9 / 10]
  }
}

@Suite struct ProgressEstimatorTests {
  private func instant(_ seconds: Double) -> MonotonicInstant { Replay.instant(seconds) }

  /// A thousand bytes a second from the start to `end`.
  private func steady(to end: Int) -> ProgressEstimator {
    var estimator = ProgressEstimator()
    for second in 0...end {
      let bytes = ByteCount(second * 1000)
      estimator.record(received: bytes, verified: bytes, at: instant(Double(second)))
    }
    return estimator
  }

  /// Compares but for the rounding of the sums.
  private func expect(
    _ estimate: ProgressEstimator.Estimate, speed: Double, seconds: Double,
    at location: SourceLocation = #_sourceLocation
  ) {
    #expect(abs(estimate.speed - speed) < 1e-6 * speed, sourceLocation: location)
    #expect(abs((estimate.timeRemaining ?? .infinity) - seconds) < 1e-6, sourceLocation: location)
    #expect(estimate.stall == nil, sourceLocation: location)
  }

  @Test("speed and time are unknown until a second was seen") func unknownAtFirst() {
    var estimator = ProgressEstimator()
    #expect(estimator.estimate(remaining: ByteCount(100), tail: 0, at: instant(0)) == .init(speed: 0))
    estimator.record(received: .zero, verified: .zero, at: instant(0))
    estimator.record(received: ByteCount(500), verified: ByteCount(500), at: instant(0.5))
    #expect(estimator.estimate(remaining: ByteCount(100), tail: 0, at: instant(0.5)).timeRemaining == nil)
    estimator.record(received: ByteCount(1000), verified: ByteCount(1000), at: instant(1))
    expect(estimator.estimate(remaining: ByteCount(500), tail: 0, at: instant(1)), speed: 1000, seconds: 0.5)
  }

  @Test("under a constant speed the time falls by a second each second, though pieces are verified whole")
  func monotone() {
    // At 150 KB/s a piece of 1 MiB takes seven seconds.
    let looks = Replay.run(length: 20_000_000) { _ in 150_000 }.filter { $0.remaining != nil }
    for (before, after) in zip(looks, looks.dropFirst()) {
      #expect((after.remaining ?? .infinity) <= (before.remaining ?? 0) + 1e-6)
    }
    for look in looks { #expect(abs((look.remaining ?? 0) - look.truth) <= 1 + 1e-6) }
  }

  @Test("a speed that goes up and down around a mean is foretold by the mean") func sawtooth() {
    let teeth = Replay.run(length: 120_000_000) { Int($0 / 3) % 2 == 0 ? 1e6 : 3e6 }
    #expect(Replay.error(teeth) <= 0.2)
    let slopes = Replay.run(length: 120_000_000) { 0.5e6 + 3e6 * $0.truncatingRemainder(dividingBy: 8) / 8 }
    #expect(Replay.error(slopes) <= 0.2)
  }

  @Test("a steady speed is foretold within a twentieth") func constant() {
    #expect(Replay.error(Replay.run(length: 120_000_000) { _ in 2e6 }) <= 0.05)
  }

  @Test("a speed that rises steadily is followed, and not taken for its mean") func ramp() {
    #expect(Replay.error(Replay.run(length: 120_000_000) { 0.4e6 + 0.05e6 * $0 }) <= 0.1)
  }

  @Test("a speed that has changed and stays is believed after ten seconds") func change() {
    let looks = Replay.run(length: 100_000_000) { $0 < 20 ? 3e6 : 1e6 }
    let later = looks.filter { $0.truth < 30 && $0.truth > 2 }
    #expect(!later.isEmpty && later.allSatisfy { abs(($0.remaining ?? 0) - $0.truth) <= $0.truth / 10 + 1 })
  }

  @Test("over another number of connections the speed of these alone counts, from the third second on")
  func connections() {
    var estimator = ProgressEstimator()
    var received = 0
    for quarter in 0...120 {
      let isWide = quarter > 80
      // Uneven, as connections that begin are: 3,600 and 4,400 in turns.
      received += isWide ? quarter % 8 < 4 ? 3600 : 4400 : 1000
      estimator.record(
        received: ByteCount(received), verified: ByteCount(received), connections: isWide ? 2 : 1,
        at: instant(Double(quarter) / 4))
      guard quarter >= 92 else { continue }
      let estimate = estimator.estimate(
        remaining: ByteCount(160_000), tail: 0, at: instant(Double(quarter) / 4))
      #expect(abs((estimate.timeRemaining ?? 0) - 10) < 1.5)
    }
  }

  @Test("a speed that rises steadily is followed over another number of connections")
  func connectionsOfARamp() {
    var estimator = ProgressEstimator()
    var received = 0
    for quarter in 0...200 {
      // A hundred bytes a second more with each second.
      let speed = 500 + 25 * quarter
      received += speed / 4
      estimator.record(
        received: ByteCount(received), verified: ByteCount(received), connections: quarter > 100 ? 2 : 1,
        at: instant(Double(quarter) / 4))
      guard quarter >= 100, quarter.isMultiple(of: 4) else { continue }
      // So much comes within the next 10 s.
      let remaining = ByteCount(10 * speed + 5000)
      let estimate = estimator.estimate(remaining: remaining, tail: 0, at: instant(Double(quarter) / 4))
      #expect(abs((estimate.timeRemaining ?? 0) - 10) < 1, "\(quarter)")
    }
  }

  @Test("a connection that was tried and went again leaves the estimate of before") func trial() {
    var (plain, tried) = (steady(to: 40), steady(to: 40))
    for second in 41...44 {
      // It brings nothing but an uneven speed.
      let bytes = ByteCount(second * 1000 + (second % 2) * 400)
      tried.record(received: bytes, verified: bytes, connections: 2, at: instant(Double(second)))
    }
    for second in 45...46 {
      let bytes = ByteCount(second * 1000)
      tried.record(received: bytes, verified: bytes, connections: 1, at: instant(Double(second)))
    }
    for second in 41...42 {
      let bytes = ByteCount(second * 1000)
      plain.record(received: bytes, verified: bytes, at: instant(Double(second)))
    }
    #expect(
      tried.estimate(remaining: ByteCount(50_000), tail: 0, at: instant(46))
        == plain.estimate(remaining: ByteCount(50_000), tail: 0, at: instant(42)))
  }

  @Test("when nothing moves for long the speed is 0 and the time unknown") func stalled() {
    var estimator = ProgressEstimator()
    for second in 0...10 {
      estimator.record(received: ByteCount(1000), verified: .zero, at: instant(Double(second)))
    }
    let estimate = estimator.estimate(remaining: ByteCount(5000), tail: 0, at: instant(10))
    #expect(estimate == .init(speed: 0, timeRemaining: nil, stall: .seconds(10)))
  }

  @Test("three seconds without a byte are a stall, of which it is known since when; the next bytes end it")
  func stall() {
    var estimator = steady(to: 8)
    #expect(estimator.estimate(remaining: ByteCount(5000), tail: 0, at: instant(10.9)).speed > 0)
    // Also where no sample tells that nothing came, and less than a second after the numbers before.
    #expect(
      estimator.estimate(remaining: ByteCount(5000), tail: 0, at: instant(11))
        == .init(speed: 0, stall: .seconds(3)))
    estimator.record(received: ByteCount(8000), verified: ByteCount(8000), at: instant(11.5))
    #expect(estimator.estimate(remaining: ByteCount(5000), tail: 0, at: instant(12)).stall == .seconds(4))
    estimator.record(received: ByteCount(9000), verified: ByteCount(9000), at: instant(12.5))
    let after = estimator.estimate(remaining: ByteCount(5000), tail: 0, at: instant(12.5))
    #expect(after.stall == nil && after.speed > 0 && after.timeRemaining != nil)
    #expect(
      estimator.estimate(remaining: .zero, tail: 0, at: instant(60)).timeRemaining == 0, "nothing is to come")
  }

  @Test("a silence counts as no time of the speed after it") func afterSilence() {
    var estimator = steady(to: 20)
    for second in 51...60 {
      let bytes = ByteCount(20_000 + (second - 50) * 1000)
      estimator.record(received: bytes, verified: bytes, at: instant(Double(second)))
    }
    expect(
      estimator.estimate(remaining: ByteCount(10_000), tail: 0, at: instant(60)), speed: 1000, seconds: 10)
  }

  @Test("a way with many silences is as slow as it is, however fast it was before") func gaps() {
    for fast in [0, 60] {
      var estimator = ProgressEstimator()
      var (time, bytes) = (0.0, 0)
      estimator.record(received: .zero, verified: .zero, at: instant(0))
      for _ in 0..<fast {
        (time, bytes) = (time + 1, bytes + 10_000_000)
        estimator.record(received: ByteCount(bytes), verified: ByteCount(bytes), at: instant(time))
      }
      for _ in 0..<20 {
        (time, bytes) = (time + 3.5, bytes + 70_000)
        estimator.record(received: ByteCount(bytes), verified: ByteCount(bytes), at: instant(time))
      }
      let estimate = estimator.estimate(remaining: ByteCount(2_000_000), tail: 0, at: instant(time))
      #expect(abs((estimate.timeRemaining ?? .infinity) - 100) < 20, "after \(fast) s")
    }
  }

  @Test("a speed that has fallen to a floor is not taken to fall on") func fall() {
    for seconds in [40.0, 60.0] {
      let looks = Replay.run(length: 60_000_000) { max(50_000, 1e6 - 950_000 * $0 / seconds) }
      for look in looks where look.truth > 60 {
        #expect((look.remaining ?? 0) < 5 * look.truth, "at \(look.share)")
      }
    }
  }

  @Test("since when nothing has come stays one time") func since() {
    var estimator = steady(to: 8)
    for time in [11.0, 11.4, 11.9, 12.3] {
      let estimate = estimator.estimate(remaining: ByteCount(5000), tail: 0, at: instant(time))
      #expect(estimate.stall.map { time - $0.inSeconds } == 8)
    }
  }

  @Test("a pause does not count as slowness") func pause() {
    var estimator = ProgressEstimator()
    estimator.record(received: ByteCount(1000), verified: ByteCount(1000), at: instant(0))
    estimator.reset()
    estimator.record(received: ByteCount(1000), verified: ByteCount(1000), at: instant(100))
    estimator.record(received: ByteCount(3000), verified: ByteCount(3000), at: instant(101))
    #expect(estimator.estimate(remaining: nil, tail: 0, at: instant(101)).speed == 2000)
  }

  @Test("a clock that stands still gives no infinite speed, and loses no byte") func standingClock() {
    var estimator = ProgressEstimator()
    estimator.record(received: .zero, verified: .zero, at: instant(5))
    estimator.record(received: ByteCount(9000), verified: ByteCount(9000), at: instant(5))
    #expect(estimator.estimate(remaining: ByteCount(1), tail: 0, at: instant(5)) == .init(speed: 0))
    estimator.record(received: ByteCount(10_000), verified: ByteCount(10_000), at: instant(6))
    #expect(estimator.estimate(remaining: ByteCount(1), tail: 0, at: instant(6)).speed == 10_000)
  }

  @Test("bytes of a damaged piece are no progress") func damage() {
    var estimator = ProgressEstimator()
    estimator.record(received: .zero, verified: .zero, at: instant(0))
    for second in 1...10 {
      estimator.record(
        received: ByteCount(second * 1000), verified: ByteCount(second == 10 ? 0 : 4000),
        at: instant(Double(second)))
    }
    // Half of the ten thousand were of pieces that were not whole; now nothing is verified.
    expect(
      estimator.estimate(remaining: ByteCount(20_000), tail: 0, at: instant(10)), speed: 1000, seconds: 20)
  }

  @Test("what comes behind the transfer is part of the time") func tail() {
    var estimator = steady(to: 10)
    #expect(estimator.estimate(remaining: ByteCount(5000), tail: 7, at: instant(10)).timeRemaining == 12)
    #expect(estimator.estimate(remaining: .zero, tail: 7, at: instant(11.5)).timeRemaining == 7)
  }

  @Test("numbers change once a second at most") func shown() {
    var estimator = steady(to: 10)
    let first = estimator.estimate(remaining: ByteCount(5000), tail: 0, at: instant(10))
    estimator.record(received: ByteCount(13_000), verified: ByteCount(13_000), at: instant(10.5))
    #expect(estimator.estimate(remaining: ByteCount(2000), tail: 0, at: instant(10.9)) == first)
    #expect(estimator.estimate(remaining: ByteCount(2000), tail: 0, at: instant(11)) != first)
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

@Suite struct PhaseTimesTests {
  @Test("placing takes by its length as long as it did before, and a report as long as the last ones")
  func tail() {
    var times = PhaseTimes()
    #expect(times.tail(of: .gibibytes(2)) == 0)
    times.notePlacing(of: .mebibytes(100), in: .seconds(5))
    times.noteReport(in: .seconds(1))
    #expect(abs(times.tail(of: .mebibytes(200)) - 11) < 1e-9)
    times.noteReport(in: .seconds(5))
    #expect(times.remaining(ofReportAfter: .zero) == 2, "a measurement counts for a quarter")
  }

  @Test("a small package says nothing of how long a large one takes") func small() {
    var times = PhaseTimes()
    times.notePlacing(of: .kibibytes(4), in: .seconds(1))
    #expect(times == PhaseTimes())
  }

  @Test("time remaining is never below 0, and unknown once a step takes ten seconds more than expected")
  func overdue() {
    let times = PhaseTimes(placing: 1e-6, reporting: 2)
    let length = ByteCount(10_000_000)
    #expect(times.remaining(ofPlacing: length, after: .seconds(4)) == 8)
    #expect(times.remaining(ofPlacing: length, after: .seconds(15)) == 2)
    #expect(times.remaining(ofPlacing: length, after: .seconds(20)) == nil)
    #expect(times.remaining(ofReportAfter: .seconds(11)) == 0)
    #expect(times.remaining(ofReportAfter: .seconds(12)) == nil)
    #expect(PhaseTimes().remaining(ofPlacing: length, after: .zero) == nil, "never measured")
  }

  @Test("a change of a fifth is worth a write") func differs() {
    let times = PhaseTimes(placing: 1, reporting: 1)
    #expect(!PhaseTimes(placing: 1.19, reporting: 1).differs(from: times))
    #expect(PhaseTimes(placing: 1, reporting: 0.75).differs(from: times))
    #expect(PhaseTimes(placing: 1).differs(from: times))
  }
}
