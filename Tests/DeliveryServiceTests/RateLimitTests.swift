import Commerce
import CoreTypes
import Crypto
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import Testing

@testable import ContentDelivery
@testable import DeliveryService

@Suite("Limits of a grant and a device")
struct RateLimitTests {
  let large = [UInt8](repeating: 7, count: 24 << 20)
  private static let small = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 13 >> 2) }
  let small = Self.small

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
}
