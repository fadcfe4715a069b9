import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import Testing

@testable import DeliveryService

/// docs/catalogue.md, "Product types".
@Suite("The table of product types, at the server")
struct ProductTypeTests {
  private static let day: Duration = .seconds(86_400)
  private static let tablet = DeviceIdentifier("tablet")

  /// The product that is bought, and the content that it opens.
  private struct Goods {
    var product: String
    var content: String
  }

  /// A product of the cell's type, and an issue beside it that every receipt shows.
  private func offer(_ cell: ProductTypeTable.Cell, on server: ServerHarness) async throws -> Goods {
    let type = try #require(ProductType(rawValue: cell.type))
    let package = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 3) }
    try await server.publish(package)
    guard type.isSubscription else {
      try await server.publish(
        package + [1], as: "com.example.thing", description: ProductDescription(type: type))
      return Goods(product: "com.example.thing", content: "com.example.thing")
    }
    let magazine = try #require(ProductIdentifier("com.example.heroes"))
    try await server.publish(
      package + [2], as: "com.example.heroes.1",
      description: ProductDescription(
        publication: magazine, publicationDate: server.clock.now() - Self.day))
    _ = try await server.operatorAPI.call(
      "PUT", "/v1/operator/products/com.example.heroes.plan",
      body: ProductDescription(
        type: type, publication: magazine, period: type == .freeSubscription ? nil : BillingPeriod("P1M"),
        onSale: true), as: OperatorProduct.self)
    return Goods(product: "com.example.heroes.plan", content: "com.example.heroes.1")
  }

  private func purchase(
    _ goods: Goods, id: String = "1", _ cell: ProductTypeTable.Cell, on server: ServerHarness
  ) -> InAppPurchase {
    let renews = cell.type == ProductType.autoRenewableSubscription.rawValue
    return server.purchase(
      of: goods.product, id: id, expires: renews ? server.clock.now() + Self.day * 30 : nil)
  }

  /// The contents that a receipt of these purchases owns, each once.
  private func owned(
    by purchases: [InAppPurchase], of device: Device? = nil, on server: ServerHarness
  ) async throws -> Set<String> {
    let device = device ?? server.device
    let receipt = try server.store.receipt(of: purchases, device: device.id)
    let answer = try await server.api.call(
      "POST", "/v1/entitlements",
      body: EntitlementsRequest(proof: Proof(store: "sandbox", receipt: receipt), device: device),
      as: EntitlementsResponse.self)
    return Set(answer.value.products.map(\.product.description))
  }

  private func explain(_ product: String, on server: ServerHarness) async throws -> ExplanationResponse {
    try await server.operatorAPI.get(
      "/v1/operator/explain", query: [("product", product), ("transaction", "1")],
      as: ExplanationResponse.self)
  }

  @Test("a purchase that is repeated counts as its type says", arguments: ProductTypeTable.cells(.bought))
  func bought(cell: ProductTypeTable.Cell) async throws {
    try await ServerHarness.run { server in
      let goods = try await offer(cell, on: server)
      let start = Timestamp(millisecondsSinceEpoch: server.clock.now().secondsSinceEpoch * 1000)
      let first = purchase(goods, cell, on: server)
      var second = purchase(goods, id: "2", cell, on: server)
      switch cell.word {
      case .once:
        second.originalTransactionIdentifier = "1"
        #expect(try await owned(by: [first, second], on: server) == [goods.content])
        let explained = try await explain(goods.product, on: server)
        #expect(explained.allowed && explained.until == nil)
      case .manyTimes where goods.product == goods.content:
        // Each payment is delivered for itself.
        let receipt = try server.store.receipt(of: [first, second], device: server.device.id)
        let grants = [
          try await server.grant(goods.content, receipt: receipt, transaction: "1"),
          try await server.grant(goods.content, receipt: receipt, transaction: "2"),
        ]
        #expect(grants.map(\.status) == [201, 201])
        #expect(grants[0].value.grant != grants[1].value.grant)
        #expect(try await server.grant(goods.content, receipt: receipt, transaction: "1").status == 200)
      case .manyTimes:
        // Each payment is a period of its own, end to end.
        _ = try await owned(by: [first, second], on: server)
        let end = BillingPeriod("P1M").flatMap { start.adding($0)?.adding($0) }
        #expect(try await explain(goods.product, on: server).until == end)
      case .onceAtATime:
        // The next period begins where the first ends.
        second.purchaseDate = try #require(first.expiresDate)
        second.originalTransactionIdentifier = "1"
        second.expiresDate = second.purchaseDate + Self.day * 30
        _ = try await owned(by: [first], on: server)
        #expect(try await explain(goods.product, on: server).until == first.expiresDate)
        server.clock.advance(by: Self.day * 31)
        _ = try await owned(by: [first, second], on: server)
        #expect(try await explain(goods.product, on: server).until == second.expiresDate)
      default: Issue.record("\(cell)")
      }
    }
  }

  @Test(
    "what a receipt has only once is delivered, or kept in the ledger",
    arguments: ProductTypeTable.cells(.inReceipt))
  func inReceipt(cell: ProductTypeTable.Cell) async throws {
    try await ServerHarness.run { server in
      let goods = try await offer(cell, on: server)
      let bought = purchase(goods, cell, on: server)
      let anchor = server.purchase()
      let receipt = try server.store.receipt(of: [anchor, bought], device: server.device.id)
      let grant = try await server.grant(goods.content, receipt: receipt).value
      #expect(try await server.fetch(grant).status == 200)
      let later = cell.word == .always ? [anchor, bought] : [anchor]
      let isConsumed = cell.type == ProductType.consumable.rawValue
      #expect(try await owned(by: later, on: server).contains(goods.content) == !isConsumed)
      // Content that was granted is the device's, whatever its receipts show.
      #expect(try await server.fetch(grant).status == 200)
    }
  }

  /// The purchases in a receipt of another device, after the first one was served.
  private func shown(
    to cell: ProductTypeTable.Cell, _ anchor: InAppPurchase, _ bought: InAppPurchase
  ) -> [InAppPurchase] { cell.word == .yes ? [anchor, bought] : [anchor] }

  @Test(
    "another device of the customer is granted what its type lets it",
    arguments: ProductTypeTable.cells(.onAllDevices))
  func onAllDevices(cell: ProductTypeTable.Cell) async throws {
    try await ServerHarness.run { server in
      let goods = try await offer(cell, on: server)
      let (anchor, bought) = (server.purchase(), purchase(goods, cell, on: server))
      #expect(try await owned(by: [anchor, bought], on: server).contains(goods.content))
      let tablet = Device(id: try #require(Self.tablet))
      let receipt = try server.store.receipt(of: shown(to: cell, anchor, bought), device: tablet.id)
      if cell.word == .no {
        let refusal = try await server.problem {
          _ = try await server.grant(goods.content, receipt: receipt, device: tablet)
        }
        #expect(refusal.code == .purchaseRequired)
      } else {
        let grant = try await server.grant(goods.content, receipt: receipt, device: tablet)
        #expect(grant.status == 201)
        #expect(try await server.fetch(grant.value).status == 200)
      }
    }
  }

  @Test("the content of a consumable is delivered to one device for each purchase, whichever show it")
  func deliveredOnce() async throws {
    try await ServerHarness.run { server in
      let cell = try #require(
        ProductTypeTable.cells(.onAllDevices).first { $0.type == ProductType.consumable.rawValue })
      let goods = try await offer(cell, on: server)
      let bought = purchase(goods, cell, on: server)
      let receipt = try server.store.receipt(of: [bought], device: server.device.id)
      let grant = try await server.grant(goods.content, receipt: receipt).value
      let tablet = Device(id: try #require(Self.tablet))
      let same = try server.store.receipt(of: [bought], device: tablet.id)
      for transaction in [nil, "1"] {
        let refusal = try await server.problem {
          _ = try await server.grant(goods.content, receipt: same, device: tablet, transaction: transaction)
        }
        #expect(refusal.code == .purchaseRequired)
      }
      #expect(try await owned(by: [bought], of: tablet, on: server).isEmpty)
      #expect(try await owned(by: [bought], on: server) == [goods.content])
      #expect(try await server.grant(goods.content, receipt: receipt).status == 200)
      // Another purchase is another delivery.
      let second = try server.store.receipt(
        of: [bought, purchase(goods, id: "2", cell, on: server)], device: tablet.id)
      let other = try await server.grant(goods.content, receipt: second, device: tablet)
      #expect(other.status == 201 && other.value.transaction.description == "2")
      // Where the first device lost it, an operator lets another have it.
      _ = try await server.operatorAPI.call(
        "POST", "/v1/operator/grants/\(server.shortName(of: grant))/revoke",
        body: ReasonBody(reason: "the device was lost"), as: OperatorGrant.self)
      let new = Device(id: try #require(DeviceIdentifier("new")))
      let replaced = try await server.grant(
        goods.content, receipt: try server.store.receipt(of: [bought], device: new.id), device: new,
        transaction: "1")
      #expect(replaced.status == 201)
    }
  }

  @Test("the type of a product that was bought stays, and its owners keep what it opened")
  func typeChange() async throws {
    try await ServerHarness.run { server in
      let cell = try #require(
        ProductTypeTable.cells(.onAllDevices).first {
          $0.type == ProductType.autoRenewableSubscription.rawValue
        })
      let goods = try await offer(cell, on: server)
      func put(_ type: ProductType, _ product: String) async throws {
        _ = try await server.operatorAPI.call(
          "PUT", "/v1/operator/products/\(product)",
          body: ProductDescription(
            type: type, publication: ProductIdentifier("com.example.heroes"),
            period: type.isSubscription ? BillingPeriod("P1M") : nil, onSale: true), as: OperatorProduct.self)
      }
      try await put(.nonRenewingSubscription, goods.product)
      try await put(.autoRenewableSubscription, goods.product)
      let bought = purchase(goods, cell, on: server)
      #expect(try await owned(by: [bought], on: server) == [goods.content])
      for type in [ProductType.nonRenewingSubscription, .nonConsumable] {
        let refusal = try await server.problem { try await put(type, goods.product) }
        #expect(refusal.code == .stateConflict)
      }
      let refusal = try await server.problem {
        _ = try await server.operatorAPI.call(
          "POST", "/v1/operator/catalog",
          body: CatalogImport(products: [
            ProductDescription(id: ProductIdentifier("com.example.new")),
            ProductDescription(id: ProductIdentifier(goods.product), type: .nonConsumable),
          ]), as: CatalogImportReport.self)
      }
      #expect(refusal.code == .catalogInvalid && refusal.faults?.map(\.path) == ["products.1.id"])
      #expect(try await owned(by: [bought], on: server) == [goods.content])
    }
  }

  @Test(
    "the plan of a restore on another device has what its type lets it",
    arguments: ProductTypeTable.cells(.restored))
  func restored(cell: ProductTypeTable.Cell) async throws {
    try await ServerHarness.run { server in
      let goods = try await offer(cell, on: server)
      let (anchor, bought) = (server.purchase(), purchase(goods, cell, on: server))
      _ = try await owned(by: [anchor, bought], on: server)
      let tablet = Device(id: try #require(Self.tablet))
      let plan = try await owned(by: shown(to: cell, anchor, bought), of: tablet, on: server)
      #expect(plan == (cell.word == .no ? ["com.example.issue1"] : ["com.example.issue1", goods.content]))
    }
  }
}
