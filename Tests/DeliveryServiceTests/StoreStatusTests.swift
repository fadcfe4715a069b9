import CoreTypes
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Synchronization
import Testing

@testable import DeliveryService

/// `GET /v1/operator/stores`.
@Suite("How it stands with each store", .timeLimit(.minutes(2)))
struct StoreStatusTests {
  private func status(_ server: ServerHarness) async throws -> StoreStatus {
    let stores = try await server.operatorAPI.get("/v1/operator/stores", as: StoreStatuses.self).stores
    #expect(stores.count == 1)
    return try #require(stores.first)
  }

  /// Whether it happened within the minute that the test takes at most; the server's wall clock stands.
  private func isRecent(_ moment: Timestamp?, _ server: ServerHarness) -> Bool {
    guard let moment else { return false }
    return (.zero ... .seconds(60)).contains(server.clock.now() - moment)
  }

  @Test("before it was asked anything nothing is known of it; then when it answered, and when it did not")
  func contact() async throws {
    try await ServerHarness.run { server in
      try await server.publish([1, 2, 3])
      let new = try await status(server)
      #expect(new.isReachable && new.lastAnswer == nil && new.lastFailure == nil)

      _ = try await server.grantForPurchase()
      let known = try await status(server)
      #expect(isRecent(known.lastAnswer, server) && known.lastFailure == nil)

      server.store.state.withLock { $0.isDown = true }
      for number in 2...6 {
        let receipt = try server.store.receipt(
          of: [server.purchase(id: "200000000000000\(number)")], device: server.device.id)
        let problem = try await server.problem { _ = try await server.grant(receipt: receipt) }
        #expect(problem.code == .verificationUndetermined)
        let now = try await status(server)
        #expect(isRecent(now.lastFailure, server))
        #expect(try #require(now.lastAnswer) < #require(now.lastFailure))
        // Five in a row.
        #expect(now.isReachable == (number < 6) && now.questionsStopped == (number == 6))
        #expect(!now.callsStopped)
      }
    }
  }

  @Test("a call of the outbox says as much of the store as a question does")
  func calls() async throws {
    try await ServerHarness.run { server in
      try await server.publish([1, 2, 3])
      let grant = try await server.grantForPurchase()
      _ = try await server.fetch(grant)
      server.store.state.withLock { $0.isDown = true }
      #expect(try await server.complete(grant).value.state == .completed)
      let now = try await status(server)
      #expect(isRecent(now.lastFailure, server) && now.callsWaiting == 1)
      #expect(try #require(now.lastAnswer) < #require(now.lastFailure))
    }
  }
}
