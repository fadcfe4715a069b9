import Commerce
import CoreTypes
import Crypto
import Database
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import PullboxTesting
import SandboxRecords
import ServiceRuntime
import Testing

@testable import SandboxStore

/// Puts payloads where signed ones stand, so that tests read them.
struct PlainSigner: PayloadSigner {
  func sign(_ payload: [UInt8]) throws -> String { "e30.\(Base64.encode(payload, .url)).AAAA" }

  static func payload<Value: Decodable>(of text: String, as type: Value.Type = Value.self) throws -> Value {
    let parts = text.split(separator: ".")
    try #require(parts.count == 3)
    return try APIJSON.decode(type, from: try #require(Base64.decode(parts[1], .url)))
  }
}

/// The App Store Server API over a store in a directory of its own.
final class ServerAPIHarness: Sendable {
  static let key = ES256Key()
  static let keyIdentifier = "ABCDEFGHIJ"
  static let issuer = "57246542-96fe-1a63-e053-0824d011072a"

  let store: StoreHarness
  let payloads: PayloadIssuer
  private let router: Router

  init(
    limits: ServerAPIRateLimits = .sandbox, sendsNotifications: Bool = true,
    environment: StoreEnvironment = .sandbox
  ) throws {
    store = try StoreHarness(environment: environment)
    payloads = PayloadIssuer(
      signer: PlainSigner(), bundleIdentifier: "com.example.pullbox", environment: environment,
      clock: store.clock, faults: store.store.faults)
    let api = ServerAPIRoutes(
      store: store.store, issuer: payloads,
      authority: ServerAPIAuthority(
        keyIdentifier: Self.keyIdentifier, issuer: Self.issuer, bundleIdentifier: "com.example.pullbox",
        key: Self.key, clock: store.clock),
      limiter: ServerAPIRateLimiter(limits, clock: store.clock), sendsNotifications: sendsNotifications,
      wake: {}, log: Log(output: { _ in }))
    var routes = APIRoutes()
    api.add(to: &routes)
    router = routes.router(reporting: { _, _ in })
  }

  /// A token as Apple's own clients make it: without `iat`.
  func token(
    header: [String: String] = [:], claims: [String: String] = [:], expires: Int64 = 300,
    issued: Int64? = nil,
    key: ES256Key = key
  ) throws -> String {
    let header = ["alg": "ES256", "kid": Self.keyIdentifier, "typ": "JWT"].merging(header) { $1 }
    let texts = [
      "iss": Self.issuer, "aud": "appstoreconnect-v1", "bid": "com.example.pullbox", "nonce": "n",
    ].merging(claims) { $1 }
    let now = store.clock.now().secondsSinceEpoch
    let numbers = ["exp": now + expires].merging(issued.map { ["iat": now + $0] } ?? [:]) { $1 }
    let members =
      texts.map { "\"\($0.key)\":\"\($0.value)\"" } + numbers.map { "\"\($0.key)\":\($0.value)" }
    let body = "{\(members.joined(separator: ","))}"
    let input =
      Base64.encode(try APIJSON.encode(header), .url) + "." + Base64.encode(Array(body.utf8), .url)
    return input + "." + Base64.encode(key.sign(Array(input.utf8)), .url)
  }

  func send(
    _ method: HTTPMethod, _ target: String, token: String?, body: String = ""
  ) async throws -> (status: Int, headers: HTTPFields, body: [UInt8]) {
    var headers = HTTPFields()
    if let token { headers["Authorization"] = "Bearer \(token)" }
    let request = try HTTPRequest(
      method: method, rawTarget: target, headers: headers, body: RequestBody(Array(body.utf8)))
    let response = await router.respond(to: request)
    guard case .bytes(let bytes) = response.body else {
      return (response.status.rawValue, response.headers, [])
    }
    return (response.status.rawValue, response.headers, bytes)
  }

  /// The body of an answer that must have `status`.
  func call<Answer: Decodable>(
    _ method: HTTPMethod = .get, _ target: String, body: String = "", as type: Answer.Type = Answer.self,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> Answer {
    let answer = try await send(method, "/inApps\(target)", token: token(), body: body)
    #expect(
      answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))", sourceLocation: sourceLocation)
    #expect(answer.headers["Content-Type"] == "application/json", sourceLocation: sourceLocation)
    return try APIJSON.decode(type, from: answer.body)
  }

  private struct Refusal: Decodable {
    var errorCode: Int
    var errorMessage: String
  }

  /// The code of an answer that must be a refusal.
  func refusal(
    _ method: HTTPMethod = .get, _ target: String, body: String = "",
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> Int {
    let answer = try await send(method, "/inApps\(target)", token: token(), body: body)
    #expect(answer.headers["Content-Type"] == "application/json", sourceLocation: sourceLocation)
    let refusal = try APIJSON.decode(Refusal.self, from: answer.body)
    #expect(answer.status == refusal.errorCode / 10_000, sourceLocation: sourceLocation)
    #expect(!refusal.errorMessage.isEmpty, sourceLocation: sourceLocation)
    return refusal.errorCode
  }

  struct History: Decodable {
    var revision: String
    var hasMore: Bool
    var bundleId: String
    var environment: String
    var signedTransactions: [String]

    var transactions: [TransactionPayload] {
      get throws { try signedTransactions.map { try PlainSigner.payload(of: $0) } }
    }
  }

  func history(_ id: TransactionIdentifier, _ query: String = "", version: String = "v2") async throws
    -> History
  {
    try await call(.get, "/\(version)/history/\(id)\(query)")
  }

  struct Statuses: Decodable {
    struct Group: Decodable {
      var subscriptionGroupIdentifier: String
      var lastTransactions: [Last]
    }

    struct Last: Decodable {
      var status: Int
      var originalTransactionId: String
      var signedTransactionInfo: String
      var signedRenewalInfo: String
    }

    var environment: String
    var bundleId: String
    var data: [Group]
  }

  func status(_ id: TransactionIdentifier) async throws -> Int? {
    try await call(.get, "/v1/subscriptions/\(id)", as: Statuses.self).data.first?.lastTransactions.first?
      .status
  }

  /// Types and subtypes of every notification that was written down and is due, in their order.
  func notifications() async throws -> [String] {
    try await written().map { $0.type.rawValue + ($0.subtype.map { " \($0.rawValue)" } ?? "") }
  }

  func written() async throws -> [StoredNotification] {
    try await store.store.catchUp()
    try await store.store.dateNotifications(isSent: true)
    let all = Timestamp(millisecondsSinceEpoch: 0)..<Timestamp(millisecondsSinceEpoch: .max)
    return try await store.database.read {
      try NotificationTable.history(.init(range: all), after: 0, limit: 1000, in: $0)
    }
  }

  /// One of the test controls, with a body of JSON.
  func control(
    _ path: String, body: some Encodable, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    try await control(path, bytes: APIJSON.encode(body), sourceLocation: sourceLocation)
  }

  /// One of the test controls.
  func control(
    _ path: String, bytes: [UInt8] = [], sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let answer = try await store.send(.post, "/sandbox/v1/\(path)", body: bytes)
    #expect(
      answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))", sourceLocation: sourceLocation)
  }
}
