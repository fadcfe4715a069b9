import Commerce
import ContentPackage
import CoreTypes
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceRuntime
import Testing

@testable import AgentRecords
@testable import DownloadAgent

@Suite("What a service wants not to be asked") struct ServiceWishesTests {
  private let now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
  private var wishes = ServiceWishes(longest: .seconds(86_400))

  @Test(
    "what it tells one request counts for all of its kind until its time is over, and for no others",
    arguments: [
      Problem(.tooManyRequests, retryAfterSeconds: 60), Problem(.unavailable, retryAfterSeconds: 60),
    ])
  func kinds(problem: Problem) {
    var wishes = wishes
    wishes.note(.problem(problem), to: "POST /v1/grants", at: now)
    let later = now + .seconds(20)
    guard case .problem(let told) = wishes.refusal(of: "POST /v1/grants", at: later) else {
      Issue.record("it is asked all the same")
      return
    }
    #expect(told.code == problem.code && told.retryAfterSeconds == 40)
    #expect(wishes.refusal(of: "POST /v1/entitlements", at: later) == nil)
    #expect(wishes.refusal(of: "POST /v1/grants", at: now + .seconds(60)) == nil)
    #expect(wishes.refusal(of: "POST /v1/grants", at: later) == nil)
  }

  @Test(
    "what it says of one purchase, and what names no time, is that request's alone",
    arguments: [
      Problem(.verificationUndetermined, retryAfterSeconds: 60), Problem(.unavailable),
      Problem(.purchaseRequired, retryAfterSeconds: 60), Problem(.contentDamaged, retryAfterSeconds: 60),
    ])
  func others(problem: Problem) {
    var wishes = wishes
    wishes.note(.problem(problem), to: "POST /v1/grants", at: now)
    #expect(wishes.refusal(of: "POST /v1/grants", at: now) == nil)
  }

  @Test("of twenty purchases those that are under way ask, and no other, until the server's time is over")
  func purchases() async throws {
    let packages = try (1...20).map {
      try FixturePackage.file(length: 1000, product: "com.example.p\($0)", seed: UInt64($0))
    }
    let server = FakeServer(packages)
    server.change { $0.refusals["POST /v1/grants"] = [Problem(.unavailable, retryAfterSeconds: 600)] }
    let harness = try AgentHarness()
    try await server.open { url in
      for number in 1...20 {
        try server.queuePurchase("com.example.p\(number)", transaction: "\(2_000_000_000_000_000 + number)")
      }
      try await harness.run(server: url, maximumDownloads: 3, retry: RetryPolicy(backoff: .init())) { agent in
        let observer = try #require(agent.hub.subscribe())
        defer { agent.hub.unsubscribe(observer) }
        var waiting: Set<DownloadIdentifier> = []
        while waiting.count < 20 {
          waiting.insert(
            try await observer.firstValue { event -> DownloadIdentifier? in
              guard case .download(let status) = event, status.reason == "server-unavailable",
                status.notBefore != nil
              else { return nil }
              return status.id
            })
        }
      }
    }
    #expect((1...3).contains(server.state.current.asked.count { $0 == "POST /v1/grants" }))
  }
}
