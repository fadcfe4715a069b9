import Commerce
import CoreTypes
import DeliveryTesting
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import DeliveryService

/// docs/running.md, "Two operators": the ways of a product off sale.
extension ApprovalTests {
  private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1, 2, 3]
  private static let other = ApplicationIdentifier("com.example.other")

  @Test(
    "no description, no import and no removal by one key takes a product off sale, with reviews and without",
    arguments: [[], ["--require-product-review"]])
  func offSaleByDescription(_ more: [String]) async throws {
    try await run(Self.options + more) { server in
      let ada = server.operatorAPI(with: Self.key("ada"))
      try await clear(server)
      let now = server.clock.now()
      let descriptions = [
        ProductDescription(onSale: false), ProductDescription(application: Self.other),
        ProductDescription(onSale: false, application: Self.other), ProductDescription(availableUntil: now),
        ProductDescription(availableUntil: now + .seconds(2 * 86_400)),
        ProductDescription(availableFrom: now + .seconds(1)),
      ]
      for description in descriptions {
        let put = try await server.problem {
          _ = try await ada.call("PUT", Self.product, body: description, as: OperatorProduct.self)
        }
        #expect(put.code == .secondOperatorRequired)
        var item = description
        item.id = ProductIdentifier(Self.issue)
        let imported = try await server.problem {
          _ = try await ada.call(
            "POST", "/v1/operator/catalog", body: CatalogImport(products: [item]),
            as: CatalogImportReport.self)
        }
        #expect(imported.faults?.map(\.path) == ["products.0.id"])
        #expect(try await server.listing() != nil)
      }
      // What leaves it for sale, and an end that all can see for a while.
      for description in [
        ProductDescription(), ProductDescription(availableUntil: now + .seconds(30 * 86_400)),
      ] {
        let put = try await ada.call("PUT", Self.product, body: description, as: OperatorProduct.self).value
        #expect(put.sale == .cleared)
      }
    }
  }

  @Test("a product that is cleared for sale is not removed by one key, and one that is not is")
  func removal() async throws {
    try await run { server in
      let ada = server.operatorAPI(with: Self.key("ada"))
      let path = "/v1/operator/products/com.example.empty"
      _ = try await ada.call("PUT", path, body: ProductDescription(onSale: true), as: OperatorProduct.self)
      let refused = try await server.problem { _ = try await ada.exchange("DELETE", path) }
      #expect(refused.code == .secondOperatorRequired)
      let number = try #require(try await ask(path + "/withdraw", server).approval)
      #expect(try await decide(number, "approve", server).state == .done)
      _ = try await ada.exchange("DELETE", path)
      let gone = try await server.problem { _ = try await ada.exchange("GET", path) }
      #expect(gone.code == .productUnknown)
    }
  }

  /// Clears the product for sale where a review asks for that.
  private func clear(_ server: ServerHarness) async throws {
    let ada = server.operatorAPI(with: Self.key("ada"))
    let product: OperatorProduct = try await ada.get(Self.product)
    guard product.sale != .cleared else { return }
    _ = try await ada.exchange("PUT", Self.product + "/screenshot", bytes: Self.png)
    _ = try await ada.call("POST", Self.product + "/submit", body: EmptyBody(), as: OperatorProduct.self)
    _ = try await server.operatorAPI(with: Self.key("bob")).call(
      "POST", Self.product + "/approve", body: EmptyBody(), as: OperatorProduct.self)
  }
}
