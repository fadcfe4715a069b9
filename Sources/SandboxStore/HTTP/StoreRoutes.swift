import Commerce
import CoreTypes
import Database
import HTTPServer
import Monitoring
import PullboxAPI
import PullboxAPIServer
import Receipts
import ServiceRuntime

/// What the store answers over HTTP.
struct StoreRoutes: Sendable {
  let store: PaymentStore
  /// What the delivery server shows to finish transactions.
  private let serverCredential: SecretDigest
  private let log: Log
  private let metrics: ServiceMetrics

  init(store: PaymentStore, serverCredential: SecretDigest, log: Log, metrics: ServiceMetrics) {
    self.store = store
    self.serverCredential = serverCredential
    self.log = log
    self.metrics = metrics
  }

  func router() -> Router {
    var routes = APIRoutes()
    addCustomerRoutes(to: &routes)
    addSandboxRoutes(to: &routes)
    addVerification(to: &routes)
    routes.on(.post, "/store/v1/transactions/{id}/finish", use: finish)
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

  private func addCustomerRoutes(to routes: inout APIRoutes) {
    routes.on(.post, "/store/v1/purchases") { [store, log] request, _ in
      let account = try await store.account(token: request.bearerToken)
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
      let account = try await store.account(token: request.bearerToken)
      let most = store.limits.transactionsPerPage
      let transactions = try await store.transactions(
        of: account, inQueue: try request.flag("unfinished"), after: try request.transaction("after"),
        limit: try request.number("limit", in: 1...most, default: most))
      return try .json(TransactionsResponse(transactions: transactions))
    }
    routes.on(.get, "/store/v1/receipt") { [store] request, _ in
      let account = try await store.account(token: request.bearerToken)
      guard let device = request.queryValue("device").flatMap(DeviceIdentifier.init) else {
        throw Problem(.requestMalformed, "device names a device")
      }
      let bundle = request.queryValue("bundle")
      // A bundle identifier is spelled like a product's.
      guard bundle == nil || bundle.flatMap(ProductIdentifier.init) != nil else {
        throw Problem(.requestMalformed, "bundle is a bundle identifier")
      }
      return try await .json(store.receipt(for: account, device: device, bundleIdentifier: bundle))
    }
  }

  private func addSandboxRoutes(to routes: inout APIRoutes) {
    routes.on(.post, "/sandbox/v1/accounts") { [store, log] request, _ in
      let response = try await store.openAccount(request.decode(AccountRequest.self, upTo: .kibibytes(16)))
      log.info("account opened", ["account": "\(response.account)"])
      return try .json(response, status: .created)
    }
    routes.on(.post, "/sandbox/v1/purchases/fail-next") { [store] request, _ in
      try await store.failNextPurchase(of: store.account(token: request.bearerToken))
      return HTTPResponse(status: .noContent)
    }
  }

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
        return try .json(VerifyReceiptResponse(status: .malformed))
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

extension HTTPRequest {
  /// `true` or `false`; false when it is not there.
  func flag(_ name: String) throws(Problem) -> Bool {
    switch queryValue(name) {
    case nil, "false": return false
    case "true": return true
    default: throw Problem(.requestMalformed, "\(name) is true or false")
    }
  }

  /// Nil when it is not there.
  func transaction(_ name: String) throws(Problem) -> TransactionIdentifier? {
    guard let text = queryValue(name) else { return nil }
    guard let identifier = TransactionIdentifier(text) else {
      throw Problem(.requestMalformed, "\(name) names a transaction")
    }
    return identifier
  }
}
