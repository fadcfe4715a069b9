import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import ServiceAPI

/// The payment store's interface for one of its customers.
struct StoreQueueClient: Sendable {
  /// The store's answer about its queue.
  struct Queue: Sendable {
    /// In the store's order.
    var transactions: [StoreTransaction] = []
    /// Whether that is all of it: what is missing here has left the queue.
    var isComplete = false
    /// ``TransactionsResponse/revision``
    var revision: Int64?
    /// ``TransactionsResponse/tag``, where all of it came in one page.
    var tag: String?
  }

  /// Transactions of one page, which a store gives where it has so many; a shorter page is the last one.
  static let pageLength = 1000
  /// Pages of one answer that are asked for.
  static let maximumPages = 100
  /// The longest wait for a change of the queue: less than proxies leave a connection without bytes.
  static let longestWait: Duration = .seconds(50)

  /// The client with the account's token.
  private let api: APIClient
  /// The health that calls of the store are counted in.
  private let monitor: EndpointHealth
  /// The device that receipts and purchases are bound to.
  private let device: DeviceIdentifier
  /// The store's name at the delivery server; nil where the server knows one store only.
  private let name: StoreIdentifier?
  /// How long what the store offers is waited for: a shop is shown without it as well.
  private let offersPatience: Duration
  /// Transactions that a page is asked for; 1 or more.
  private let pageLength: Int
  /// A moment's receipt, so that the questions of one turn share it.
  private let receipts: RecentAnswers<DeviceIdentifier, Proof, APICallError>

  /// The gate that its calls pass; callers ask it when the way to the store is open again.
  var network: NetworkGate { monitor.network }

  /// `api` carries the account's token.
  init(
    api: APIClient, monitor: EndpointHealth, device: DeviceIdentifier, name: StoreIdentifier? = nil,
    clock: any MonotonicClock = SystemMonotonicClock(), offersPatience: Duration = .seconds(5),
    pageLength: Int = Self.pageLength
  ) {
    self.api = api
    self.monitor = monitor
    self.device = device
    self.name = name
    self.offersPatience = offersPatience
    self.pageLength = pageLength
    receipts = RecentAnswers(lifetime: .seconds(60), clock: clock)
  }

  /// Asks whether the store is there and knows the account; for its health alone. It asks for one transaction
  /// of the queue, with the account's token.
  func probe(timeout: Duration) async throws(APICallError) {
    var api = api
    api.timeout = timeout
    _ = try await monitor.observe("GET /store/v1/transactions") { () async throws(APICallError) in
      try await api.get(
        "/store/v1/transactions", query: queue + [("limit", "1")],
        as: TransactionsResponse.self)
    }
  }

  /// The queue, page by page: every transaction that is not finished. `noteQuestion` is called before each
  /// page. Throws the failure of any page, and then nothing of the queue counts. Pages are asked one after
  /// the other, ``maximumPages`` at most; then ``Queue/isComplete`` is false.
  func unfinishedTransactions(
    _ noteQuestion: @Sendable () -> Void = {}
  ) async throws(APICallError) -> Queue {
    var queue = Queue()
    var known: Set<TransactionIdentifier> = []
    for _ in 0..<Self.maximumPages {
      noteQuestion()
      let answer = try await page(after: queue.transactions.last?.id)
      let page = answer.transactions
      queue.revision = answer.revision
      queue.tag = queue.transactions.isEmpty ? answer.tag : nil
      let new = page.filter { known.insert($0.id).inserted }
      queue.transactions += new
      if page.count < pageLength {
        queue.isComplete = true
        break
      }
      // A store that gives the same page again has no other.
      if new.isEmpty { break }
    }
    return queue
  }

  /// Waits at the store until the queue has another tag than that, but no longer than ``longestWait``. Returns the tag that it has then;
  /// nil of a store that does not wait.
  func tag(otherThan tag: String) async throws(APICallError) -> String? {
    var api = api
    // The store answers in time; what lies between is given some of its own.
    api.timeout = Self.longestWait + .seconds(20)
    let query =
      queue + [
        ("limit", "\(pageLength)"), ("known", tag), ("wait", "\(Self.longestWait.components.seconds)"),
      ]
    return try await monitor.observeWaiting("GET /store/v1/transactions") {
      [api] () async throws(APICallError) in
      try await api.get("/store/v1/transactions", query: query, as: TransactionsResponse.self)
    }.tag
  }

  /// The query for unfinished transactions of this device and of no device. Another device's purchases are delivered by
  /// that device.
  private var queue: [(String, String)] { [("unfinished", "true"), ("device", device.description)] }

  /// One page of the queue, behind that transaction; the first for nil.
  private func page(after: TransactionIdentifier?) async throws(APICallError) -> TransactionsResponse {
    var query = queue + [("limit", "\(pageLength)")]
    if let after { query.append(("after", after.description)) }
    return try await monitor.observe("GET /store/v1/transactions") { () async throws(APICallError) in
      try await api.get("/store/v1/transactions", query: query, as: TransactionsResponse.self)
    }
  }

  /// The account's receipt, bound to this device; one that was fetched for another question a moment ago, since a
  /// receipt holds every purchase. It may be up to a minute old. ``noteNewPurchase()`` ends that.
  func receipt() async throws(APICallError) -> Proof {
    try await keptReceipt().proof
  }

  /// Calls `body` with the account's receipt; once more with a fresh one where a kept one is refused. A
  /// failure of the store is thrown as the store's, one of `body` as the server's.
  func withReceipt<Value: Sendable>(
    _ body: @Sendable (Proof) async throws(APICallError) -> Value
  ) async throws(StepFailure) -> Value {
    let first: (proof: Proof, isKept: Bool)
    do {
      first = try await keptReceipt()
    } catch {
      throw StepFailure(error, from: .store)
    }
    do {
      return try await body(first.proof)
    } catch {
      guard first.isKept, error.mayBeOfReceipt else { throw StepFailure(error, from: .server) }
    }
    await receipts.removeAll()
    let second: Proof
    do {
      second = try await receipt()
    } catch {
      throw StepFailure(error, from: .store)
    }
    do {
      return try await body(second)
    } catch {
      throw StepFailure(error, from: .server)
    }
  }

  /// `isKept` tells that it was asked for by an earlier question.
  private func keptReceipt() async throws(APICallError) -> (proof: Proof, isKept: Bool) {
    let kept = try await receipts.value(of: device) { () async throws(APICallError) in
      let response = try await monitor.observe("GET /store/v1/receipt") { () async throws(APICallError) in
        try await api.get(
          "/store/v1/receipt", query: [("device", device.description)], as: ReceiptResponse.self)
      }
      return Proof(store: name?.description, receipt: response.receipt)
    }
    return (kept.value, kept.isKept)
  }

  /// Something was bought or restored that an earlier receipt does not hold.
  func noteNewPurchase() async {
    await receipts.removeAll()
  }

  /// Buys once, however often it is called with one `key`. An answer that is lost on its way is asked for
  /// again. It is asked once more at once; a second loss is thrown. The receipts that are kept are dropped
  /// afterwards.
  func purchase(_ request: AgentPurchaseRequest, key: String) async throws(APICallError) -> StoreTransaction {
    do {
      return try await askToPurchase(request, key: key)
    } catch {
      guard case .unreachable(let cause) = error, cause.code == .connectionLost else { throw error }
      return try await askToPurchase(request, key: key)
    }
  }

  /// One request with the idempotency key.
  private func askToPurchase(
    _ request: AgentPurchaseRequest, key: String
  ) async throws(APICallError) -> StoreTransaction {
    let body = PurchaseRequest(
      product: request.product, quantity: request.quantity, applicationUsername: request.applicationUsername,
      device: device, optIn: request.optIn, shown: request.shown)
    let response = try await monitor.observe("POST /store/v1/purchases") { () async throws(APICallError) in
      try await api.call(
        "POST", "/store/v1/purchases", body: body, headers: [("Idempotency-Key", key)],
        as: TransactionResponse.self
      ).value
    }
    await receipts.removeAll()
    return response.transaction
  }
}

/// The requests that a reader makes to the store.
extension StoreQueueClient {
  /// Redeems a code once, however often it is called with one `key`. An answer that is lost on its way is asked for again.
  func redeem(_ code: GiftCode, key: String) async throws(APICallError) -> StoreTransaction {
    do {
      return try await askToRedeem(code, key: key)
    } catch {
      guard case .unreachable(let cause) = error, cause.code == .connectionLost else { throw error }
      return try await askToRedeem(code, key: key)
    }
  }

  /// One request with the idempotency key.
  private func askToRedeem(_ code: GiftCode, key: String) async throws(APICallError) -> StoreTransaction {
    let response = try await monitor.observe("POST /store/v1/codes") { () async throws(APICallError) in
      try await api.call(
        "POST", "/store/v1/codes/\(code)", headers: [("Idempotency-Key", key)], as: TransactionResponse.self
      ).value
    }
    await noteNewPurchase()
    return response.transaction
  }

  /// Returns what the store says that a code gives the account; nil where it does not tell that before a redemption. Throws the store's
  /// refusal of the code.
  func preview(of code: GiftCode) async throws(APICallError) -> CodePreview? {
    do {
      let told = try await monitor.observe("GET /store/v1/codes") { () async throws(APICallError) in
        try await api.get("/store/v1/codes/\(code)", as: CodePreview.self)
      }
      return told
    } catch {
      guard error.isOfNoOffer else { throw error }
      return nil
    }
  }

  /// Returns the store's offers to the account for these products, 1 to ``AccountOffersResponse/maximumProducts``, and its
  /// bonus, as far as they can be read. The result is empty where the store does not say. Products that were
  /// not asked for are dropped from the answer. The store may be there and not answer this in time.
  func offers(
    of products: [ProductIdentifier]
  ) async throws(APICallError) -> [ProductIdentifier: ProductAccountOffers] {
    var api = api
    api.timeout = offersPatience
    do {
      let answer = try await monitor.observe("GET /store/v1/offers", isOptional: true) {
        () async throws(APICallError) in
        try await api.get(
          "/store/v1/offers", query: products.map { ("product", $0.description) }, as: AccountOfferList.self)
      }
      let asked = Set(products)
      return answer.offers.filter { asked.contains($0.key) }
    } catch {
      // A store without such a route.
      guard case .problem(let problem) = error, problem.code == .notFound else { throw error }
      return [:]
    }
  }

  /// The territory of the account, its currency, and whether it may buy.
  func account() async throws(APICallError) -> StoreAccount {
    try await monitor.observe("GET /store/v1/account") { () async throws(APICallError) in
      try await api.get("/store/v1/account")
    }
  }

  /// The account's subscriptions, also those that are over.
  func subscriptions() async throws(APICallError) -> SubscriptionsResponse {
    try await monitor.observe("GET /store/v1/subscriptions") { () async throws(APICallError) in
      try await api.get("/store/v1/subscriptions")
    }
  }

  /// Asks for a refund, which the store decides on later. Nil of a store that takes no such request from a program of its customer's.
  func requestRefund(
    of transaction: TransactionIdentifier, _ application: RefundApplication
  ) async throws(APICallError) -> StoreTransaction? {
    do {
      return try await monitor.observe("POST /store/v1/transactions/refund-request") {
        () async throws(APICallError) in
        try await api.call(
          "POST", "/store/v1/transactions/\(transaction)/refund-request", body: application,
          as: TransactionResponse.self
        ).value.transaction
      }
    } catch {
      if error.isOfNoOffer { return nil }
      throw error
    }
  }

  /// Changes what comes after the present period of a subscription.
  func change(
    _ subscription: TransactionIdentifier, to change: SubscriptionChange
  ) async throws(APICallError) -> StoreSubscription {
    try await monitor.observe("PATCH /store/v1/subscriptions") { () async throws(APICallError) in
      try await api.call("PATCH", "/store/v1/subscriptions/\(subscription)", body: change).value
    }
  }
}

/// The reading of a store's refusals.
extension APICallError {
  /// Whether the store does not offer that, or answers in words of tomorrow.
  fileprivate var isOfNoOffer: Bool {
    if case .unexpectedResponse(let status, _, _, let isPage) = self {
      return !isPage && (200..<300).contains(status)
    }
    return isOfMissingRoute
  }

  /// Whether another receipt might change the answer.
  fileprivate var mayBeOfReceipt: Bool {
    guard case .problem(let problem) = self else { return false }
    return (400..<500).contains(problem.status) && problem.status != 429
  }
}
