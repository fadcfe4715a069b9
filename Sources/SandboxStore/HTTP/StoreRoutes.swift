import Commerce
import CoreTypes
import Database
import HTTPServer
import Monitoring
import PullboxAPI
import PullboxAPIServer
import Receipts
import SandboxRecords
import ServiceAPI
import ServiceRuntime

/// The HTTP routes of the store.
struct StoreRoutes: Sendable {
  let store: PaymentStore
  /// The credential with which the delivery server finishes transactions.
  private let serverCredential: SecretDigest
  /// The key that test controls need; nil where they need none.
  let controlKey: SecretDigest?
  let log: Log
  private let metrics: ServiceMetrics
  /// The App Store Server API, where the store signs data.
  var serverAPI: ServerAPIRoutes?
  /// The Google-like interface.
  var google: GoogleRoutes?
  /// The certificates of signed data, where there are any.
  var certificates: CertificateRoutes?
  /// Called after each request that may have changed something.
  var didChange: @Sendable () -> Void = {}

  /// - Parameters:
  ///   - serverCredential: the delivery server's, without which no transaction is finished.
  ///   - metrics: counts the requests of each route, and makes the page of `GET /metrics`.
  init(
    store: PaymentStore, serverCredential: SecretDigest, controlKey: SecretDigest? = nil, log: Log,
    metrics: ServiceMetrics
  ) {
    self.controlKey = controlKey
    self.store = store
    self.serverCredential = serverCredential
    self.log = log
    self.metrics = metrics
  }

  /// All routes. Their order matters: ``didChange`` is called after those of customers and servers that are
  /// no GET, and the faults stand before these and before `finish`. Errors that are no problems are logged
  /// with the request's identifier.
  func router() -> Router {
    var routes = APIRoutes()
    addCustomerRoutes(to: &routes)
    addSubscriptions(to: &routes)
    addVerification(to: &routes)
    serverAPI?.add(to: &routes)
    google?.add(to: &routes)
    certificates?.addResponder(to: &routes)
    routes.wrap { [didChange] method, _ in
      guard method != .get else { return nil }
      return { request, _, respond in
        defer { didChange() }
        return try await respond(request)
      }
    }
    routes.on(.post, "/store/v1/transactions/{id}/finish", use: finish)
    addRefundApplications(to: &routes)
    addFaults(to: &routes)
    addControls(to: &routes)
    routes.on(.get, "/metrics") { [metrics] _, _ in .metrics(await metrics.page()) }
    routes.onHealth { [store] in
      do {
        try await store.database.check()
        return nil
      } catch {
        return
          "the database cannot be used: \((error as? DatabaseError)?.code.description ?? "it does not answer")"
      }
    }
    return routes.router(
      reporting: { [log] request, error in
        log.error(
          "a request failed",
          ["request": "\(request.id)", "path": "\(request.path)", "error": LogValue(error)])
      },
      observing: { [requests = metrics.routes] route, _, response, problem, duration in
        requests.count(
          route: route, status: response.status.rawValue, problem: problem?.code?.text, duration: duration)
      })
  }

  /// Adds the routes that apps call with an account's token. Each makes the account's renewals before it
  /// answers.
  private func addCustomerRoutes(to routes: inout APIRoutes) {
    routes.on(.post, "/store/v1/purchases") { [store, log] request, _ in
      let account = try await store.customer(of: request)
      let order = try await request.decode(PurchaseRequest.self, upTo: .kibibytes(16))
      let transaction = try await store.purchase(order, by: account, key: try request.idempotencyKey())
      log.info(
        "purchase",
        [
          "transaction": "\(transaction.id)", "product": "\(transaction.product)",
          "state": "\(transaction.state.rawValue)", "account": "\(account.name)",
        ])
      return try .json(TransactionResponse(transaction: transaction), status: .created)
    }
    routes.on(.get, "/store/v1/transactions") { [store] request, _ in
      let account = try await store.customer(of: request)
      let most = store.limits.transactionsPerPage
      let question = TransactionQuestion(
        device: try request.device("device"), isOfQueue: try request.flag("unfinished"),
        after: try request.transaction("after"),
        limit: try request.number("limit", in: 1...most, default: most))
      let wait = try request.number("wait", in: 0...TransactionQuestion.longestWait, default: 0)
      guard let known = request.queryValue("known") else {
        return try .json(try await store.answer(to: question, of: account))
      }
      return try .json(
        try await store.answer(to: question, of: account, otherThan: known, within: .seconds(wait)))
    }
    routes.on(.get, "/store/v1/receipt") { [store] request, _ in
      let account = try await store.customer(of: request)
      guard let device = try request.device("device") else {
        throw Problem(.requestMalformed, "device names a device")
      }
      let bundle = request.queryValue("bundle")
      // A bundle identifier is spelled like a product's.
      guard bundle == nil || bundle.flatMap(ProductIdentifier.init) != nil else {
        throw Problem(.requestMalformed, "bundle is a bundle identifier")
      }
      return try await .json(store.receipt(for: account, device: device, bundleIdentifier: bundle))
    }
    routes.on(.get, "/store/v1/transactions/{id}/receipt") { [store] request, parameters in
      let account = try await store.customer(of: request)
      return try await .json(store.receipt(of: parameters["id"], for: account))
    }
    routes.on(.post, "/store/v1/transactions/{id}/purchase-token") { [store] request, parameters in
      let account = try await store.customer(of: request)
      return try await .json(store.purchaseToken(of: parameters["id"], for: account))
    }
    routes.on(.get, "/store/v1/account") { [store] request, _ in
      try .json(store.publicAccount(try await store.customer(of: request)))
    }
    routes.on(.get, "/store/v1/offers") { [store] request, _ in
      let account = try await store.customer(of: request)
      let names = request.queryValues("product")
      let products = Set(names.compactMap { ProductIdentifier($0) })
      guard (1...AccountOffersResponse.maximumProducts).contains(names.count), products.count == names.count
      else {
        throw Problem(
          .requestMalformed,
          "product names a product, each once, \(AccountOffersResponse.maximumProducts) at most")
      }
      return try .json(
        AccountOffersResponse(products: try await store.offers(of: products.sorted(), to: account)))
    }
    routes.on(.get, "/store/v1/codes/{code}") { [store] request, parameters in
      let account = try await store.customer(of: request)
      return try await .json(store.preview(of: parameters["code"], for: account))
    }
    routes.on(.post, "/store/v1/codes/{code}") { [store, log] request, parameters in
      let account = try await store.customer(of: request)
      let transaction = try await store.redeem(
        parameters["code"], by: account, key: try request.idempotencyKey())
      log.info("code redeemed", ["transaction": "\(transaction.id)", "account": "\(account.name)"])
      return try .json(TransactionResponse(transaction: transaction), status: .created)
    }
    routes.on(.post, "/store/v1/restore") { [store, log] request, _ in
      let account = try await store.customer(of: request)
      let wanted = try await request.decode(RestorePurchasesRequest.self, upTo: .kibibytes(16))
      let restored = try await store.restore(for: account, device: wanted.device)
      log.info("restored", ["account": "\(account.name)", "count": LogValue(restored.count)])
      return try .json(TransactionsResponse(transactions: restored))
    }
  }

  /// Adds the two routes by which an app lists its account's subscriptions and changes one.
  private func addSubscriptions(to routes: inout APIRoutes) {
    routes.on(.get, "/store/v1/subscriptions") { [store] request, _ in
      let account = try await store.customer(of: request)
      return try await .json(SubscriptionsResponse(subscriptions: store.subscriptions(of: account)))
    }
    routes.on(.patch, "/store/v1/subscriptions/{originalId}") { [store] request, parameters in
      let account = try await store.customer(of: request)
      let change = try await request.decode(SubscriptionChange.self, upTo: .kibibytes(16))
      return try await .json(store.change(parameters["originalId"], of: account, to: change))
    }
  }

  /// Takes the delivery server's credential alone.
  private func finish(_ request: HTTPRequest, _ parameters: PathParameters) async throws -> HTTPResponse {
    guard serverCredential.matches(request.bearerToken) else {
      // A customer gets `forbidden`; a request without any known token gets `unauthorized`.
      _ = try await store.account(token: request.bearerToken)
      throw Problem(.forbidden, "only the delivery server finishes transactions")
    }
    let transaction = try await store.finish(parameters["id"])
    log.info("transaction finished", ["transaction": "\(transaction.id)"])
    return try .json(TransactionResponse(transaction: transaction))
  }
}

extension StoreRoutes {
  /// `POST /verifyReceipt` as its documentation says: the verdict is in the body, the status is 200.
  func addVerification(to routes: inout APIRoutes) {
    routes.on(.post, "/verifyReceipt") { [store] request, _ in
      let body = try await request.bytes(upTo: Self.maximumVerificationLength)
      let question: VerifyReceiptRequest
      do {
        question = try APIJSON.decode(VerifyReceiptRequest.self, from: body)
      } catch is DecodingError {
        return try .json(VerifyReceiptResponse(status: store.stated(.malformed)))
      }
      return try await .json(store.verify(question))
    }
    for method in [HTTPMethod.get, .put, .patch, .delete] {
      routes.on(method, "/verifyReceipt") { _, _ in try .json(VerifyReceiptResponse(status: .notPost)) }
    }
  }

  /// Longer bodies are answered 413.
  private static let maximumVerificationLength = ByteCount(3_145_728)
}

extension PaymentStore {
  /// The account whose token the request bears, with every renewal that has fallen due. Throws `unauthorized`.
  func customer(of request: HTTPRequest) async throws -> Account {
    let account = try await account(token: request.bearerToken)
    try await catchUp(account: account.id)
    return account
  }
}

extension HTTPRequest {
  /// Nil when it is not there. Throws `request-malformed` for a text that is no device.
  func device(_ name: String) throws(Problem) -> DeviceIdentifier? {
    guard let text = queryValue(name) else { return nil }
    guard let device = DeviceIdentifier(text) else {
      throw Problem(.requestMalformed, "\(name) names a device")
    }
    return device
  }

  /// `true` or `false`; false when it is not there. Throws `request-malformed` for any other value.
  func flag(_ name: String) throws(Problem) -> Bool {
    switch queryValue(name) {
    case nil, "false": return false
    case "true": return true
    default: throw Problem(.requestMalformed, "\(name) is true or false")
    }
  }

  /// Nil when it is not there. Throws `request-malformed` for a text that names no transaction.
  func transaction(_ name: String) throws(Problem) -> TransactionIdentifier? {
    guard let text = queryValue(name) else { return nil }
    guard let identifier = TransactionIdentifier(text) else {
      throw Problem(.requestMalformed, "\(name) names a transaction")
    }
    return identifier
  }
}
