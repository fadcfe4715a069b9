import Commerce
import CoreTypes
import Entitlements
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import Testing

@testable import DeliveryService

@Suite("What the purchase of the application owns", .timeLimit(.minutes(2)))
struct OwnedWithApplicationTests {
  private static let product = "com.example.issue1"

  private func proof(_ apple: FakeAppleStore, download: String) throws -> Proof {
    var purchase = SignedAppTransaction()
    purchase.receiptType = .sandbox
    purchase.bundleId = FakeAppleStore.bundle
    purchase.appTransactionId = download
    purchase.originalApplicationVersion = "2024.01.05"
    purchase.originalPurchaseDate = SignedDate(ServerHarness.start)
    purchase.receiptCreationDate = SignedDate(ServerHarness.start)
    return Proof(store: "apple", signedTransaction: try apple.sign(purchase))
  }

  private func grant(
    by proof: Proof, to device: Device, of server: ServerHarness
  ) async throws -> GrantResponse {
    let product = try #require(ProductIdentifier(Self.product))
    let request = GrantRequest(proof: proof, product: product, device: device)
    return try await server.api.call("POST", "/v1/grants", body: request).value
  }

  private func reasons(of proof: Proof, _ server: ServerHarness) async throws -> [String] {
    let request = EntitlementsRequest(proof: proof, device: server.device)
    let answer: EntitlementsResponse = try await server.api.call("POST", "/v1/entitlements", body: request)
      .value
    return answer.products.map(\.because)
  }

  @Test(
    "what was granted by a product's condition stays its owners' when the condition goes, and no one else's")
  func conditionGoes() async throws {
    let apple = try FakeAppleStore()
    try await ServerHarness.run(options: apple.option()) { server in
      let below = OwnershipCondition.originalVersionBelow(try #require(ApplicationVersion("2024.02")))
      try await server.publish([1, 2, 3], as: Self.product, description: ProductDescription(ownedIf: below))
      let owner = try proof(apple, download: "77")
      _ = try await grant(by: owner, to: server.device, of: server)
      #expect(try await reasons(of: owner, server) == ["owned-with-application"])
      let query = [("product", Self.product), ("transaction", "application-77")]
      let known: ExplanationResponse = try await server.operatorAPI.get("/v1/operator/explain", query: query)
      #expect(known.because.map(\.rule).contains(.ownedWithApplication))

      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/\(Self.product)", body: ProductDescription(), as: OperatorProduct.self)
      #expect(try await reasons(of: owner, server) == ["granted-before"])
      let second = Device(id: try #require(DeviceIdentifier("second-device")))
      _ = try await grant(by: owner, to: second, of: server)
      let explained: ExplanationResponse = try await server.operatorAPI.get(
        "/v1/operator/explain", query: query)
      #expect(explained.allowed && explained.because.map(\.rule) == [.grantedBefore])

      let late = try proof(apple, download: "78")
      let refused = try await server.problem { _ = try await grant(by: late, to: second, of: server) }
      #expect(refused.code == .purchaseRequired && refused.status == 402)
    }
    await apple.stop()
  }
}
