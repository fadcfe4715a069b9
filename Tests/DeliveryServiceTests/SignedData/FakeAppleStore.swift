import Commerce
import CoreTypes
import Crypto
import Files
import Foundation
import HTTPClient
import HTTPServer
import PullboxAPI
import PullboxAPIClient
import PullboxAPIServer
import PullboxTesting
import Synchronization
import SystemCalls
import Testing

@testable import DeliveryService
@testable import PaymentStores
@testable import Receipts

/// A store of the kind apple, of the test's own: it signs transactions and notifications, answers for its certificates, and
/// tells through the App Store Server API what it knows.
final class FakeAppleStore: Sendable {
  struct State {
    /// The responder for certificates answers nothing.
    var isResponderDown = false
    var revoked: Set<CertificateSerialNumber> = []
    var responderQuestions = 0
    /// Answers to the next calls of the interface, in place of its own.
    var failures: [(status: Int, body: String, retryAfter: String?)] = []
    var calls: [String] = []
    /// How many calls are answered before all others are refused for good.
    var failsAfter: Int?
    var tokens: [String] = []
    /// By the transaction that is asked about.
    var history: [String: [SignedTransaction]] = [:]
    var statuses: [String: (status: Int, transaction: SignedTransaction, renewal: SignedRenewalInfo)] = [:]
    var notifications: [(at: Timestamp, payload: String)] = []
    var finished: [String] = []
    var consumption: [JSONConsumption] = []
    var pageLength = 20
    /// The answer about app receipts; nil where the store is asked about none.
    var verifyReceipt: (@Sendable (VerifyReceiptRequest) -> VerifyReceiptResponse)?
  }

  static let bundle = "com.example.pullbox"
  let state = Mutex(State())
  let clock: ManualWallClock
  let directory: TemporaryDirectory
  let authority: SignedDataAuthority
  private let server: HTTPServer

  init(now: Timestamp = ServerHarness.start, marksRoot: Bool = true) throws {
    clock = ManualWallClock(now)
    directory = try TemporaryDirectory()
    let handler = Handler()
    var configuration = HTTPServerConfiguration(addresses: [.tcp(host: "127.0.0.1", port: 0)])
    configuration.loops = 1
    server = HTTPServer(configuration: configuration, handler: handler.routes.router { _, _ in })
    try server.start()
    let url = "http://" + (server.boundAddresses.first?.description ?? "")
    var options = SignedDataAuthority.Options(responder: url + "/ocsp", now: now)
    options.marksRoot = marksRoot
    let made = try SignedDataAuthority.generate(options)
    self.authority = made
    handler.store.withLock { $0 = WeakStore(store: self) }
    try DurableFile.write(Array(made.root.pem.utf8).span, to: directory.path("root.pem"))
    try DurableFile.write(made.root.der.span, to: directory.path("root.der"))
    let key = try PrivateKey.generate(.p256)
    try DurableFile.write(Array(try key.pem().utf8).span, to: directory.path("key.p8"), permissions: 0o600)
  }

  var url: String { "http://" + (server.boundAddresses.first?.description ?? "") }

  func stop() async { await server.drain() }

  /// An entry of `stores` for this one, with `more` members.
  func option(_ more: String = "", roots: [String] = [], api: Bool = false) -> [String] {
    let files = (["root.pem"] + roots).map { "'\(directory.path($0))'" }.joined(separator: ",")
    let interface = api ? ", api: {sandbox: '\(url)'}" : ""
    let key = api ? "issuer: 'issuer-1', keyId: 'ABC1234567', keyFile: '\(directory.path("key.p8"))'," : ""
    return [
      "--payment-store",
      """
      {name: 'apple', kind: 'apple', bundles: ['\(Self.bundle)'], addresses: {sandbox: '\(url)'\(interface)},
       \(key) roots: [\(files)] \(more.isEmpty ? "" : ", " + more)}
      """,
    ]
  }

  func transaction(
    _ id: String = "2000000000000001", original: String? = nil, product: String = "com.example.issue1"
  ) -> SignedTransaction {
    var transaction = SignedTransaction()
    transaction.transactionId = id
    transaction.originalTransactionId = original ?? id
    transaction.bundleId = Self.bundle
    transaction.productId = product
    transaction.purchaseDate = SignedDate(ServerHarness.start)
    transaction.originalPurchaseDate = SignedDate(ServerHarness.start)
    transaction.signedDate = SignedDate(clock.now())
    transaction.environment = .sandbox
    transaction.type = "Non-Consumable"
    transaction.quantity = 1
    return transaction
  }

  func sign(_ payload: some Encodable, by authority: SignedDataAuthority? = nil) throws -> String {
    try (authority ?? self.authority).sign(Array(try JSONEncoder().encode(payload)))
  }

  /// A notification about a transaction, both signed at `date` unless the transaction has a date of its own.
  func notification(
    _ kind: String, _ transaction: SignedTransaction, at date: Timestamp, transactionAt: Timestamp? = nil,
    uuid: String = UUID().uuidString, bundle: String = bundle, environment: SignedEnvironment = .sandbox,
    number: Int64? = nil, by authority: SignedDataAuthority? = nil
  ) throws -> String {
    var transaction = transaction
    transaction.signedDate = SignedDate(transactionAt ?? date)
    transaction.bundleId = bundle
    transaction.environment = environment
    var notification = SignedNotification()
    notification.notificationType = .init(rawValue: kind)
    notification.notificationUUID = uuid
    notification.version = "2.0"
    notification.signedDate = SignedDate(date)
    var content = SignedNotification.Content()
    content.bundleId = bundle
    content.environment = environment
    content.appAppleId = number
    content.signedTransactionInfo = try sign(transaction, by: authority)
    notification.data = content
    return try sign(notification, by: authority)
  }

  func refund(_ transaction: SignedTransaction, at date: Timestamp) -> SignedTransaction {
    var refunded = transaction
    refunded.revocationDate = SignedDate(date)
    refunded.revocationReason = 0
    return refunded
  }

  fileprivate struct WeakStore { weak var store: FakeAppleStore? }

  /// The routes, which are there before the store is.
  private final class Handler: Sendable {
    let store = Mutex(WeakStore())

    private func current() throws -> FakeAppleStore {
      guard let store = store.withLock({ $0.store }) else { throw Problem(.unavailable) }
      return store
    }

    var routes: APIRoutes {
      var routes = APIRoutes()
      routes.on(.post, "/ocsp") { request, _ in
        let store = try self.current()
        let body = try await request.bytes(upTo: .kibibytes(8))
        let (isDown, revoked) = store.state.withLock { state in
          state.responderQuestions += 1
          return (state.isResponderDown, state.revoked)
        }
        if isDown { throw Problem(.unavailable) }
        let answer = store.authority.ocspResponse(to: body, at: store.clock.now(), revoked: revoked)
        return HTTPResponse(
          status: .ok, headers: ["Content-Type": "application/ocsp-response"], body: .bytes(answer))
      }
      routes.on(.post, "/verifyReceipt") { request, _ in
        let question = try await request.decode(VerifyReceiptRequest.self, upTo: .mebibytes(4))
        return try self.current().answer(request) { store in
          guard let verify = store.state.withLock({ $0.verifyReceipt }) else { throw Problem(.notFound) }
          return try .json(verify(question))
        }
      }
      routes.on(.get, "/inApps/v2/history/{id}") { request, parameters in
        try self.current().answer(request) { try $0.page(of: parameters["id"], request) }
      }
      routes.on(.get, "/inApps/v2/refund/lookup/{id}") { request, parameters in
        try self.current().answer(request) { try $0.page(of: parameters["id"], request) }
      }
      routes.on(.get, "/inApps/v1/transactions/{id}") { request, parameters in
        try self.current().answer(request) { store in
          guard let known = store.state.withLock({ $0.history[parameters["id"]] })?.first else {
            return Self.refusal(404, 4_040_010)
          }
          return try .json(["signedTransactionInfo": store.sign(known)])
        }
      }
      routes.on(.get, "/inApps/v1/subscriptions/{id}") { request, parameters in
        try self.current().answer(request) { try $0.statuses(of: parameters["id"]) }
      }
      routes.on(.post, "/inApps/v1/notifications/history") { request, _ in
        let range = try await request.decode(NotificationRange.self, upTo: .kibibytes(16))
        return try self.current().answer(request) { try $0.notificationPage(request, of: range) }
      }
      routes.on(.post, "/inApps/v1/transactions/{id}/finish") { request, parameters in
        try self.current().answer(request) { store in
          store.state.withLock { $0.finished.append(parameters["id"]) }
          return HTTPResponse(status: .ok)
        }
      }
      routes.on(.put, "/inApps/v2/transactions/consumption/{id}") { request, _ in
        let told = try await request.decode(JSONConsumption.self, upTo: .kibibytes(16))
        return try self.current().answer(request) { store in
          store.state.withLock { $0.consumption.append(told) }
          return HTTPResponse(status: .accepted)
        }
      }
      return routes
    }

    static func refusal(_ status: Int, _ code: Int) -> HTTPResponse {
      HTTPResponse(
        status: HTTPStatus(rawValue: status), headers: ["Content-Type": "application/json"],
        body: .bytes(Array(#"{"errorCode":\#(code),"errorMessage":"x"}"#.utf8)))
    }
  }

  private func answer(
    _ request: HTTPRequest, _ body: (FakeAppleStore) throws -> HTTPResponse
  ) throws -> HTTPResponse {
    let failure = state.withLock { state -> (status: Int, body: String, retryAfter: String?)? in
      state.calls.append("\(request.method.rawValue) \(request.path)")
      state.tokens.append(request.bearerToken ?? "")
      if let limit = state.failsAfter, state.calls.count > limit {
        return (status: 400, body: #"{"errorCode":4000006,"errorMessage":"x"}"#, retryAfter: nil)
      }
      return state.failures.isEmpty ? nil : state.failures.removeFirst()
    }
    guard let failure else { return try body(self) }
    var headers: HTTPFields = ["Content-Type": "application/json"]
    if let retryAfter = failure.retryAfter { headers["Retry-After"] = retryAfter }
    return HTTPResponse(
      status: HTTPStatus(rawValue: failure.status), headers: headers, body: .bytes(Array(failure.body.utf8)))
  }

  private struct TransactionPage: Encodable {
    var revision: String
    var hasMore: Bool
    var signedTransactions: [String]
  }

  private func page(of id: String, _ request: HTTPRequest) throws -> HTTPResponse {
    let (known, length) = state.withLock { ($0.history[id], $0.pageLength) }
    guard var known else { return Handler.refusal(404, 4_040_010) }
    if request.queryValue("sort") == "DESCENDING" { known.reverse() }
    let start = request.queryValue("revision").flatMap { Int($0) } ?? 0
    let end = min(known.count, start + length)
    return try .json(
      TransactionPage(
        revision: String(end), hasMore: end < known.count,
        signedTransactions: try known[start..<end].map { try sign($0) }))
  }

  private struct Statuses: Encodable {
    struct Group: Encodable {
      struct Item: Encodable {
        var status: Int
        var signedTransactionInfo: String
        var signedRenewalInfo: String
      }
      var lastTransactions: [Item]
    }
    var data: [Group]
  }

  private func statuses(of id: String) throws -> HTTPResponse {
    let known = state.withLock { $0.statuses[id] }
    let items = try known.map { known in
      [
        Statuses.Group.Item(
          status: known.status, signedTransactionInfo: try sign(known.transaction),
          signedRenewalInfo: try sign(known.renewal))
      ]
    }
    return try .json(Statuses(data: items.map { [.init(lastTransactions: $0)] } ?? []))
  }

  private struct NotificationPage: Encodable {
    struct Item: Encodable { var signedPayload: String }
    var paginationToken: String
    var hasMore: Bool
    var notificationHistory: [Item]
  }

  fileprivate struct NotificationRange: Decodable {
    var startDate: SignedDate
    var endDate: SignedDate
  }

  private func notificationPage(_ request: HTTPRequest, of range: NotificationRange) throws -> HTTPResponse {
    let (known, length) = state.withLock { ($0.notifications, $0.pageLength) }
    let all = known.filter { range.startDate.timestamp <= $0.at && $0.at <= range.endDate.timestamp }
    let start = request.queryValue("paginationToken").flatMap { Int($0) } ?? 0
    let end = min(all.count, start + length)
    return try .json(
      NotificationPage(
        paginationToken: String(end), hasMore: end < all.count,
        notificationHistory: all[start..<end].map { .init(signedPayload: $0.payload) }))
  }
}
