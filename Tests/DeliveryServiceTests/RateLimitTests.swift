import Commerce
import CoreTypes
import Crypto
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceRuntime
import Testing

@testable import ContentDelivery
@testable import DeliveryService

@Suite("Limits of a grant and a device")
struct RateLimitTests {
  let large = [UInt8](repeating: 7, count: 24 << 20)
  let small = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 13 >> 2) }

  private func code(_ response: ClientResponse) throws -> ProblemCode? {
    try APIJSON.decode(Problem.self, from: response.body).code
  }

  @Test(
    "a body beyond the grant's number is 429 with Retry-After; another grant is served, and so are other requests"
  )
  func bodies() async throws {
    try await ServerHarness.run(options: ["--bodies-per-grant", "1"]) { server in
      try await server.publish(large)
      let grant = try await server.grantForPurchase()
      let reader = try await server.slowReader(of: grant)
      for _ in 0..<2 {
        let refused = try await server.fetch(grant, headers: [("Range", "bytes=0-9")])
        #expect(refused.status == 429)
        #expect(["1", "2"].contains(refused.headers["Retry-After"]))
        #expect(try code(refused) == .tooManyRequests)
      }
      let unconditional = [("If-None-Match", "\"\(grant.download.digest)\"")]
      #expect(try await server.fetch(grant, headers: unconditional).status == 304)
      let other = try await server.grantForPurchase(
        device: Device(id: try #require(DeviceIdentifier("another-device"))))
      #expect(try await server.fetch(other, headers: [("Range", "bytes=0-9")]).status == 206)
      _ = try await reader.receive(exactly: large.count - 1000)
      #expect(try await server.fetch(grant, headers: [("Range", "bytes=0-9")]).status == 206)
    }
  }

  @Test("the limit of a device counts over all its grants")
  func device() async throws {
    try await ServerHarness.run(options: ["--bodies-per-device", "1"]) { server in
      try await server.publish(large)
      let first = try await server.grantForPurchase()
      let second = try await server.grant(
        receipt: try server.store.receipt(
          of: [server.purchase(id: "2000000000000002")], device: server.device.id)
      ).value
      #expect(first.grant != second.grant)
      let reader = try await server.slowReader(of: first)
      #expect(try await server.fetch(second, headers: [("Range", "bytes=0-9")]).status == 429)
      _ = try await reader.receive(exactly: large.count - 1000)
      #expect(try await server.fetch(second, headers: [("Range", "bytes=0-9")]).status == 206)
    }
  }

  @Test("bytes beyond rate and burst wait, as long as Retry-After says")
  func rate() async throws {
    let timer = ManualMonotonicClock()
    let options = ["--rate-per-grant", "64KiB", "--burst", "64KiB"]
    try await ServerHarness.run(options: options, timer: timer) { server in
      try await server.publish(small)
      let grant = try await server.grantForPurchase()
      func status() async throws -> Int {
        try await server.fetch(grant, headers: [("Range", "bytes=0-8191")]).status
      }
      // Eight of them and what they cost beside their bytes pass 64 KiB.
      for _ in 0..<8 { #expect(try await status() == 206) }
      let refused = try await server.fetch(grant)
      #expect(refused.status == 429)
      #expect(["1", "2"].contains(refused.headers["Retry-After"]))
      timer.advance(by: .seconds(1))
      #expect(try await status() == 206)
    }
  }

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

  @Test(
    "rates and bytes are read as people write them",
    arguments: [
      ("1024", 1024), ("64KiB", 65_536), ("1.5 MiB", 1_572_864), ("2GiB", 2_147_483_648),
      ("10MB", 10_000_000),
    ] as [(String, Int64)])
  func byteCounts(text: String, expected: Int64) {
    #expect(ConfigurationSize(text)?.bytes.rawValue == expected)
  }

  @Test(
    "a text that is no number of bytes is refused",
    arguments: ["", "MiB", "-1", "1.2.3", "5 stones", "1e99GiB"])
  func noByteCounts(text: String) {
    #expect(ConfigurationSize(text) == nil)
  }
}
