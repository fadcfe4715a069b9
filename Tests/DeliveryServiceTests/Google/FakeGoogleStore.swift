import CoreTypes
import Crypto
import Files
import Foundation
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import PullboxTesting
import Receipts
import Synchronization
import SystemCalls

@testable import DeliveryService

/// A store of the kind google, of the test's own: a token endpoint, purchases by their tokens, and keys for notifications.
final class FakeGoogleStore: Sendable {
  struct State {
    /// Documents by purchase token.
    var products: [String: String] = [:]
    var subscriptions: [String: String] = [:]
    /// When orders were paid for.
    var orders: [String: Timestamp] = [:]
    var voided: [(token: String, order: String, date: Timestamp)] = []
    /// Statuses of the next answers of the interface, in place of its own.
    var failures: [Int] = []
    /// Without the package.
    var calls: [String] = []
    var accessTokens = 0
    var isTokenEndpointDown = false
    var areKeysAway = false
    var keysFetched = 0
  }

  static let package = "com.example.app"
  static let audience = "https://pullbox.example/v1/notifications/google"
  static let pusher = "push@p.iam.gserviceaccount.com"
  /// Making keys takes a good part of a second.
  static let accountKey = RS256Key()
  static let identityKey = RS256Key()

  let state = Mutex(State())
  let directory: TemporaryDirectory
  private let server: HTTPServer

  init() throws {
    directory = try TemporaryDirectory()
    let handler = Handler()
    var configuration = HTTPServerConfiguration(addresses: [.tcp(host: "127.0.0.1", port: 0)])
    configuration.loops = 1
    server = HTTPServer(configuration: configuration, handler: handler.routes.router { _, _ in })
    try server.start()
    handler.store.withLock { $0 = WeakStore(store: self) }
    let file = try JSONEncoder().encode([
      "type": "service_account", "private_key_id": "k1", "private_key": Self.accountKey.pem,
      "client_email": "server@p.iam.gserviceaccount.com", "token_uri": url + "/token",
    ])
    try DurableFile.write(Array(file).span, to: directory.path("key.json"), permissions: 0o600)
  }

  var url: String { "http://" + (server.boundAddresses.first?.description ?? "") }

  func stop() async { await server.drain() }

  /// An entry of `stores` for this one, with `more` members.
  func option(_ more: String = "allowSandbox: true") -> [String] {
    [
      "--payment-store",
      """
      {name: 'google', kind: 'google', bundles: ['\(Self.package)'], keyFile: '\(directory.path("key.json"))',
       addresses: {play: '\(url)', keys: '\(url)/certs'}, notificationAudience: '\(Self.audience)',
       notificationAccount: '\(Self.pusher)'\(more.isEmpty ? "" : ", " + more)}
      """,
    ]
  }

  /// A purchase of one product; `more` members replace those of the same name behind them.
  func sell(
    _ product: String = "com.example.issue1", token: String, order: String, state: String = "PURCHASED",
    isTest: Bool = false, acknowledged: Bool = false, at date: Timestamp = ServerHarness.start
  ) {
    sell(
      [product], token: token, order: order, state: state, isTest: isTest, acknowledged: acknowledged,
      at: date)
  }

  /// A purchase of several products by one order.
  func sell(
    _ products: [String], token: String, order: String, state: String = "PURCHASED",
    isTest: Bool = false, acknowledged: Bool = false, at date: Timestamp = ServerHarness.start
  ) {
    let items = products.map { #"{"productId":"\#($0)","productOfferDetails":{"quantity":1}}"# }
    let test = isTest ? #","testPurchaseContext":{"fopType":"TEST"}"# : ""
    let document = """
      {"productLineItem":[\(items.joined(separator: ","))],
      "purchaseStateContext":{"purchaseState":"\(state)"},"purchaseCompletionTime":"\(date.rfc3339)",
      "acknowledgementState":"ACKNOWLEDGEMENT_STATE_\(acknowledged ? "ACKNOWLEDGED" : "PENDING")",
      "orderId":"\(order)","regionCode":"FR"\(test)}
      """
    self.state.withLock { $0.products[token] = document }
  }

  func subscribe(
    _ product: String, token: String, order: String, from start: Timestamp, to end: Timestamp,
    state: String = "ACTIVE", linked: String? = nil, acknowledged: Bool = false
  ) {
    let link = linked.map { #","linkedPurchaseToken":"\#($0)""# } ?? ""
    let document = """
      {"subscriptionState":"SUBSCRIPTION_STATE_\(state)","startTime":"\(start.rfc3339)",
      "lineItems":[{"productId":"\(product)","expiryTime":"\(end.rfc3339)","latestSuccessfulOrderId":"\(order)"}],
      "acknowledgementState":"ACKNOWLEDGEMENT_STATE_\(acknowledged ? "ACKNOWLEDGED" : "PENDING")"\(link)}
      """
    self.state.withLock { $0.subscriptions[token] = document }
  }

  /// The message that Pub/Sub posts, and the token that it bears.
  func message(
    _ content: String, id: String, package: String = package, at date: Timestamp = ServerHarness.start
  ) -> [UInt8] {
    let data =
      #"{"version":"1.0","packageName":"\#(package)","eventTimeMillis":"\#(date.millisecondsSinceEpoch)",\#(content)}"#
    return Array(#"{"message":{"data":"\#(Base64.encode(Array(data.utf8)))","messageId":"\#(id)"}}"#.utf8)
  }

  func identity(
    audience: String = audience, email: String = pusher, at date: Timestamp = ServerHarness.start,
    by key: RS256Key = identityKey
  ) -> String {
    let seconds = date.secondsSinceEpoch
    let claims =
      #"{"iss":"https://accounts.google.com","aud":"\#(audience)","email":"\#(email)","email_verified":true,"iat":\#(seconds),"exp":\#(seconds + 3600)}"#
    let input =
      Base64.encode(Array(#"{"alg":"RS256","kid":"i1"}"#.utf8), .url) + "."
      + Base64.encode(Array(claims.utf8), .url)
    return input + "." + Base64.encode(key.sign(Array(input.utf8)), .url)
  }

  fileprivate struct WeakStore { weak var store: FakeGoogleStore? }

  /// The routes, which are there before the store is.
  private final class Handler: Sendable {
    let store = Mutex(WeakStore())

    private func current() throws -> FakeGoogleStore {
      guard let store = store.withLock({ $0.store }) else { throw Problem(.unavailable) }
      return store
    }

    var routes: APIRoutes {
      var routes = APIRoutes()
      routes.on(.post, "/token") { request, _ in
        let store = try self.current()
        let body = String(decoding: try await request.bytes(upTo: .kibibytes(16)), as: UTF8.self)
        guard body.contains("assertion=ey"), !store.state.withLock({ $0.isTokenEndpointDown }) else {
          return HTTPResponse(status: .badRequest, body: .bytes(Array(#"{"error":"invalid_grant"}"#.utf8)))
        }
        let number = store.state.withLock { state in
          state.accessTokens += 1
          return state.accessTokens
        }
        return Self.document(
          200, #"{"access_token":"ya29.\#(number)","expires_in":3599,"token_type":"Bearer"}"#)
      }
      routes.on(.get, "/certs") { _, _ in
        let isAway = try self.current().state.withLock { state in
          state.keysFetched += 1
          return state.areKeysAway
        }
        guard !isAway else { return Self.document(500, "{}") }
        return HTTPResponse(
          status: .ok, headers: ["Content-Type": "application/json"],
          body: .bytes(
            try IdentityKeys.document(publishing: FakeGoogleStore.identityKey.publicKey, named: "i1")))
      }
      for method in [HTTPMethod.get, .post] {
        routes.on(method, "/androidpublisher/v3/applications/{package}/{path...}") { request, parameters in
          try self.current().answer(request, parameters["path"])
        }
      }
      return routes
    }

    static func document(_ status: Int, _ text: String) -> HTTPResponse {
      HTTPResponse(
        status: HTTPStatus(rawValue: status), headers: ["Content-Type": "application/json"],
        body: .bytes(Array(text.utf8)))
    }
  }

  private func answer(_ request: HTTPRequest, _ path: String) throws -> HTTPResponse {
    let known = state.withLock { state -> (failure: Int?, state: State) in
      state.calls.append("\(request.method.rawValue) \(path)")
      return (state.failures.isEmpty ? nil : state.failures.removeFirst(), state)
    }
    if let failure = known.failure { return Handler.document(failure, "{}") }
    guard request.bearerToken == "ya29.\(known.state.accessTokens)" else {
      return Handler.document(401, "{}")
    }
    if path == "purchases/voidedpurchases" { return voided(known.state) }
    if path == "orders:batchGet" { return orders(named: request, known.state) }
    let segments = path.split(separator: "/").map(String.init)
    guard let last = segments.last else { return Handler.document(404, "{}") }
    let parts = last.split(separator: ":").map(String.init)
    if parts.count == 2 { return Handler.document(204, "") }
    let documents = segments[1] == "productsv2" ? known.state.products : known.state.subscriptions
    guard let document = documents[parts[0]] else { return Handler.document(404, #"{"error":{"code":404}}"#) }
    return Handler.document(200, document)
  }

  private func orders(named request: HTTPRequest, _ state: State) -> HTTPResponse {
    let items = request.queryValues("orderIds").compactMap { order in
      state.orders[order].map {
        #"{"orderId":"\#(order)","state":"PROCESSED","createTime":"\#($0.rfc3339)"}"#
      }
    }
    return Handler.document(200, #"{"orders":[\#(items.joined(separator: ","))]}"#)
  }

  private func voided(_ state: State) -> HTTPResponse {
    let items = state.voided.map {
      #"{"purchaseToken":"\#($0.token)","orderId":"\#($0.order)","voidedTimeMillis":"\#($0.date.millisecondsSinceEpoch)"}"#
    }
    return Handler.document(200, #"{"voidedPurchases":[\#(items.joined(separator: ","))]}"#)
  }
}
