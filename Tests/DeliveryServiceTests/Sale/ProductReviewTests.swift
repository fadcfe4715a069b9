import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import DeliveryRecords
@testable import DeliveryService

@Suite("The review of products")
struct ProductReviewTests {
  private static let package = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
  private static let issue = "com.example.issue1"
  private static let monthly = "com.example.monthly"
  private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1, 2, 3]

  private static func path(_ product: String, _ step: String) -> String {
    "/v1/operator/products/\(product)/\(step)"
  }

  @discardableResult
  private func put(
    _ server: ServerHarness, _ product: String, _ description: ProductDescription
  ) async throws -> OperatorProduct {
    try await server.operatorAPI.call("PUT", "/v1/operator/products/\(product)", body: description).value
  }

  @discardableResult
  private func step(_ step: String, _ product: String, _ server: ServerHarness) async throws
    -> OperatorProduct
  {
    try await server.operatorAPI.call("POST", Self.path(product, step), body: EmptyBody()).value
  }

  private func screenshot(_ bytes: [UInt8], of product: String, _ server: ServerHarness) async throws {
    _ = try await server.operatorAPI.exchange("PUT", Self.path(product, "screenshot"), bytes: bytes)
  }

  private func problem(_ body: () async throws -> Void) async throws -> Problem {
    do {
      try await body()
    } catch {
      guard case APICallError.problem(let problem) = error else { throw error }
      return problem
    }
    Issue.record("it was taken")
    return Problem(.requestMalformed)
  }

  private func price(_ amount: String = "2.99") throws -> [String: Price] {
    ["FRA": try #require(Price(amount: amount, currency: "EUR"))]
  }

  private func subscription() throws -> ProductDescription {
    ProductDescription(
      type: .autoRenewableSubscription,
      localizations: [
        "en-US": .init(title: "Monthly", description: ""), "fr-FR": .init(title: "Mensuel", description: ""),
      ], prices: try price(), publication: ProductIdentifier("com.example.magazine"), period: .month)
  }

  @Test("where reviews are asked for, a product is for sale from its approval on, and not before")
  func required() async throws {
    try await ServerHarness.run(options: ["--require-product-review"]) { server in
      try await server.publish(Self.package)
      #expect(try await put(server, Self.issue, ProductDescription()).sale == .draft)
      #expect(try await server.listing() == nil)
      #expect(try await server.productsForSale() == [])
      #expect(
        try await problem { try await put(server, Self.issue, ProductDescription(onSale: true)) }.code
          == .stateConflict)

      let missing = try await problem { try await step("submit", Self.issue, server) }
      #expect(missing.faults?.map(\.code) == ["screenshot-missing"])
      try await screenshot(Self.png, of: Self.issue, server)
      let submitted: OperatorProduct = try await server.operatorAPI.call(
        "POST", Self.path(Self.issue, "submit"), body: ProductSubmission(notes: "See page 2")
      ).value
      #expect(submitted.sale == .submitted && submitted.review?.notes == "See page 2")
      #expect(submitted.review?.submittedBy == "operator")
      let seen = try await server.operatorAPI.exchange("GET", Self.path(Self.issue, "screenshot"))
      #expect(seen.body == Self.png && seen.headers["Content-Type"] == "image/png")
      let waiting: Page<OperatorProduct> = try await server.operatorAPI.get(
        "/v1/operator/products", query: [("sale", "submitted")])
      #expect(waiting.items.map(\.product.id.description) == [Self.issue])

      let rejected: OperatorProduct = try await server.operatorAPI.call(
        "POST", Self.path(Self.issue, "reject"), body: ReasonBody(reason: "another picture")
      ).value
      #expect(rejected.sale == .rejected && rejected.review?.reason == "another picture")
      #expect(rejected.review?.isApproved == false)
      #expect(try await server.listing() == nil)

      try await step("submit", Self.issue, server)
      #expect(try await step("approve", Self.issue, server).clearedForSale)
      #expect(try await server.listing() != nil)
      #expect(try await server.productsForSale() == [Self.issue])

      // Texts and prices may change; what it is may not.
      #expect(
        try await put(server, Self.issue, ProductDescription(prices: try price())).sale == .cleared)
      #expect(
        try await put(server, Self.issue, ProductDescription(type: .consumable, prices: try price())).sale
          == .draft)
      #expect(try await server.listing() == nil)
      let actions = try await server.audit([("limit", "200")]).map(\.action)
      for action in ["product.submit", "product.reject", "product.approve", "product.screenshot"] {
        #expect(actions.contains(action))
      }
    }
  }

  @Test("a product that is withdrawn is for sale no more, and those who bought it keep what they own")
  func withdrawn() async throws {
    try await ServerHarness.run { server in
      try await server.publish(Self.package)
      let grant = try await server.grantForPurchase()
      #expect(try await step("withdraw", Self.issue, server).sale == .withdrawn)
      #expect(try await server.listing() == nil)
      #expect(try await server.fetch(grant).status == 200)
      _ = try await server.renew(grant)
      #expect(try await server.grant(to: ServerHarness.late).download.version.description == "1.0")
      #expect(try await step("withdraw", Self.issue, server).sale == .withdrawn)
      #expect(try await put(server, Self.issue, ProductDescription(onSale: true)).clearedForSale)
    }
  }

  @Test("a review finds every fault of a subscription, and takes it once there is none")
  func faults() async throws {
    try await ServerHarness.run(options: ["--require-product-review"]) { server in
      var description = try subscription()
      description.application = ApplicationIdentifier("com.example.stranger")
      try await put(server, Self.monthly, description)
      let first = try await problem { try await step("submit", Self.monthly, server) }
      #expect(
        first.faults?.map(\.code) == [
          "screenshot-missing", "application", "issue-missing", "privacy-missing", "terms-missing",
          "terms-missing",
        ])
      #expect(first.faults?.last?.path == "localizations.fr-FR.terms")

      try await screenshot(Self.png, of: Self.monthly, server)
      try await server.publish(
        Self.package,
        description: ProductDescription(
          publication: description.publication, application: ApplicationIdentifier("com.example.pullbox")))
      description.application = nil
      description.privacyURL = "https://comics.example/privacy"
      description.localizations = description.localizations?.mapValues {
        .init(title: $0.title, description: "", terms: "2.99 € each month, until you end it")
      }
      try await put(server, Self.monthly, description)
      let second = try await problem { try await step("submit", Self.monthly, server) }
      #expect(second.faults?.map(\.code) == ["issues-free", "application"])

      try await server.publish(
        Self.package, as: "com.example.issue2",
        description: ProductDescription(prices: try price(), publication: description.publication))
      try await put(server, Self.issue, ProductDescription(publication: description.publication))
      // Issues that name no application are everyone's.
      description.application = ApplicationIdentifier("com.example.pullbox")
      try await put(server, Self.monthly, description)
      #expect(try await step("submit", Self.monthly, server).sale == .submitted)

      // The last issue that costs something becomes free before the approval.
      try await put(
        server, "com.example.issue2", ProductDescription(publication: description.publication))
      let third = try await problem { try await step("approve", Self.monthly, server) }
      #expect(third.faults?.map(\.code) == ["issues-free"])
      try await put(
        server, "com.example.issue2",
        ProductDescription(prices: try price(), publication: description.publication))
      #expect(try await step("approve", Self.monthly, server).clearedForSale)
      let listing = try #require(try await server.listing(Self.monthly))
      #expect(listing.terms == "2.99 € each month, until you end it")
      #expect(listing.privacyURL == "https://comics.example/privacy")

      // The terms that its buyers must be told are not taken away behind the review.
      var silent = description
      silent.privacyURL = nil
      silent.localizations?["fr-FR"]?.terms = nil
      let fourth = try await problem { try await put(server, Self.monthly, silent) }
      #expect(fourth.faults?.map(\.path) == ["privacyURL", "localizations.fr-FR.terms"])
      #expect(try #require(try await server.listing(Self.monthly)).privacyURL == listing.privacyURL)
      description.privacyURL = "https://comics.example/data"
      #expect(try await put(server, Self.monthly, description).sale == .cleared)
    }
  }

  @Test("a screenshot is a picture of at most 1 MiB")
  func screenshots() async throws {
    try await ServerHarness.run { server in
      try await put(server, Self.issue, ProductDescription())
      #expect(
        try await problem { try await screenshot(Array("<svg/>".utf8), of: Self.issue, server) }.code
          == .requestMalformed)
      let long = Self.png + [UInt8](repeating: 0, count: 1 << 20)
      #expect(
        try await problem { try await screenshot(long, of: Self.issue, server) }.code == .requestTooLarge)
      #expect(
        try await problem { try await screenshot(Self.png, of: "com.example.none", server) }.code
          == .productUnknown)
      try await screenshot(Array(long.prefix(1 << 20)), of: Self.issue, server)
      try await screenshot([0xFF, 0xD8, 0xFF, 0xE0], of: Self.issue, server)
      let seen = try await server.operatorAPI.exchange("GET", Self.path(Self.issue, "screenshot"))
      #expect(seen.headers["Content-Type"] == "image/jpeg")
    }
  }

  @Test("a product is for sale from its first date to its last, in every list, and its cover with it")
  func dates() async throws {
    try await ServerHarness.run { server in
      let (from, until) = (
        ServerHarness.start + .seconds(3600), ServerHarness.start + .seconds(7200)
      )
      try await server.publish(
        Self.package, description: ProductDescription(availableFrom: from, availableUntil: until))
      func isShown() async throws -> [Bool] {
        let two: ProductsForSale = try await server.api.get("/products_v2.json")
        let singles: PublicationResponse = try await server.api.get("/v1/singles")
        return [
          try await server.productsForSale() == [Self.issue], !two.products.isEmpty, !singles.issues.isEmpty,
          try await server.listing() != nil,
        ]
      }
      #expect(try await isShown() == [false, false, false, false])
      let early = try await server.api.exchange("GET", "/products_v1.json")
      server.clock.advance(by: .seconds(3600))
      #expect(try await isShown() == [true, true, true, true])
      let late = try await server.api.exchange("GET", "/products_v1.json")
      #expect(early.headers["ETag"] != late.headers["ETag"])
      #expect(late.headers["Last-Modified"] != early.headers["Last-Modified"])
      server.clock.advance(by: .seconds(3600))
      #expect(try await isShown() == [false, false, false, false])
      let report: InvalidProductsReport = try await server.operatorAPI.get("/v1/operator/products/invalid")
      #expect(Set(report.items.map(\.reason)) == [.notYet, .withdrawn])
      // A clock that is set back.
      server.clock.set(from)
      #expect(try await isShown() == [true, true, true, true])
      #expect(
        try await problem {
          try await put(
            server, Self.issue, ProductDescription(availableFrom: until, availableUntil: from))
        }.faults?.map(\.path) == ["availableUntil"])
    }
  }
}

@Suite("Products of several applications")
struct ProductApplicationTests {
  private static let package = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
  private static let other = "com.example.other"

  @Test("a product is shown to its own application alone, and opened by receipts of its own alone")
  func own() async throws {
    try await ServerHarness.run(
      options: ["--bundle", "com.example.pullbox", "--bundle", Self.other]
    ) { server in
      try await server.publish(
        Self.package, description: ProductDescription(application: ApplicationIdentifier(Self.other)))
      try await server.publish(Self.package, as: "com.example.both")
      func listed(_ application: String?) async throws -> [String] {
        let answer: ProductsResponse = try await server.api.get(
          "/v1/products",
          query: [("id", "com.example.both"), ("id", "com.example.issue1")]
            + (application.map { [("application", $0)] } ?? []))
        let singles: PublicationResponse = try await server.api.get(
          "/v1/singles", query: application.map { [("application", $0)] } ?? [])
        #expect(answer.products.map(\.id) == singles.issues.map(\.id))
        let query = application.map { [("application", $0)] } ?? []
        let names: [ProductIdentifier] = try await server.api.get("/products_v1.json", query: query)
        let sold: ProductsForSale = try await server.api.get("/products_v2.json", query: query)
        #expect(names == answer.products.map(\.id) && sold.products.map(\.id) == names)
        return answer.products.map(\.id.description)
      }
      #expect(try await listed(nil) == ["com.example.both"])
      #expect(try await listed("com.example.pullbox") == ["com.example.both"])
      #expect(try await listed(Self.other) == ["com.example.both", "com.example.issue1"])
      let report: InvalidProductsReport = try await server.operatorAPI.get("/v1/operator/products/invalid")
      #expect(report.items.map(\.reason) == [.otherApplication])

      // The receipts of this store are com.example.pullbox's.
      do {
        _ = try await server.grantForPurchase()
        Issue.record("it was granted")
      } catch {
        guard case APICallError.problem(let problem) = error else { throw error }
        #expect(problem.code == .purchaseRequired)
      }
      let receipt = try server.store.receipt(
        of: [server.purchase(of: "com.example.both", id: "2000000000000002")], device: server.device.id)
      #expect(try await server.grant("com.example.both", receipt: receipt).isNewlyMade)
    }
  }

  @Test("where the stores know one application, a reader need not name it")
  func only() async throws {
    try await ServerHarness.run { server in
      try await server.publish(
        Self.package,
        description: ProductDescription(application: ApplicationIdentifier("com.example.pullbox")))
      #expect(try await server.listing() != nil)
      #expect(try await server.productsForSale() == ["com.example.issue1"])
      _ = try await server.grantForPurchase()
    }
  }
}

extension APIResponse where Value == GrantResponse {
  fileprivate var isNewlyMade: Bool { head.status == 201 }
}
