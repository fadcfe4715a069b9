import AgentTesting
import Commerce
import CoreTypes
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

@testable import DownloadAgent

/// The terms that a reader is shown before a purchase, and those that a purchase makes of them.
@Suite("The shop of a device", .serialized, .timeLimit(.minutes(5)))
struct ShopTests {
  private static let issue = FixturePackage.product
  private static let monthly = "com.example.monthly"

  private static func listing(
    _ id: String, _ type: ProductType, price: String? = "2.99", period: BillingPeriod? = nil
  ) throws -> ProductListing {
    ProductListing(
      id: try #require(ProductIdentifier(id)), type: type, title: "The title of \(id)", description: "",
      price: price.map { .init(amount: $0, currency: "USD", formatted: "$\($0)") }, period: period)
  }

  private static func subscription(until: Timestamp) throws -> StoreSubscription {
    StoreSubscription(
      originalId: try #require(TransactionIdentifier("2000000000000009")),
      product: try #require(ProductIdentifier(monthly)), state: .active, autoRenew: true,
      purchaseDate: Timestamp(millisecondsSinceEpoch: 1_795_249_800_000), expiresDate: until)
  }

  private static func code(_ response: ClientResponse) throws -> ProblemCode? {
    try APIJSON.decode(Problem.self, from: response.body).code
  }

  @Test("content whose manifest has no title bears the one under which it was listed, also after a restart")
  func title() async throws {
    let server = FakeServer([try FixturePackage.file(length: 1000)])
    let listing = try Self.listing(Self.issue, .nonConsumable)
    server.change { $0.listings = [listing] }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        _ = try await harness.get("/v1/products?id=\(Self.issue)", as: AgentProductsResponse.self)
        try server.queuePurchase()
        _ = try await agent.transaction("finished")
      }
      try await harness.run(server: url) { _ in
        let items = try await harness.get("/v1/library", as: LibraryResponse.self).items
        #expect(items.map(\.title) == [listing.title])
        #expect(try await harness.downloads().map(\.title) == [listing.title])
      }
    }
  }

  @Test(
    "a code is redeemed with its key, and its content comes as with a purchase; small letters are capitals")
  func redeemed() async throws {
    let server = FakeServer([try FixturePackage.file(length: 1000)])
    server.change { $0.codes = ["ABC-1": Self.issue] }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        for _ in 0..<2 {
          let answer = try await harness.ask(
            "POST", "/v1/codes/abc-1", #"{"session":"org.example.Reader","ignore":["metered"]}"#,
            headers: [("Idempotency-Key", "k1")])
          #expect(answer.status == 201)
          let transaction = try APIJSON.decode(AgentTransaction.self, from: answer.body)
          #expect(transaction.id.description == "2000000000000777")
          #expect(transaction.session?.description == "org.example.Reader")
        }
        let refused = try await harness.ask("POST", "/v1/codes/ABC-2", #"{"ignore":["offline"]}"#)
        #expect(try Self.code(refused) == .requestMalformed)
        #expect(server.state.current.redemptions == ["ABC-1 k1", "ABC-1 k1"])
        let download = try await agent.ended()
        #expect(download.session?.description == "org.example.Reader")
        #expect(download.ignored?.map(\.name) == [.metered])
        _ = try await agent.transaction("finished")
        #expect(try await harness.get("/v1/library", as: LibraryResponse.self).items.count == 1)
      }
    }
  }

  @Test(
    "two requests with one key at the same moment redeem a code once, and both answers name the transaction")
  func redeemedAtOnce() async throws {
    let server = FakeServer([try FixturePackage.file(length: 1000)])
    server.change { state in
      state.codes = ["ABC-1": Self.issue]
      state.areCodesHeld = true
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        let key = [("Idempotency-Key", "k1")]
        async let one = harness.ask("POST", "/v1/codes/ABC-1", headers: key)
        async let other = harness.ask("POST", "/v1/codes/ABC-1", headers: key)
        // The store decides on neither before it has both.
        while server.state.current.asked.count(where: { $0 == "POST /store/v1/codes" }) < 2 {
          try Task.checkCancellation()
          await Task.yield()
        }
        server.change { $0.areCodesHeld = false }
        let answers = try await [one, other]
        #expect(answers.map(\.status) == [201, 201])
        let named = try answers.map {
          try APIJSON.decode(AgentTransaction.self, from: $0.body).id.description
        }
        #expect(named == ["2000000000000777", "2000000000000777"])
        _ = try await agent.transaction("finished")
        #expect(server.state.current.redemptions == ["ABC-1 k1", "ABC-1 k1"])
        #expect(try await harness.transactions().map(\.id.description) == ["2000000000000777"])
        #expect(try await harness.downloads().count == 1)
        #expect(try await harness.get("/v1/library", as: LibraryResponse.self).items.count == 1)
      }
    }
  }

  @Test("a code that the store refuses is refused with its words, and what is no code is not asked about")
  func refusedCode() async throws {
    let server = FakeServer()
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { _ in
        let unknown = try await harness.ask("POST", "/v1/codes/NONE")
        let problem = try APIJSON.decode(Problem.self, from: unknown.body)
        #expect(problem.code == .notFound && problem.detail == "there is no such code")
        for text in ["a%20b", "a_b", String(repeating: "A", count: 65)] {
          #expect(try Self.code(await harness.ask("POST", "/v1/codes/\(text)")) == .requestMalformed)
        }
        #expect(server.state.current.asked.count { $0 == "POST /store/v1/codes" } == 1)
        server.change { $0.hasPlace = false }
        #expect(try Self.code(await harness.ask("POST", "/v1/codes/NONE")) == .deviceLimit)
      }
    }
  }

  @Test(
    "before a code is redeemed it is told what it gives, with the product as the server sells it; nothing is redeemed"
  )
  func previewedCode() async throws {
    let server = FakeServer()
    let listing = try Self.listing(Self.monthly, .autoRenewableSubscription, period: .month)
    let preview = CodePreview(
      product: listing.id, kind: .promotional,
      terms: CodeTerms(payment: .freeTrial, period: .month, payments: 1),
      start: Timestamp(millisecondsSinceEpoch: 1_797_841_800_000))
    server.change { state in
      state.codePreviews = ["ABC-1": preview]
      state.listings = [listing]
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { _ in
        let shown = try await harness.get("/v1/codes/abc-1?locale=fr-FR", as: AgentCodePreview.self)
        #expect(shown.preview == preview && shown.listing?.title == listing.title)
        #expect(shown.account.territory == "USA")
        // A server that does not answer keeps no reader from what the store says.
        server.change { $0.listings = [] }
        server.change { $0.refusals["GET /v1/products"] = [Problem(.unavailable)] }
        let without = try await harness.get("/v1/codes/ABC-1", as: AgentCodePreview.self)
        #expect(without.preview == preview && without.listing == nil)
        let unknown = try await harness.ask("GET", "/v1/codes/NONE")
        let problem = try APIJSON.decode(Problem.self, from: unknown.body)
        #expect(problem.code == .notFound && problem.detail == "there is no such code")
        for path in ["/v1/codes/a_b", "/v1/codes/ABC-1?language=fr"] {
          #expect(try Self.code(await harness.ask("GET", path)) == .requestMalformed)
        }
        #expect(server.state.current.redemptions.isEmpty)
      }
    }
  }

  @Test(
    "a store that cannot say what a code gives leaves it unsaid, and a refusal of its is passed on",
    arguments: [
      (Problem(.methodNotAllowed), nil, nil), (Problem(.notFound), nil, nil), (nil, "{}", nil),
      (nil, #"{"kind":"raffle","product":"com.example.a"}"#, nil),
      (Problem(.stateConflict, "the code is used up"), nil, .stateConflict),
    ] as [(Problem?, String?, ProblemCode?)])
  func unsaidCode(problem: Problem?, document: String?, code: ProblemCode?) async throws {
    let server = FakeServer()
    server.change { state in
      if let problem { state.refusals["GET /store/v1/codes"] = [problem] }
      state.codePreviewDocument = document
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { _ in
        let answer = try await harness.ask("GET", "/v1/codes/ABC-1")
        guard code == nil else {
          #expect(try Self.code(answer) == code)
          return
        }
        let shown = try APIJSON.decode(AgentCodePreview.self, from: answer.body)
        #expect(answer.status == 200 && shown.preview == nil && shown.listing == nil)
      }
    }
  }

  @Test("subscriptions are shown with what the store offers for them, and without where it cannot say")
  func offers() async throws {
    let server = FakeServer()
    let trial = AccountOffer(
      kind: .introductory, payment: .freeTrial, period: try #require(BillingPeriod("P1W")), payments: 1,
      eligible: true)
    let listings = [
      try Self.listing(Self.monthly, .autoRenewableSubscription, period: .month),
      try Self.listing(Self.issue, .nonConsumable),
    ]
    server.change { state in
      state.listings = listings
      state.offers = listings.map { ProductAccountOffers(product: $0.id, offers: [trial]) }
    }
    for offers in [[trial], nil] {
      if offers == nil { server.change { $0.offers = nil } }
      let harness = try AgentHarness()
      try await server.open { url in
        try await harness.run(server: url) { _ in
          let products = try await harness.get(
            "/v1/products?id=\(Self.monthly)&id=\(Self.issue)", as: AgentProductsResponse.self
          ).products
          #expect(products.map(\.offers) == [offers, nil])
          #expect(products[0].offer == offers?.first)
        }
      }
    }
  }

  @Test(
    "a bonus is shown with its subscription, also without an offer, and who gives contact data buys with it")
  func bonus() async throws {
    let server = FakeServer()
    let bonus = AccountBonus(period: .month, eligible: true)
    let listing = try Self.listing(Self.monthly, .autoRenewableSubscription, period: .month)
    server.change { state in
      state.listings = [listing]
      state.offers = [ProductAccountOffers(product: listing.id, offers: [], bonus: bonus)]
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { _ in
        let shown = try await harness.get(
          "/v1/products?id=\(Self.monthly)", as: AgentProductsResponse.self)
        let product = try #require(shown.products.first)
        #expect(product.bonus == bonus && product.offers == nil && product.bonusPeriod == .month)
        for body in [#"{"product":"\#(Self.monthly)","optIn":true}"#, #"{"product":"\#(Self.monthly)"}"#] {
          #expect(try await harness.ask("POST", "/v1/purchases", body).status == 201)
        }
        #expect(server.state.current.purchases.map(\.optIn) == [true, nil])
      }
    }
  }

  @Test("a restore on a new device asks what content is called whose manifest has no title")
  func restoredTitle() async throws {
    let server = FakeServer([try FixturePackage.file(length: 1000)])
    let listing = try Self.listing(Self.issue, .nonConsumable)
    server.change { $0.listings = [listing] }
    try server.queuePurchase()
    // Bought, delivered and finished on another device.
    server.change { $0.transactions[0].finishedDate = Timestamp(millisecondsSinceEpoch: 1_795_249_900_000) }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        #expect(try await harness.ask("POST", "/v1/restore").status == 202)
        _ = try await agent.download(.finished)
        let items = try await harness.get("/v1/library", as: LibraryResponse.self).items
        #expect(items.map(\.title) == [listing.title])
      }
    }
  }

  @Test("products come with the price of the account's territory, and with what the account has of them")
  func products() async throws {
    let server = FakeServer([try FixturePackage.file(length: 1000)])
    let until = Timestamp(millisecondsSinceEpoch: 1_797_841_800_000)
    let listings = [
      try Self.listing(Self.issue, .nonConsumable),
      try Self.listing(Self.monthly, .autoRenewableSubscription, period: .month),
      try Self.listing("com.example.coins", .consumable),
    ]
    let subscription = try Self.subscription(until: until)
    server.change { state in
      state.listings = listings
      state.subscriptions = [subscription]
      state.account.territory = "FRA"
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        _ = try await agent.transaction("finished")
        let path =
          "/v1/products?id=\(Self.issue)&id=\(Self.monthly)&id=com.example.coins&id=nothing&locale=fr-FR"
        let shown = try await harness.get(path, as: AgentProductsResponse.self)
        #expect(shown.account.territory == "FRA" && shown.account.environment == "Sandbox")
        #expect(shown.products.map(\.owned) == [true, false, false])
        #expect(shown.products.map(\.subscribedUntil) == [nil, until, nil])
        #expect(shown.products.map(\.isHeld) == [true, true, false])
        #expect(shown.invalidProductIdentifiers == ["nothing"])
      }
    }
    let query = try #require(server.state.current.productQueries.first)
    #expect(query.contains("nothing FRA fr-FR "))
    // A store that tells no application.
    #expect(Set(server.state.current.applications) == [nil])
  }

  @Test(
    "a subscription whose payment fails is held while its grace lasts, and may be bought anew without one",
    arguments: [true, false])
  func billingRetry(hasGrace: Bool) async throws {
    let server = FakeServer()
    let until = Timestamp(millisecondsSinceEpoch: 1_797_841_800_000)
    let grace = until + .seconds(6 * 86_400)
    var subscription = try Self.subscription(until: until)
    subscription.state = .billingRetry
    subscription.gracePeriodExpiresDate = hasGrace ? grace : nil
    let (retried, listing) = (
      subscription, try Self.listing(Self.monthly, .autoRenewableSubscription, period: .month)
    )
    server.change { state in
      state.listings = [listing]
      state.subscriptions = [retried]
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { _ in
        let shown = try await harness.get(
          "/v1/products?id=\(Self.monthly)", as: AgentProductsResponse.self)
        #expect(shown.products.map(\.subscribedUntil) == [hasGrace ? grace : nil])
        #expect(shown.products.map(\.isHeld) == [hasGrace])
      }
    }
  }

  @Test("who has subscribed for long is shown the price that was preserved, of that subscription alone")
  func preservedPrice() async throws {
    let server = FakeServer()
    let since = Timestamp(millisecondsSinceEpoch: 1_790_000_000_000)
    let (monthly, other, old) = (
      try Self.listing(Self.monthly, .autoRenewableSubscription, period: .month),
      try Self.listing("com.example.other", .autoRenewableSubscription, period: .month),
      try Self.listing(Self.monthly, .autoRenewableSubscription, price: "1.99", period: .month)
    )
    let running = try Self.subscription(until: Timestamp(millisecondsSinceEpoch: 1_797_841_800_000))
    server.change { state in
      state.listings = [monthly, other]
      state.subscriptions = [running]
      state.subscribedSince = [Self.monthly: since]
      state.preserved = (since, old)
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { _ in
        let shown = try await harness.get(
          "/v1/products?id=\(Self.monthly)&id=com.example.other", as: AgentProductsResponse.self)
        #expect(shown.products.map(\.listing.price?.amount) == ["1.99", "2.99"])
      }
    }
  }

  @Test("a season is shown with its end, and may be bought again: the next begins there")
  func season() async throws {
    let server = FakeServer()
    let until = Timestamp(millisecondsSinceEpoch: 1_797_841_800_000)
    let listing = try Self.listing("com.example.season", .nonRenewingSubscription, period: .month)
    server.change { state in
      state.listings = [listing]
      state.subscribedUntil = ["com.example.season": until, Self.monthly: until]
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { _ in
        let shown = try await harness.get(
          "/v1/products?id=com.example.season", as: AgentProductsResponse.self)
        #expect(shown.products.map(\.subscribedUntil) == [until])
        #expect(shown.products.map(\.isHeld) == [false])
      }
    }
  }

  @Test("publications come with what the account has of their issues and subscriptions")
  func publications() async throws {
    let server = FakeServer()
    let until = Timestamp(millisecondsSinceEpoch: 1_797_841_800_000)
    let subscription = try Self.subscription(until: until)
    let monthly = try Self.listing(Self.monthly, .autoRenewableSubscription, period: .month)
    let issue = try Self.listing(Self.issue, .nonConsumable)
    let publication = PublicationListing(
      id: try #require(ProductIdentifier("com.example.moss")), title: "Moss", description: "",
      latestIssue: issue, subscriptions: [monthly])
    server.change { state in
      state.subscriptions = [subscription]
      state.publications = [publication]
      state.listings = [issue]
      state.account.territory = "FRA"
      state.account.application = ApplicationIdentifier("com.example.moss.reader")
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { _ in
        let list = try await harness.get("/v1/publications", as: AgentPublicationsResponse.self)
        #expect(list.publications.map(\.title) == ["Moss"] && list.next == "more")
        #expect(list.account.territory == "FRA")
        _ = try await harness.get("/v1/products?id=\(Self.issue)", as: AgentProductsResponse.self)
        let one = try await harness.get(
          "/v1/publications/com.example.moss", as: AgentPublicationResponse.self)
        #expect(one.subscriptions.map(\.subscribedUntil) == [until])
        #expect(one.issues.map(\.listing.id.description) == [Self.issue])
        let unknown = try await harness.ask("GET", "/v1/publications/nothing")
        #expect(try Self.code(unknown) == .publicationUnknown)
        let misspelled = try await harness.ask("GET", "/v1/publications?page=2")
        #expect(try Self.code(misspelled) == .requestMalformed)
      }
    }
    #expect(server.state.current.productQueries.first == "FRA")
    #expect(Set(server.state.current.applications) == ["com.example.moss.reader"])
  }

  @Test("the same question is asked once by many readers, and serves for a moment")
  func askedOnce() async throws {
    let server = FakeServer()
    let listing = try Self.listing(Self.issue, .nonConsumable)
    server.change { $0.listings = [listing] }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { _ in
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<20 {
            group.addTask {
              _ = try await harness.get("/v1/products?id=\(Self.issue)", as: AgentProductsResponse.self)
            }
          }
          try await group.waitForAll()
        }
      }
    }
    let asked = server.state.current.asked
    for name in ["GET /v1/products", "GET /store/v1/account", "GET /store/v1/subscriptions"] {
      #expect(asked.count { $0 == name } == 1, "\(name)")
    }
  }

  @Test("without names the account alone is answered, and more than 200 are refused")
  func accountAlone() async throws {
    let server = FakeServer()
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { _ in
        let shown = try await harness.get("/v1/products", as: AgentProductsResponse.self)
        #expect(shown.account.canMakePayments && shown.products.isEmpty)
        let many = try await harness.ask(
          "GET", "/v1/products?" + (0...200).map { "id=\($0)" }.joined(separator: "&"))
        #expect(try Self.code(many) == .requestMalformed)
        let misspelled = try await harness.ask("GET", "/v1/products?ids=a")
        #expect(try Self.code(misspelled) == .requestMalformed)
      }
    }
    #expect(!server.state.current.asked.contains("GET /v1/products"))
  }

  @Test("a store or a server that is away is told by name")
  func away() async throws {
    let server = FakeServer()
    server.change { state in
      state.refusals["GET /store/v1/account"] = [Problem(.storeUnavailable), Problem(.internalError)]
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { _ in
        let first = try await harness.ask("GET", "/v1/products?id=a")
        #expect(try Self.code(first) == .storeUnavailable)
      }
      try await harness.run(server: "http://127.0.0.1:1", store: url) { _ in
        server.change { $0.refusals = [:] }
        let second = try await harness.ask("GET", "/v1/products?id=a")
        #expect(second.status == 503)
        #expect(try Self.code(second) == .unavailable)
      }
      try await harness.run(server: url, store: "http://127.0.0.1:1") { _ in
        let third = try await harness.ask("GET", "/v1/subscriptions")
        #expect(try Self.code(third) == .storeUnavailable)
      }
    }
  }

  @Test("a purchase at a price that is no longer asked buys nothing; at the shown price it goes through")
  func priceChanged() async throws {
    let server = FakeServer([try FixturePackage.file(length: 1000)])
    let (before, after) = (
      try Self.listing(Self.issue, .nonConsumable),
      try Self.listing(Self.issue, .nonConsumable, price: "3.99")
    )
    server.change { $0.listings = [before] }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        _ = try await harness.get("/v1/products?id=\(Self.issue)", as: AgentProductsResponse.self)
        server.change { $0.listings = [after] }
        func buy(_ shown: String) async throws -> ClientResponse {
          try await harness.ask(
            "POST", "/v1/purchases",
            #"{"product":"\#(Self.issue)","applicationUsername":"reader-7","shown":"\#(shown)"}"#)
        }
        #expect(try Self.code(await buy("2.99 USD")) == .priceChanged)
        #expect(try Self.code(await buy("free")) == .priceChanged)
        server.change { $0.listings = [] }
        #expect(try Self.code(await buy("free")) == .productUnknown)
        #expect(server.state.current.purchases.isEmpty)

        server.change { $0.listings = [after] }
        #expect(try await buy("3.99 USD").status == 201)
        #expect(server.state.current.purchases.map(\.applicationUsername) == ["reader-7"])
        // The account's products are asked for again after a purchase.
        _ = try await agent.transaction("finished")
        let shown = try await harness.get("/v1/products?id=\(Self.issue)", as: AgentProductsResponse.self)
        #expect(shown.products.map(\.owned) == [true])
      }
    }
  }

  @Test("a device without a place with its customer buys nothing, and one that cannot ask buys")
  func withoutPlace() async throws {
    let server = FakeServer([try FixturePackage.file(length: 1000)])
    let listing = try Self.listing(Self.issue, .nonConsumable)
    server.change { state in
      state.listings = [listing]
      state.hasPlace = false
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { _ in
        func buy() async throws -> ClientResponse {
          try await harness.ask("POST", "/v1/purchases", #"{"product":"\#(Self.issue)"}"#)
        }
        let refused = try await buy()
        #expect(refused.status == 403)
        #expect(try Self.code(refused) == .deviceLimit)
        #expect(server.state.current.purchases.isEmpty)
        server.change { $0.refusals["POST /v1/entitlements"] = [Problem(.unavailable, retryAfterSeconds: 1)] }
        #expect(try await buy().status == 201)
      }
    }
  }

  @Test("a download has the title of the shop before its first manifest came")
  func titleBeforeManifest() async throws {
    let server = FakeServer([try FixturePackage.file(length: 1000)])
    let listing = try Self.listing(Self.issue, .nonConsumable)
    server.change { state in
      state.listings = [listing]
      state.refusals["POST /v1/grants"] = [Problem(.unavailable, retryAfterSeconds: 1)]
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        let shown = "2.99 USD"
        let bought = try await harness.ask(
          "POST", "/v1/purchases", #"{"product":"\#(Self.issue)","shown":"\#(shown)"}"#)
        #expect(bought.status == 201)
        let waiting = try await agent.download(.waiting)
        #expect(waiting.title == listing.title)
      }
    }
  }

  @Test("a subscription is shown, and changed by its first transaction")
  func subscriptions() async throws {
    let server = FakeServer()
    let subscription = try Self.subscription(until: Timestamp(millisecondsSinceEpoch: 1_797_841_800_000))
    server.change { $0.subscriptions = [subscription] }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { _ in
        let shown = try await harness.get("/v1/subscriptions", as: SubscriptionsResponse.self)
        #expect(shown.subscriptions.map(\.autoRenew) == [true])
        let answer = try await harness.ask(
          "PATCH", "/v1/subscriptions/2000000000000009",
          #"{"autoRenew":false,"product":"com.example.yearly"}"#)
        let changed = try APIJSON.decode(StoreSubscription.self, from: answer.body)
        #expect(!changed.autoRenew && changed.renewalProduct?.description == "com.example.yearly")
        let unknown = try await harness.ask("PATCH", "/v1/subscriptions/7", "{}")
        #expect(try Self.code(unknown) == .subscriptionUnknown)
      }
    }
  }
}
