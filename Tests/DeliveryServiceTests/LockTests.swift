import Commerce
import CoreTypes
import Database
import DeliveryTesting
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import Testing

@testable import ContentGrants
@testable import ContentPublishing
@testable import DeliveryService

@Suite("What writes of a whole server lock", .timeLimit(.minutes(2)), .enabled(if: !TestDatabase.isOnServer))
struct LockTests {
  /// The writes that hold everything alone.
  private func alone(_ recorder: LockRecorder) -> Int {
    recorder.writes.count { $0.contains(.everything) }
  }

  @Test("nothing that a device, an operator or the clock brings about holds everything alone, but an import")
  func everything() async throws {
    let recorder = LockRecorder()
    try await ServerHarness.run(database: recorder.options) { server in
      try await server.publish([1, 2, 3])
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      let grant = try await server.grant(receipt: receipt).value
      #expect(try await server.fetch(grant).status == 200)
      try await server.server.recorder.record()
      _ = try await server.complete(grant)
      for step in ["revoke", "reinstate"] {
        _ = try await server.operatorAPI.call(
          "POST", "/v1/operator/grants/\(server.shortName(of: grant))/\(step)", body: ReasonBody(reason: "a"),
          as: OperatorGrant.self)
      }
      try await server.approve([4, 5, 6], "1.1")
      try await server.release("1.1", to: 10)
      try await server.step("withdraw", "1.1")
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/publications/com.example.p", body: PublicationDescription(),
        as: OperatorPublication.self)
      try await server.server.retention.run()
      _ = try await server.server.collector.run(isDryRun: false, by: "ada")
      _ = try await server.server.grants.grantStore.settleLeftovers(after: nil, limit: 10)
      #expect(recorder.writes.count > 10)
      #expect(alone(recorder) == 0)
      recorder.forget()
      let item = ProductDescription(id: ProductIdentifier("com.example.issue2"))
      _ = try await server.operatorAPI.call(
        "POST", "/v1/operator/catalog", body: CatalogImport(products: [item]), as: CatalogImportReport.self)
      #expect(alone(recorder) >= 1)
    }
  }

  @Test("a purchase that changes hands locks its own transactions alone")
  func transfer() async throws {
    let apple = try FakeAppleStore()
    let recorder = LockRecorder()
    try await ServerHarness.run(options: apple.option("claims: 'transfer'"), database: recorder.options) {
      server in
      try await server.publish([1, 2, 3])
      let device = ServerHarness.late
      for account in ["ada", "ben"] {
        recorder.forget()
        var transaction = apple.transaction("1", product: "com.example.issue1")
        transaction.appAccountToken = "ada"
        let request = GrantRequest(
          proof: Proof(store: "apple", signedTransaction: try apple.sign(transaction)),
          product: try #require(ProductIdentifier("com.example.issue1")),
          device: account == "ada" ? server.device : device, account: ApplicationAccount(account))
        _ = try await server.api.call("POST", "/v1/grants", body: request, as: GrantResponse.self)
        let locks = Set(recorder.writes.joined().filter { $0.kind == "transaction" }.map(\.name))
        #expect(locks.count == 1, "\(locks)")
        #expect(alone(recorder) == 0)
      }
    }
    await apple.stop()
  }
}
