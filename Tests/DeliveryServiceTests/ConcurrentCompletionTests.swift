import Commerce
import CoreTypes
import Database
import DeliveryTesting
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import Synchronization
import Testing

@testable import DeliveryService

@Suite("Completions at the same moment", .timeLimit(.minutes(1)))
struct ConcurrentCompletionTests {
  @Test(
    "the two last ones of a transaction finish it once, whichever comes first, and whether or not bodies run twice",
    arguments: [Database.Options.Rehearsal.none, .twice, .interleaved])
  func lastTwo(rehearsal: Database.Options.Rehearsal) async throws {
    var options = TestDatabase.options
    options.rehearsal = rehearsal
    try await ServerHarness.run(database: options) { server in
      let now = server.clock.now()
      let magazine = ProductIdentifier("com.example.magazine")
      let products = ["com.example.first", "com.example.second"]
      for (index, product) in products.enumerated() {
        try await server.publish(
          [1, 2, UInt8(index)], as: product,
          description: ProductDescription(publication: magazine, publicationDate: now + .seconds(86_400)))
      }
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/com.example.monthly",
        body: ProductDescription(
          type: .autoRenewableSubscription, publication: magazine, period: BillingPeriod("P1M")),
        as: OperatorProduct.self)
      let purchase = server.purchase(of: "com.example.monthly", expires: now + .seconds(30 * 86_400))
      server.clock.advance(by: .seconds(2 * 86_400))
      let receipt = try server.store.receipt(of: [purchase], device: server.device.id)
      var grants: [GrantResponse] = []
      for product in products {
        let grant = try await server.grant(product, receipt: receipt).value
        _ = try await server.fetch(grant)
        // Written down: what is to be seen here is how the two completions meet.
        _ = try await server.status(grant)
        grants.append(grant)
      }
      let answers = try await withThrowingTaskGroup(of: CompletionResponse.self) { group in
        for grant in grants { group.addTask { try await server.complete(grant).value } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      await server.store.waitForFinished()
      #expect(server.store.state.withLock { $0.finished } == [purchase.transactionIdentifier])
      #expect(answers.contains { $0.state == .finished })
      for grant in grants { #expect(try await server.status(grant).state == .finished) }
    }
  }
}
