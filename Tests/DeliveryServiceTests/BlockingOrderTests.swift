import Crypto
import Database
import DeliveryTesting
import PullboxAPI
import PullboxAPIClient
import ServiceAPI
import Testing

@testable import ContentDelivery
@testable import ContentPublishing
@testable import DeliveryRecords
@testable import DeliveryService

@Suite("Steps on versions with the same package at the same moment", .timeLimit(.minutes(1)))
struct BlockingOrderTests {
  @Test("leave the memory of what is blocked as the database has it") func sameDigest() async throws {
    try await ServerHarness.run { server in
      let bytes: [UInt8] = [1, 2, 3]
      let digest = SHA256Digest.of(bytes)
      let products = (0..<12).map { "com.example.issue\($0)" }
      try await server.publish(bytes, as: products[0])
      for product in products.dropFirst() {
        _ = try await server.operatorAPI.call(
          "PUT", "/v1/operator/products/\(product)", body: ProductDescription(), as: OperatorProduct.self)
        try await server.approve(bytes, "1.0", of: product)
      }
      for (product, next) in zip(products, products.dropFirst()) {
        await withTaskGroup { group in
          // Refused where the next one is released already.
          group.addTask {
            _ = try? await server.step(
              "withdraw", "1.0", of: product, WithdrawalRequest(reason: "a test", stopDownloads: true))
          }
          group.addTask { _ = try? await server.release("1.0", of: next) }
        }
        let blocked = try await server.server.collector.database.read { try BlockedContentTable.all(in: $0) }
        func isBlocked() -> Bool { server.server.revocations.reason(for: digest) == .contentWithdrawn }
        // PostgreSQL lets two writes commit side by side, so that their effects may come in the other order: what a server has changed itself
        // it looks at again.
        while TestDatabase.isOnServer, isBlocked() != blocked.contains(digest) { await Task.yield() }
        #expect(isBlocked() == blocked.contains(digest))
        #expect(!blocked.contains(digest))
      }
    }
  }
}
