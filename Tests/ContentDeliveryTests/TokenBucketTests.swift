import Testing

@testable import ContentDelivery

@Suite("Token bucket")
struct TokenBucketTests {
  /// A thousand bytes a second, three thousand ahead.
  let bucket = TokenBucket(rate: 1000, burst: 3000)
  static let second: UInt64 = 1_000_000_000

  @Test("a burst passes at once, and what is beyond it waits for the rate")
  func burst() {
    let now = 100 * Self.second
    #expect(bucket.charge(3000, paidUntil: now, now: now) == .paid(until: 103 * Self.second))
    #expect(
      bucket.charge(1000, paidUntil: 103 * Self.second, now: now) == .wait(nanoseconds: Self.second))
    #expect(
      bucket.charge(1000, paidUntil: 103 * Self.second, now: 101 * Self.second)
        == .paid(until: 104 * Self.second))
  }

  @Test("time in which nothing was sent is worth no more than the burst")
  func idle() {
    let late = 1000 * Self.second
    #expect(bucket.charge(0, paidUntil: 5, now: late) == .paid(until: late))
    #expect(bucket.charge(3001, paidUntil: late, now: late) == .wait(nanoseconds: 1_000_000))
  }

  @Test("a long body pays with the time that it took")
  func longBody() {
    // Ten seconds at the rate, charged when the next body begins.
    #expect(
      bucket.charge(10_000, paidUntil: 100 * Self.second, now: 110 * Self.second)
        == .paid(until: 110 * Self.second))
  }

  @Test("there is room for the burst, less what is owed")
  func room() {
    let now = 100 * Self.second
    #expect(bucket.room(beyond: 0, paidUntil: 5, now: now) == 3000)
    #expect(bucket.room(beyond: 500, paidUntil: now, now: now) == 2500)
    #expect(bucket.room(beyond: 500, paidUntil: now + 2 * Self.second, now: now) == 500)
    #expect(bucket.room(beyond: 3000, paidUntil: now + Self.second, now: now) == -1000)
  }

  @Test(
    "a meter refuses by bytes, not by requests: small bodies cost what they carry and 512 bytes each",
    arguments: [false, true])
  func meter(isSentAtOnce: Bool) {
    let meter = RateMeter(start: 50 * Self.second)
    let bucket = TokenBucket(rate: 1 << 20, burst: 8 << 20)
    let now: UInt64 = 50 * Self.second
    for _ in 0..<1000 {
      #expect(meter.delay(by: bucket) { now } == 0)
      if isSentAtOnce {
        meter.didSendAtOnce(4096)
      } else {
        meter.didBegin()
        meter.didSend(4096)
        meter.didEnd()
      }
    }
    // 4.4 MiB of 8.
    #expect(meter.bodies == 0)
    meter.didSend(4 << 20)
    let delay = meter.delay(by: bucket) { now }
    let excess = 1000 * (4096 + 512) + (4 << 20) - (8 << 20)
    #expect(Int64(delay) / 1000 == Int64(Double(excess) / Double(1 << 20) * 1e6))
    #expect(meter.delay(by: bucket) { now + delay } == 0)
  }

  @Test("asking again while one has to wait neither shortens nor lengthens the wait")
  func askingAgain() {
    let meter = RateMeter(start: Self.second)
    let bucket = TokenBucket(rate: 1000, burst: 1000)
    meter.didSend(1000)
    #expect(meter.delay(by: bucket) { Self.second } == 0)
    meter.didSend(2000)
    for _ in 0..<3 { #expect(meter.delay(by: bucket) { Self.second } == 2 * Self.second) }
    #expect(meter.delay(by: bucket) { 2 * Self.second } == Self.second)
  }
}
