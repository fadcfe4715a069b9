import AgentTesting
import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import Testing

@testable import DownloadAgent

/// The offers of stores as they are: with words of tomorrow, with mistakes, and away.
@Suite("What the shop of a device shows of odd offers", .serialized, .timeLimit(.minutes(5)))
struct ShopOfferTests {
  private static let monthly = "com.example.monthly"
  private static let yearly = "com.example.yearly"
  private static let trial = #"{"kind":"introductory","payment":"free-trial","period":"P1W","payments":1}"#

  private static func store(
    _ url: String, offersPatience: Duration = .seconds(30), health: EndpointHealth? = nil
  ) throws -> StoreQueueClient {
    StoreQueueClient(
      api: APIClient(baseURL: url, client: try HTTPClient()),
      monitor: health ?? EndpointHealth(url: url, clock: SystemWallClock()),
      device: try #require(DeviceIdentifier("device")), offersPatience: offersPatience)
  }

  private static func products() throws -> [ProductIdentifier] {
    try [monthly, yearly].map { try #require(ProductIdentifier($0)) }
  }

  private static func offers(of document: String) async throws -> [String: [StoreOffer.Payment]] {
    let server = FakeServer()
    server.change { $0.offersDocument = document }
    return try await server.open { url in
      let offers = try await store(url).offers(of: products())
      return Dictionary(
        uniqueKeysWithValues: offers.map { product, told in (product.description, told.offers.map(\.payment))
        })
    }
  }

  @Test(
    "an offer that cannot be read, or does not fit together, is left out and takes no other one with it",
    arguments: [
      #"{"kind":"promotional","payment":"free-trial","period":"P1W","payments":1}"#,
      #"{"kind":"introductory","payment":"by-card","period":"P1W","payments":1}"#,
      #"{"kind":"introductory","payment":"free-trial","period":"P1W","payments":"3"}"#,
      #"{"kind":"introductory","payment":"free-trial","period":"a week","payments":1}"#,
      #"{"kind":"introductory","payment":"free-trial","period":"P1W"}"#,
      #"""
      {"kind":"introductory","payment":"pay-as-you-go","period":"P1M","payments":3,
      "price":{"amount":"-1.00","currency":"EUR"}}
      """#,
      #"""
      {"kind":"introductory","payment":"free-trial","period":"P1W","payments":1,
      "price":{"amount":"1.00","currency":"EUR"}}
      """#,
      #"{"kind":"introductory","payment":"pay-as-you-go","period":"P1M","payments":3}"#,
      #"""
      {"kind":"introductory","payment":"pay-as-you-go","period":"P1M","payments":13,
      "price":{"amount":"1.00","currency":"EUR"}}
      """#,
      #"""
      {"kind":"introductory","payment":"pay-as-you-go","period":"P1M","payments":0,
      "price":{"amount":"1.00","currency":"EUR"}}
      """#,
      "null", "7", "[]",
    ])
  func oddOffers(odd: String) async throws {
    let offers = try await Self.offers(
      of: """
        {"products":[{"product":"\(Self.yearly)","offers":[\(odd)]},
        {"product":"\(Self.monthly)","offers":[\(odd),\(Self.trial)]}]}
        """)
    #expect(offers == [Self.monthly: [.freeTrial]])
  }

  @Test(
    "a product that cannot be read, and one that was not asked for, is left out and takes no other one with it",
    arguments: [
      #"{"product":"a/b","offers":[]}"#, #"{"product":"com.example.yearly"}"#, #"{"offers":[]}"#,
      #"{"product":"com.example.yearly","offers":{}}"#, #"{"product":"com.example.yearly","offers":[]}"#,
      #"{"product":"com.example.other","offers":[\#(trial)]}"#, "null", "7",
    ])
  func oddProducts(odd: String) async throws {
    let offers = try await Self.offers(
      of: #"{"products":[\#(odd),{"product":"\#(Self.monthly)","offers":[\#(Self.trial)]}]}"#)
    #expect(offers == [Self.monthly: [.freeTrial]])
  }

  @Test(
    "a bonus is told beside the offers, and alone; one that cannot be read is left out and takes no offer with it",
    arguments: [
      (#""offers":[],"bonus":{"period":"P1M","eligible":true}"#, "P1M", 0),
      (#""offers":[\#(trial)],"bonus":{"period":"P1M"}"#, "P1M", 1),
      (#""offers":[\#(trial)],"bonus":{"period":"a month"}"#, nil, 1),
      (#""offers":[\#(trial)],"bonus":7"#, nil, 1), (#""offers":[\#(trial)],"bonus":null"#, nil, 1),
    ] as [(String, String?, Int)])
  func bonus(members: String, period: String?, count: Int) async throws {
    let server = FakeServer()
    server.change { $0.offersDocument = #"{"products":[{"product":"\#(Self.monthly)",\#(members)}]}"# }
    let told = try await server.open { url in
      try await Self.store(url).offers(of: Self.products())
    }
    let product = try Self.products()[0]
    let offers = try #require(told[product])
    #expect(offers.bonus?.period.description == period && offers.offers.count == count)
  }

  @Test("a bonus that cannot be read leaves nothing of a product without an offer")
  func unreadableBonus() async throws {
    let offers = try await Self.offers(
      of: #"{"products":[{"product":"\#(Self.monthly)","offers":[],"bonus":{"period":7}}]}"#)
    #expect(offers == [:])
  }

  @Test("a store that does not answer what it offers is given up soon, and counts as reachable as before")
  func deafStore() async throws {
    let server = FakeServer()
    server.change { $0.isDeafForOffers = true }
    try await server.open { url in
      let health = EndpointHealth(url: url, clock: SystemWallClock())
      let store = try Self.store(url, offersPatience: .milliseconds(50), health: health)
      await #expect(throws: APICallError.self) { _ = try await store.offers(of: Self.products()) }
      #expect(health.status.reachable == nil)
      _ = try await store.account()
      await #expect(throws: APICallError.self) { _ = try await store.offers(of: Self.products()) }
      #expect(health.status.reachable == true && health.status.lastError == nil)
    }
  }

  @Test("a store that refuses connections for its offers is not reachable")
  func absentStore() async throws {
    let url = try await FakeServer().open { $0 }
    let health = EndpointHealth(url: url, clock: SystemWallClock())
    let store = try Self.store(url, health: health)
    await #expect(throws: APICallError.self) { _ = try await store.offers(of: Self.products()) }
    #expect(health.status.reachable == false && health.status.lastError != nil)
  }

  @Test("a reader that hangs up while the store is asked says nothing of the store")
  func hungUp() async throws {
    let server = FakeServer()
    server.change { $0.isDeafForOffers = true }
    try await server.open { url in
      let health = EndpointHealth(url: url, clock: SystemWallClock())
      let store = try Self.store(url, health: health)
      _ = try await store.account()
      let products = try Self.products()
      let reader = Task { try await store.offers(of: products) }
      while server.state.current.arrivals["GET /store/v1/offers"] == nil { await Task.yield() }
      reader.cancel()
      await #expect(throws: APICallError.self) { _ = try await reader.value }
      #expect(health.status.reachable == true && health.status.lastError == nil)
    }
  }

  @Test(
    "a store that cannot say what it offers leaves the shop without offers, is told in the log, and is asked again by the next reader",
    arguments: [nil, "{}", #"{"products":7}"#])
  func failure(document: String?) async throws {
    let server = FakeServer()
    let trial = AccountOffer(
      kind: .introductory, payment: .freeTrial, period: try #require(BillingPeriod("P1W")), payments: 1,
      eligible: true)
    let listing = ProductListing(
      id: try Self.products()[0], type: .autoRenewableSubscription, title: "Heroes", description: "",
      price: .init(amount: "4.99", currency: "USD", formatted: "$4.99"), period: .month)
    server.change { state in
      state.listings = [listing]
      state.offers = [ProductAccountOffers(product: listing.id, offers: [trial])]
      state.offersDocument = document
      if document == nil { state.refusals["GET /store/v1/offers"] = [Problem(.internalError)] }
    }
    let harness = try AgentHarness()
    let lines = LogLines()
    try await server.open { url in
      try await harness.run(server: url, log: lines.log()) { _ in
        func offers() async throws -> [[AccountOffer]?] {
          try await harness.get("/v1/products?id=\(Self.monthly)", as: AgentProductsResponse.self)
            .products.map(\.offers)
        }
        let without = try await offers()
        #expect(without == [nil])
        #expect(await lines.first(with: "what the store offers cannot be read").contains("reason"))
        server.change { state in
          state.offersDocument = nil
          state.refusals = [:]
        }
        let with = try await offers()
        #expect(with == [[trial]])
      }
    }
  }
}
