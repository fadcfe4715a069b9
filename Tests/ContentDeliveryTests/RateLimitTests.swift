import Crypto
import PullboxAPI
import ServiceAPI
import Testing

@testable import ContentDelivery

@Suite("Limits of a grant and a device")
struct RateLimitTests {
  @Test("a product gets the rate class that names it; a class that is not configured has the standard limits")
  func classes() throws {
    let tickets = RateClasses(
      standard: RateLimits(bodiesPerGrant: 4, bodiesPerDevice: 8),
      named: [
        RateClasses.Named(
          number: 3, products: ["com.example.free.*", "com.example.sample"],
          limits: RateLimits(bodiesPerGrant: 1, bodiesPerDevice: 1))
      ])
    #expect(tickets.number(for: "com.example.free.issue1") == 3)
    #expect(tickets.number(for: "com.example.sample") == 3)
    #expect(tickets.number(for: "com.example.sample2") == 0)
    #expect(tickets.limits(of: 3).bodiesPerGrant == 1)
    #expect(tickets.limits(of: 0).bodiesPerGrant == 4)
    #expect(tickets.limits(of: 9).bodiesPerGrant == 4)
  }

  @Test("a paced body gets the share that the other bodies leave it")
  func pacing() {
    let limits = RateLimits(
      bodiesPerGrant: 9, bodiesPerDevice: 9, grant: TokenBucket(rate: 4 << 20, burst: 1 << 20),
      device: TokenBucket(rate: 6 << 20, burst: 1 << 20))
    let device = DeviceMeter(start: 0)
    let first = GrantMeter(
      handle: .init(high: 0, low: 1), content: .of([]), device: device, deviceTag: 0, start: 0)
    let second = GrantMeter(
      handle: .init(high: 0, low: 2), content: .of([]), device: device, deviceTag: 0, start: 0)
    func pace(_ meter: GrantMeter, _ limits: RateLimits, _ length: Int64 = 2 << 20) -> UInt64? {
      meter.pace(under: limits, length: length) { 0 }
    }
    #expect(pace(first, limits) == 4 << 20)
    #expect(pace(first, limits, (1 << 20) - 1024) == nil)
    first.didBegin()
    #expect(pace(first, limits) == 2 << 20)
    #expect(pace(second, limits) == 3 << 20)
    first.didEnd()
    #expect(pace(second, limits) == 4 << 20)
    #expect(pace(first, .none) == nil)
    let fast = RateLimits(
      bodiesPerGrant: 9, bodiesPerDevice: 9, grant: TokenBucket(rate: 1 << 40, burst: 1 << 40))
    #expect(pace(first, fast, 1 << 41) == nil)
  }

  @Test("the shares of the bodies that run are the rate together, however many begin and end")
  func shares() {
    let rate: Int64 = 8 << 20
    let limits = RateLimits(
      bodiesPerGrant: 64, bodiesPerDevice: 64, grant: TokenBucket(rate: rate, burst: 1 << 20),
      device: TokenBucket(rate: 2 * rate, burst: 1 << 20))
    let device = DeviceMeter(start: 0)
    let meters = (0..<3).map { number in
      GrantMeter(
        handle: .init(high: 0, low: UInt64(number)), content: .of([]), device: device, deviceTag: 0, start: 0)
    }
    #expect(meters[0].pace == nil)
    for count in 1...5 as ClosedRange<Int64> {
      #expect(meters[0].pace(under: limits, length: 1 << 30) { 0 } == UInt64(rate / count))
      meters[0].didBegin()
      #expect(meters[0].pace == UInt64(rate / count))
    }
    // The device's rate is for all of its grants.
    for meter in meters.dropFirst() {
      _ = meter.pace(under: limits, length: 1 << 30) { 0 }
      for _ in 0..<5 { meter.didBegin() }
    }
    #expect(meters[0].pace == UInt64(2 * rate / 15))
    for meter in meters { for _ in 0..<4 { meter.didEnd() } }
    #expect(meters[0].pace == UInt64(2 * rate / 3))
    for meter in meters.dropFirst() { meter.didEnd() }
    #expect(meters[0].pace == UInt64(rate))
    _ = meters[0].pace(under: .none, length: 1 << 30) { 0 }
    #expect(meters[0].pace == nil)
  }
}
