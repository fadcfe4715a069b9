import AgentTesting
import CoreTypes
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import Testing

@testable import AgentRecords
@testable import DownloadAgent

@Suite("What a service wants not to be asked") struct ServiceWishesTests {
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
