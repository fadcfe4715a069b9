import Commerce
import ContentPackage
import CoreTypes
import Crypto
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import PullboxTesting
import Receipts
import ServiceRuntime
import Testing

/// A payment store and a delivery server in one, small and obedient: it does what a test says, and remembers
/// what it was asked.
final class FakeServer: Sendable {
  /// How one content request is to be answered.
  enum ContentFault: Sendable {
    case faultless
    /// The connection breaks after so many bytes of the body.
    case cut(after: Int)
    /// Both: the byte at that offset is changed, and the connection breaks.
    case damagedCut(after: Int, flip: Int)
    /// The byte of the package at this offset is changed, if the request covers it.
    case flip(at: Int)
    /// 200 with everything, whatever range was asked for.
    case whole
    /// 206 that starts so many bytes earlier than asked.
    case early(by: Int)
    case otherTag
    case problem(ProblemCode)
    /// Sends so many bytes and then nothing more.
    case stall(after: Int)
  }

  struct State: Sendable {
    var package: [FixturePackage] = []
    var transactions: [StoreTransaction] = []
    /// What proofs must call the store; nil for a server that knows one store only.
    var storeName: String?
    /// What the entitlements endpoint lists; everything in ``package`` unless set.
    var isReleased = true
    /// What pays for products that the entitlements endpoint does not list: bought or released a moment later.
    var payments: [ProductIdentifier: TransactionIdentifier] = [:]
    /// What the entitlements endpoint says of the device's place with its customer.
    var hasPlace: Bool?
    var subscribedUntil: [String: Timestamp]?
    var subscribedSince: [String: Timestamp]?
    /// In place of ``listings`` for those who have subscribed since then.
    var preserved: (since: Timestamp, listing: ProductListing)?
    /// Whether transactions that wait and are entitled to nothing are finished at the store.
    var settlesEmpty = false
    /// Answers in place of the usual one, by `METHOD /path` with the grant left out; used up one by one, the
    /// last stays.
    var refusals: [String: [Problem]] = [:]
    /// Pages of a proxy in front of the server, used up one by one, by the names of ``refusals``.
    var pages: [String: [Page]] = [:]
    /// In front of everything, while it is set: what a network that wants a log-in first answers.
    var portal: Page?
    /// Requests that ``portal`` has answered.
    var portalRequests = 0
    /// Transactions of one page of the queue, at most.
    var queuePage = 1000
    /// The store takes a request for its queue and does not answer.
    var isStoreDeaf = false
    /// The store has looked at its queue and does not answer yet.
    var isQueueHeld = false
    /// Before each half of a manifest is sent.
    var manifestPause: Duration?
    /// The connection breaks after so many bytes of a manifest.
    var manifestCut: Int?
    /// The bytes of manifests as they were sent, cut or not.
    var manifestsSent: [Range<Int>] = []
    /// When each request came, by those names.
    var arrivals: [String: [MonotonicInstant]] = [:]
    var contentFaults: [ContentFault] = []
    /// Products whose manifests, or reports, are refused for now, and those whose content comes in two halves with a pause between.
    var unreadyManifests: Set<ProductIdentifier> = []
    var unreadyReports: Set<ProductIdentifier> = []
    var slowContent: Set<ProductIdentifier> = []
    /// Whether the store has answered the server about finishing.
    var isStoreUp = true
    var asked: [String] = []
    /// Of each request for a grant.
    var consents: [Consent?] = []
    /// What `GET /v1/products/{id}/cover` answers, by product; a problem where there is none. Nil of one: it is not answered.
    var covers: [String: [UInt8]?] = [:]
    /// Products that one question about listings may name.
    var maximumNames: Int?
    /// Products whose covers cannot be answered now, nor questions that name them.
    var unavailableCovers: Set<String> = []
    var unavailableListings: Set<String> = []
    /// The widths that covers were asked for in.
    var coverWidths: [String?] = []
    /// What is for sale, and the account that it is for sale to.
    var listings: [ProductListing] = []
    var publications: [PublicationListing] = []
    var subscriptions: [StoreSubscription] = []
    var account = StoreAccount(
      territory: "USA", currency: "USD", environment: "Sandbox", canMakePayments: true)
    /// The queries of `GET /v1/products`, and what came with purchases.
    var productQueries: [String] = []
    /// What devices could not verify.
    var failures: [VerificationFailure] = []
    /// What each question for products and publications named.
    var applications: [String?] = []
    var purchases: [PurchaseRequest] = []
    /// What was sold by its key, and the keys of the requests.
    var sold: [String: StoreTransaction] = [:]
    var purchaseKeys: [String?] = []
    /// What codes are good for, and those that were redeemed, with the keys of the requests.
    var codes: [String: String] = [:]
    var redemptions: [String] = []
    /// What the store says that codes give; nil for one that does not tell it before a redemption.
    var codePreviews: [String: CodePreview]?
    /// In their place, as it stands.
    var codePreviewDocument: String?
    /// The store takes requests for codes and does not decide on them yet.
    var areCodesHeld = false
    /// What the store offers; nil for one that has no such route.
    var offers: [ProductAccountOffers]?
    /// In their place, as it stands.
    var offersDocument: String?
    /// The store takes a question for its offers and does not answer.
    var isDeafForOffers = false
    /// Ranges of the package as they were sent, whole or cut.
    var sent: [Range<Int>] = []
    var grants: [String: RecordedGrant] = [:]
    var deviceKey: VerificationKey?
    /// What this server's clock is ahead of the device's, and the proofs that were signed for another time.
    var clockOffset: Duration = .zero
    var wrongTimes = 0
    var reports: [CompletionReport] = []
    var ticket = "ticket-1"
    var receiptsGiven = 0
    /// The device that the queue was last asked for.
    var queueDevice: String?
    /// Of the account's purchases, on whatever device.
    var accountRevision: Int64?
    /// The product's keys, those that sign its manifests, and what is done to a signature on its way.
    var previous: PreviousContent?
    var publisherKeys: [PublisherKeyIdentifier]?
    var signingKeys: [SigningKey] = []
    /// In place of the package's own, a later version's for example.
    var manifestDocument: [UInt8]?
    /// What the feed has told; its cursor is how many. Nil for a server that has no feeds.
    var feed: [FeedEntry]?
    /// The next question's cursor is of a feed that is no more: all of this one is told.
    var isFeedNew = false
    /// The token that answers about a receipt bring; those that the feed was asked with, which are all good.
    var feedToken = "feed"
    var feedTokens: [String] = []
    var spoilSignature: @Sendable (inout PublisherSignature) -> Void = { _ in }
  }

  /// What nginx or a content network answers in the server's place: HTML, and no problem document.
  struct Page: Hashable, Sendable {
    var status: Int
    var retryAfter: Int?
  }

  struct RecordedGrant: Sendable {
    var name: GrantState
    var product: ProductIdentifier
    var transaction: TransactionIdentifier
  }

  let state: Locked<State>
  /// Something was told.
  let news = AsyncSignal()
  private let server: Locked<HTTPServer?> = Locked(nil)

  init(_ package: [FixturePackage] = []) {
    state = Locked(State(package: package))
  }

  /// Serves while `body` runs; gives it the address: `https://localhost` with a `certificate`.
  func open<Result: Sendable>(
    certificate: TestCertificate? = nil, _ body: (String) async throws -> Result
  ) async throws -> Result {
    var configuration = HTTPServerConfiguration(addresses: [.tcp(host: "127.0.0.1", port: 0)])
    configuration.tls = certificate.map { certificate in
      TLSConfiguration(
        addresses: [.tcp(host: "127.0.0.1", port: 0)], certificateFile: certificate.certificateFile,
        keyFile: certificate.keyFile)
    }
    configuration.loops = 1
    configuration.drainDeadline = .milliseconds(100)
    let server = HTTPServer(
      configuration: configuration, handler: ProxyPages(server: self, handler: router()))
    try server.start()
    self.server.withLock { $0 = server }
    var url = "http://\(try #require(server.boundAddresses.first))"
    if case .tcp(_, let port)? = server.boundSecureAddresses.first { url = "https://localhost:\(port)" }
    do {
      let result = try await body(url)
      await server.drain()
      return result
    } catch {
      await server.drain()
      throw error
    }
  }

  /// How many connections were made so far.
  var acceptedConnections: UInt64 { server.current?.statistics().acceptedConnections ?? 0 }

  func change(_ body: @Sendable (inout State) -> Void) { state.withLock { body(&$0) } }

  /// The feed tells the device of it.
  func tell(_ entry: FeedEntry) {
    change { $0.feed = ($0.feed ?? []) + [entry] }
    news.signal()
  }

  /// A purchase of that product enters the queue.
  func queuePurchase(
    _ product: String = FixturePackage.product, transaction: String = "2000000000000001",
    device: DeviceIdentifier? = nil
  ) throws {
    let entry = try Self.sale(of: product, as: transaction, on: device)
    state.withLock { $0.transactions.append(entry) }
  }

  static func sale(
    of product: String, as transaction: String, on device: DeviceIdentifier? = nil
  ) throws -> StoreTransaction {
    StoreTransaction(
      id: try #require(TransactionIdentifier(transaction)),
      originalId: try #require(TransactionIdentifier(transaction)),
      product: try #require(ProductIdentifier(product)), quantity: 1, state: .purchased,
      purchaseDate: Timestamp(millisecondsSinceEpoch: 1_795_249_800_000), device: device)
  }

  /// How many times each piece of the package was sent completely.
  func timesSent(_ package: FixturePackage) -> [Int] {
    let sent = state.current.sent
    return (0..<package.manifest.layout.count).map { piece in
      let range = package.manifest.layout.range(of: piece)
      return sent.count { $0.lowerBound <= Int(range.lowerBound) && Int(range.upperBound) <= $0.upperBound }
    }
  }
}
