package import Commerce
package import ContentPackage
package import CoreTypes
package import Crypto
import HTTPServer
package import PackageTesting
package import PullboxAPI
package import PullboxTesting
package import ServiceAPI
package import ServiceRuntime

/// A payment store and a delivery server in one, small and obedient: it does what a test says, and remembers
/// what it was asked.
package final class FakeServer: Sendable {
  /// How one content request is to be answered.
  package enum ContentFault: Sendable {
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
    /// Not even a head comes; the signal is given once the request is there.
    case deaf(AsyncSignal)
  }

  /// The tags of the store's answers about its queue, by which questions may wait for a change.
  package enum QueueTags: Sendable {
    case none
    /// Answers have tags, and no question waits.
    case told
    /// A question with the tag of the queue waits for another one.
    case awaited
    /// Each answer has a tag of its own, as if every question changed the queue.
    case everNew
  }

  package struct State: Sendable {
    /// The latest words about what was read, by grant, and all that devices told.
    package var reading: [String: ReadingProgress] = [:]
    package var readingTold: [ReadingProgress] = []
    package var package: [FixturePackage] = []
    package var transactions: [StoreTransaction] = []
    /// The name that proofs must give the store; nil for a server that knows one store only.
    package var storeName: String?
    /// Whether the entitlements endpoint lists everything in ``package``; true unless set.
    package var isReleased = true
    /// The transactions that pay for products that the entitlements endpoint does not list: bought or released a moment later.
    package var payments: [ProductIdentifier: TransactionIdentifier] = [:]
    /// Products that the entitlements endpoint leaves out and their transactions owe all the same: released a moment later.
    package var unplanned: Set<ProductIdentifier> = []
    /// The member of the entitlements endpoint's answer about the device's place with its customer.
    package var hasPlace: Bool?
    package var subscribedUntil: [String: Timestamp]?
    package var subscribedSince: [String: Timestamp]?
    /// In place of ``listings`` for those who have subscribed since then.
    package var preserved: (since: Timestamp, listing: ProductListing)?
    /// Whether transactions that wait and are entitled to nothing are finished at the store.
    package var settlesEmpty = false
    /// Answers in place of the usual one, by `METHOD /path` with the grant left out; used up one by one, the
    /// last stays.
    package var refusals: [String: [Problem]] = [:]
    /// Pages of a proxy in front of the server, used up one by one, by the names of ``refusals``.
    package var pages: [String: [Page]] = [:]
    /// In front of everything, while it is set: what a network that wants a log-in first answers.
    package var portal: Page?
    /// Requests that ``portal`` has answered.
    package var portalRequests = 0
    /// Transactions of one page of the queue, at most.
    package var queuePage = 1000
    /// The store takes a request for its queue and does not answer.
    package var isStoreDeaf = false
    /// The store has looked at its queue and does not answer yet.
    package var isQueueHeld = false
    /// Before each half of a manifest is sent.
    package var manifestPause: Duration?
    /// The connection breaks after so many bytes of a manifest.
    package var manifestCut: Int?
    /// The bytes of manifests as they were sent, cut or not.
    package var manifestsSent: [Range<Int>] = []
    /// When each request came, by those names.
    package var arrivals: [String: [MonotonicInstant]] = [:]
    package var contentFaults: [ContentFault] = []
    /// Products whose manifests, or reports, are refused for now, and those whose content comes in two halves with a pause between.
    package var unreadyManifests: Set<ProductIdentifier> = []
    package var unreadyReports: Set<ProductIdentifier> = []
    package var slowContent: Set<ProductIdentifier> = []
    /// Whether the store has answered the server about finishing.
    package var isStoreUp = true
    package var asked: [String] = []
    /// The consent in each request for a grant.
    package var consents: [Consent?] = []
    /// The answers of `GET /v1/products/{id}/cover`, by product; a problem where there is none. Nil of one: it is not answered.
    package var covers: [String: [UInt8]?] = [:]
    /// Products that one question about listings may name.
    package var maximumNames: Int?
    /// Products whose covers cannot be answered now, nor questions that name them.
    package var unavailableCovers: Set<String> = []
    package var unavailableListings: Set<String> = []
    /// The widths that covers were asked for in.
    package var coverWidths: [String?] = []
    /// The products that are for sale, and the account that they are for sale to.
    package var listings: [ProductListing] = []
    package var publications: [PublicationListing] = []
    package var subscriptions: [StoreSubscription] = []
    package var account = StoreAccount(
      territory: "USA", currency: "USD", environment: "Sandbox", canMakePayments: true)
    /// The queries of `GET /v1/products`, and what came with purchases.
    package var productQueries: [String] = []
    /// The contents that devices could not verify.
    package var failures: [VerificationFailure] = []
    /// The application that each question for products and publications named.
    package var applications: [String?] = []
    package var purchases: [PurchaseRequest] = []
    /// The transactions that were sold, by their keys, and the keys of the requests.
    package var sold: [String: StoreTransaction] = [:]
    package var purchaseKeys: [String?] = []
    /// The products that codes are good for, and those that were redeemed, with the keys of the requests.
    package var codes: [String: String] = [:]
    package var redemptions: [String] = []
    /// The store's word on the content of its codes; nil for one that does not tell it before a redemption.
    package var codePreviews: [String: CodePreview]?
    /// In their place, as it stands.
    package var codePreviewDocument: String?
    /// The store takes requests for codes and does not decide on them yet.
    package var areCodesHeld = false
    /// The offers of the store; nil for one that has no such route.
    package var offers: [ProductAccountOffers]?
    /// In their place, as it stands.
    package var offersDocument: String?
    /// The store takes a question for its offers and does not answer.
    package var isDeafForOffers = false
    /// Ranges of the package as they were sent, whole or cut.
    package var sent: [Range<Int>] = []
    package var grants: [String: RecordedGrant] = [:]
    package var deviceKey: VerificationKey?
    /// The time by which this server's clock is ahead of the device's, and the proofs that were signed for another time.
    package var clockOffset: Duration = .zero
    package var wrongTimes = 0
    package var reports: [CompletionReport] = []
    package var ticket = "ticket-1"
    package var receiptsGiven = 0
    /// The device that the queue was last asked for.
    package var queueDevice: String?
    /// The revision of the account's purchases, on whatever device.
    package var accountRevision: Int64?
    /// The tags of the store's answers about its queue.
    package var queueTags = QueueTags.none
    /// When questions that gave a tag back came.
    package var queueWaits: [MonotonicInstant] = []
    /// The product's keys, those that sign its manifests, and what is done to a signature on its way.
    package var previous: PreviousContent?
    package var publisherKeys: [PublisherKeyIdentifier]?
    package var signingKeys: [SigningKey] = []
    /// In place of the package's own, a later version's for example.
    package var manifestDocument: [UInt8]?
    /// The entries that the feed has told; its cursor is their number. Nil for a server that has no feeds.
    package var feed: [FeedEntry]?
    /// The next question's cursor is of a feed that is no more: all of this one is told.
    package var isFeedNew = false
    /// The token that answers about a receipt bring; those that the feed was asked with, which are all good.
    package var feedToken = "feed"
    package var feedTokens: [String] = []
    /// How many seconds each question for the feed would have waited for news.
    package var feedWaits: [Int] = []
    /// The keys that licenses are signed with, the newest last, each endorsed by the one before; empty for a server that has no licenses.
    package var licenseKeys: [SigningKey] = []
    /// Whether the first license is given again to every later question, and that one.
    package var repeatsLicenses = false
    var firstLicense: LicenseResponse?
    /// The device's key in place of its own, and how long a license is good.
    package var licensedKey: VerificationKey?
    package var licenseLifetime: Duration = .seconds(30 * 86_400)
    /// How often a license was asked for, whether there was one or not.
    package var licenseQuestions = 0
    /// The keys of applications for reading.
    package var readers = FakeReaders()
    package var spoilSignature: @Sendable (inout PublisherSignature) -> Void = { _ in }
  }

  /// The page that nginx or a content network answers in the server's place: HTML, and no problem document.
  package struct Page: Hashable, Sendable {
    package var status: Int
    package var retryAfter: Int?

    package init(status: Int, retryAfter: Int? = nil) {
      self.status = status
      self.retryAfter = retryAfter
    }
  }

  package struct RecordedGrant: Sendable {
    package var name: GrantState
    package var product: ProductIdentifier
    package var transaction: TransactionIdentifier
  }

  package let state: Locked<State>
  /// The questions for the feed that are open, each of which is told of news.
  let listeners: Locked<[ObjectIdentifier: AsyncSignal]> = Locked([:])
  private let server: Locked<HTTPServer?> = Locked(nil)

  package init(_ package: [FixturePackage] = []) {
    state = Locked(State(package: package))
  }

  /// Serves while `body` runs; gives it the address: `https://localhost` with a `certificate`.
  package func open<Result: Sendable>(
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
    // Its pages hold this object.
    defer { self.server.withLock { $0 = nil } }
    guard let address = server.boundAddresses.first else { throw FakeServerError("it has no address") }
    var url = "http://\(address)"
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

  /// How many connections were made so far, while it serves.
  package var acceptedConnections: UInt64 { server.current?.statistics().acceptedConnections ?? 0 }

  package func change(_ body: @Sendable (inout State) -> Void) { state.withLock { body(&$0) } }

  /// The feed tells the device of it.
  package func tell(_ entry: FeedEntry) {
    change { $0.feed = ($0.feed ?? []) + [entry] }
    tellOfNews()
  }

  /// Wakes the questions for the feed, which look again.
  package func tellOfNews() {
    for listener in listeners.current.values { listener.signal() }
  }

  /// A purchase of that product enters the queue.
  package func queuePurchase(
    _ product: String = FixturePackage.product, transaction: String = "2000000000000001",
    device: DeviceIdentifier? = nil
  ) throws {
    let entry = try Self.sale(of: product, as: transaction, on: device)
    state.withLock { $0.transactions.append(entry) }
  }

  package static func sale(
    of product: String, as transaction: String, on device: DeviceIdentifier? = nil
  ) throws -> StoreTransaction {
    guard let id = TransactionIdentifier(transaction), let sold = ProductIdentifier(product) else {
      throw FakeServerError("\(transaction) of \(product) is no purchase")
    }
    return StoreTransaction(
      id: id, originalId: id, product: sold, quantity: 1, state: .purchased,
      purchaseDate: Timestamp(millisecondsSinceEpoch: 1_795_249_800_000), device: device)
  }

  /// How many times each piece of the package was sent completely.
  package func timesSent(_ package: FixturePackage) -> [Int] {
    let sent = state.current.sent
    return (0..<package.manifest.layout.count).map { piece in
      let range = package.manifest.layout.range(of: piece)
      return sent.count { $0.lowerBound <= Int(range.lowerBound) && Int(range.upperBound) <= $0.upperBound }
    }
  }
}

/// A server that cannot do as a test wants.
package struct FakeServerError: Error, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}
