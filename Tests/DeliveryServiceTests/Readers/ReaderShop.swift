import Commerce
import CoreTypes
import Crypto
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import Testing

@testable import DeliveryService

/// A server that sells one issue, and the applications for reading of a customer who has bought it.
struct ReaderShop: Sendable {
  static let issue = "com.example.issue1"

  let server: ServerHarness

  /// Runs a server that sells an issue for 2.99 EUR in France; without prices it costs nothing.
  static func run(
    _ package: [UInt8], named name: String = "issue.cbz", manifest: [UInt8]? = nil,
    prices: [String: String] = ["FRA": "2.99"], options: [String] = [],
    timer: any MonotonicClock = SystemMonotonicClock(),
    _ body: @escaping (ReaderShop) async throws -> Void
  ) async throws {
    try await ServerHarness.run(options: options, timer: timer) { server in
      try await body(publish(package, named: name, manifest: manifest, prices: prices, on: server))
    }
  }

  /// Publishes the issue on a server that runs.
  static func publish(
    _ package: [UInt8], named name: String = "issue.cbz", manifest: [UInt8]? = nil,
    prices: [String: String] = ["FRA": "2.99"], on server: ServerHarness
  ) async throws -> ReaderShop {
    let description = ProductDescription(
      localizations: ["en-US": Product.Localization(title: "One", description: "The first")],
      prices: try prices.mapValues { try #require(Price(amount: $0, currency: "EUR")) },
      publication: ProductIdentifier("com.example.series"))
    _ = try await server.operatorAPI.call(
      "PUT", "/v1/operator/products/\(issue)", body: description, as: OperatorProduct.self)
    let submission = VersionSubmission(
      upload: try await server.upload(package, name: name), version: try #require(ContentVersion("1.0")),
      manifest: manifest.map { Base64.encode($0) })
    _ = try await server.operatorAPI.call(
      "POST", "/v1/operator/products/\(issue)/versions", body: submission, as: VersionRecord.self)
    for step in ["submit", "approve", "release"] { try await server.step(step, "1.0", ReasonBody()) }
    return ReaderShop(server: server)
  }

  private func proof(
    cancelled: Timestamp? = nil, of transaction: String = "2000000000000001"
  ) throws -> ProofList {
    let receipt = try server.store.receipt(
      of: [server.purchase(id: transaction, cancelled: cancelled)], device: server.device.id)
    return ProofList(Proof(store: "sandbox", receipt: receipt))
  }

  /// A new key of the customer who has that transaction.
  func add(_ title: String = "Tablet", of transaction: String = "2000000000000001") async throws
    -> NewReaderKey
  {
    try await server.api.call(
      "POST", "/v1/readers",
      body: ReaderKeyRequest(
        proofs: try proof(of: transaction), device: server.device, title: title, territory: "FRA"),
      as: NewReaderKey.self
    ).value
  }

  /// Ends a key.
  func remove(_ key: NewReaderKey) async throws {
    var request = ClientRequest(
      method: "POST", url: server.api.url("/v1/readers/\(key.name)/remove"),
      headers: [("Content-Type", "application/json")])
    request.body = .bytes(
      try APIJSON.encode(ReaderKeyRequest(proofs: try proof(), device: server.device)))
    let answer = try await server.client.send(request)
    #expect(answer.status == 204)
  }

  /// The store takes the purchase back, and the server hears of it.
  func refund() async throws {
    let request = EntitlementsRequest(
      proof: try #require(proof(cancelled: server.clock.now()).all.first), device: server.device)
    _ = try? await server.api.call("POST", "/v1/entitlements", body: request, as: EntitlementsResponse.self)
  }

  static func basic(_ key: NewReaderKey) -> (String, String) {
    ("Authorization", "Basic " + Base64.encode(Array("\(key.name):\(key.password)".utf8)))
  }

  func send(
    _ method: String = "GET", _ path: String, as key: NewReaderKey? = nil, headers: [(String, String)] = [],
    body: [UInt8]? = nil
  ) async throws -> ClientResponse {
    var request = ClientRequest(
      method: method, url: server.api.url(path), headers: headers + (key.map { [Self.basic($0)] } ?? []))
    if let body { request.body = .bytes(body) }
    return try await server.client.send(request)
  }

  /// The body of an answer that is 200.
  func text(_ path: String, as key: NewReaderKey? = nil) async throws -> String {
    let answer = try await send(path, as: key)
    #expect(answer.status == 200, "\(path)")
    return String(decoding: answer.body, as: UTF8.self)
  }

  func send(_ path: String, as key: NewReaderKey? = nil, headers: [(String, String)] = []) async throws
    -> ClientResponse
  {
    try await send("GET", path, as: key, headers: headers)
  }
}
