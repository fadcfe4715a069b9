import Commerce
import CoreTypes
import Crypto
import Database
import HTTPServer
import Monitoring
import PullboxAPI
import PullboxAPIServer
import PullboxTesting
import Receipts
import SandboxRecords
import ServiceAPI
import ServiceRuntime
import Synchronization
import Testing

@testable import SandboxStore

/// A catalog in memory.
final class TestCatalog: StoreCatalog {
  private let listings: Mutex<[ProductIdentifier: ProductListing]>
  private let reachable = Mutex(true)
  private let questions = Mutex((waiting: 0, areHeld: false))

  init(_ listings: [ProductListing]) {
    self.listings = Mutex(Dictionary(uniqueKeysWithValues: listings.map { ($0.id, $0) }))
  }

  func setPrice(_ amount: String, of product: ProductIdentifier) {
    listings.withLock {
      $0[product]?.price = .init(amount: amount, currency: "EUR", formatted: "\(amount) €")
    }
  }

  /// It is not for sale any more.
  func remove(_ product: ProductIdentifier) { listings.withLock { $0[product] = nil } }

  func setReachable(_ reachable: Bool) { self.reachable.withLock { $0 = reachable } }

  /// Runs `body` while no question is answered, and answers them once that many wait.
  func holding<Result: Sendable>(
    _ count: Int, _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    questions.withLock { $0 = (0, true) }
    async let result = body()
    while questions.withLock({ $0.waiting }) < count {
      try Task.checkCancellation()
      await Task.yield()
    }
    questions.withLock { $0.areHeld = false }
    return try await result
  }

  func listing(
    of product: ProductIdentifier, territory: String, device: DeviceIdentifier?
  ) async throws(Problem) -> ProductListing? {
    questions.withLock { $0.waiting += 1 }
    while questions.withLock({ $0.areHeld }), !Task.isCancelled { await Task.yield() }
    guard reachable.withLock({ $0 }) else { throw Problem(.catalogUnavailable, retryAfterSeconds: 2) }
    return listings.withLock { $0[product] }
  }
}

/// A store in a directory of its own, spoken to as its router hears it.
final class StoreHarness: Sendable {
  static let issue = name("com.example.heroes.issue1")
  static let coins = name("com.example.coins")
  static let magazine = name("com.example.magazine.monthly")
  static let season = name("com.example.magazine.season")
  static let premium = name("com.example.magazine.premium")
  static let basic = name("com.example.magazine.basic")
  static let yearly = name("com.example.magazine.yearly")
  /// A subscription to the same publication, and free.
  static let free = name("com.example.magazine.free")
  /// A subscription of the type that does not end; its publication is its own.
  static let gratis = name("com.example.gazette.free")
  static let credential = "server-credential"
  /// Making keys takes a good part of a second.
  static let authority = Result {
    try ReceiptAuthority.generate(.init(now: Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)))
  }
  static let serviceKey = RS256Key()
  static let identityKey = RS256Key()

  let directory: TemporaryDirectory
  let clock = ManualWallClock()
  let timer = ManualMonotonicClock()
  let catalog: TestCatalog
  let database: Database
  let store: PaymentStore
  let google: GoogleAuthority
  let routes: StoreRoutes
  private let router: Router

  init(
    in directory: TemporaryDirectory? = nil, limits: StoreLimits = StoreLimits(), controlKey: String? = nil,
    sharedSecret: String? = nil, environment: StoreEnvironment = .sandbox
  ) throws {
    self.directory = try directory ?? TemporaryDirectory()
    if directory == nil { try NewStore.putDatabase(into: self.directory.path) }
    catalog = TestCatalog([
      Self.listing(Self.issue, .nonConsumable, price: "2.99"),
      Self.listing(Self.coins, .consumable, price: "0.99"),
      Self.listing(Self.season, .nonRenewingSubscription, price: "7.99", period: BillingPeriod("P3M")),
      Self.listing(Self.magazine, .autoRenewableSubscription, price: "2.99", period: BillingPeriod("P1M")),
      Self.listing(Self.premium, .autoRenewableSubscription, price: "5.99", period: BillingPeriod("P1M")),
      Self.listing(Self.basic, .autoRenewableSubscription, price: "0.99", period: BillingPeriod("P1M")),
      Self.listing(Self.yearly, .autoRenewableSubscription, price: "29.99", period: BillingPeriod("P1Y")),
      Self.listing(Self.free, .autoRenewableSubscription, price: nil, period: BillingPeriod("P1M")),
      Self.listing(Self.gratis, .freeSubscription, price: nil, publication: "com.example.gazette"),
    ])
    database = try Database.open(
      path: self.directory.path("store.sqlite"), migrations: StoreSchema.migrations)
    store = PaymentStore(
      database: database, catalog: catalog,
      issuer: ReceiptIssuer(
        authority: try Self.authority.get(), bundleIdentifier: "com.example.pullbox",
        environment: environment),
      sharedSecret: sharedSecret.map(SecretDigest.init(of:)), clock: clock, timer: timer, limits: limits)
    google = GoogleAuthority(serviceKey: Self.serviceKey, identityKey: Self.identityKey, clock: clock)
    google.adopt(tokenAddress: "https://store.example/token")
    var routes = StoreRoutes(
      store: store, serverCredential: SecretDigest(of: Self.credential),
      controlKey: controlKey.map(SecretDigest.init(of:)), log: Log(output: { _ in }),
      metrics: ServiceMetrics(
        server: WeakServerReference(), database: database, directories: [:], sources: [store]))
    routes.google = GoogleRoutes(
      store: store, authority: google, package: "com.example.pullbox", log: Log(output: { _ in }))
    self.routes = routes
    router = routes.router()
  }

  static func name(_ text: String) -> ProductIdentifier {
    guard let name = ProductIdentifier(text) else { preconditionFailure("no identifier: \(text)") }
    return name
  }

  private static func listing(
    _ id: ProductIdentifier, _ type: ProductType, price: String?, period: BillingPeriod? = nil,
    publication: String = "com.example.magazine"
  ) -> ProductListing {
    var listing = ProductListing(
      id: id, type: type, title: "A title", description: "A description", period: period)
    listing.price = price.map { .init(amount: $0, currency: "EUR", formatted: "\($0) €") }
    if type.isSubscription { listing.publication = name(publication) }
    return listing
  }

  /// The answer's status and body.
  func send(
    _ method: HTTPMethod, _ target: String, token: String? = nil, key: String? = nil,
    control: String? = nil, body: [UInt8] = []
  ) async throws -> (status: Int, headers: HTTPFields, body: [UInt8]) {
    var headers = HTTPFields()
    if let key { headers["Idempotency-Key"] = key }
    if let control { headers["Control-Key"] = control }
    if let token { headers["Authorization"] = "Bearer \(token)" }
    let request = try HTTPRequest(
      method: method, rawTarget: target, headers: headers, body: RequestBody(body))
    let response = await router.respond(to: request)
    guard case .bytes(let bytes) = response.body else {
      return (response.status.rawValue, response.headers, [])
    }
    return (response.status.rawValue, response.headers, bytes)
  }

  /// Sends `body` as JSON and decodes the answer, which must have `status`.
  func call<Answer: Decodable>(
    _ method: HTTPMethod, _ target: String, token: String? = nil, body: (some Encodable)?, status: Int = 200,
    as type: Answer.Type = Answer.self, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> Answer {
    let answer = try await send(
      method, target, token: token, body: body.map { try APIJSON.encode($0) } ?? [])
    #expect(
      answer.status == status, "\(String(decoding: answer.body, as: UTF8.self))",
      sourceLocation: sourceLocation)
    return try APIJSON.decode(type, from: answer.body)
  }

  func get<Answer: Decodable>(
    _ target: String, token: String? = nil, as type: Answer.Type = Answer.self,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> Answer {
    try await call(.get, target, token: token, body: String?.none, as: type, sourceLocation: sourceLocation)
  }

  /// The problem's code of an answer that must be a refusal.
  func refusal(
    _ method: HTTPMethod, _ target: String, token: String? = nil, body: [UInt8] = []
  ) async throws -> ProblemCode? {
    let answer = try await send(method, target, token: token, body: body)
    let problem = try APIJSON.decode(Problem.self, from: answer.body)
    #expect(problem.status == answer.status)
    #expect(answer.headers["Content-Type"] == "application/problem+json")
    return problem.code
  }

  func openAccount() async throws -> String {
    let response: AccountResponse = try await call(
      .post, "/sandbox/v1/accounts", body: AccountRequest(territory: "FRA", name: "A reader"), status: 201)
    return response.token
  }

  @discardableResult
  func buy(
    _ product: ProductIdentifier, token: String, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> StoreTransaction {
    let response: TransactionResponse = try await call(
      .post, "/store/v1/purchases", token: token,
      body: PurchaseRequest(product: product, device: DeviceIdentifier("reader-1")), status: 201,
      sourceLocation: sourceLocation)
    return response.transaction
  }

  func setTime(_ month: String, renewals: Int = 6) async throws {
    let _: StoreTime = try await call(
      .put, "/sandbox/v1/time", body: StoreTime(month: month, renewals: renewals))
  }

  func queue(_ token: String) async throws -> [StoreTransaction] {
    try await get("/store/v1/transactions?unfinished=true", token: token, as: TransactionsResponse.self)
      .transactions
  }

  func all(_ token: String) async throws -> [StoreTransaction] {
    try await get("/store/v1/transactions", token: token, as: TransactionsResponse.self).transactions
  }

  func receipt(_ token: String, query: String = "device=reader-1") async throws -> String {
    try await get("/store/v1/receipt?\(query)", token: token, as: ReceiptResponse.self).receipt
  }

  func verify(_ receipt: String) async throws -> VerifyReceiptResponse {
    try await call(.post, "/verifyReceipt", body: VerifyReceiptRequest(receiptData: receipt))
  }

  func finish(_ transaction: StoreTransaction, token: String = credential) async throws -> StoreTransaction {
    let response: TransactionResponse = try await call(
      .post, "/store/v1/transactions/\(transaction.id)/finish", token: token, body: String?.none)
    return response.transaction
  }
}
