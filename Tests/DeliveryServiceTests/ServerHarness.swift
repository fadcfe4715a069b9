import Commerce
import ContentPackage
import CoreTypes
import Crypto
import Database
import DeliveryTesting
import Foundation
import HTTPClient
import Monitoring
import PostgreSQLEngine
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import ServiceRuntime
import Testing

@testable import ContentDelivery
@testable import DeliveryService

/// A delivery server on a port of its own, with a payment store it can ask, and clocks that the test moves.
final class ServerHarness: Sendable {
  /// The wall clock's first time.
  static let start = Timestamp(millisecondsSinceEpoch: 1_790_000_000_000)

  /// The key of an operator with every scope.
  static let operatorKey = "operator-key-of-these-tests"

  let directory: TemporaryDirectory
  let clock: ManualWallClock
  /// Reads the configuration again.
  let source: ConfigurationSource<DeliveryConfiguration>
  let store: FakePaymentStore
  let configuration: DeliveryConfiguration
  let server: DeliveryServer
  /// The error that has ended the server's run.
  let failure = Locked<(any Error)?>(nil)
  let client: HTTPClient
  let api: APIClient
  let operatorAPI: APIClient
  let device: Device

  /// Runs `body` with a server that answers, and drains it afterwards.
  static func run(
    options: [String] = [], in directory: TemporaryDirectory? = nil,
    timer: any MonotonicClock = SystemMonotonicClock(), log: Log = Log(level: .error),
    database: Database.Options = TestDatabase.options, _ body: (ServerHarness) async throws -> Void
  ) async throws {
    let harness = try await ServerHarness(
      options: options, directory: directory, timer: timer, log: log, database: database)
    try await withThrowingTaskGroup { group in
      group.addTask { try await harness.server.run() }
      do {
        try await body(harness)
      } catch {
        Issue.record(error)
      }
      for surprise in try ContractObservation.surprises(in: harness.server.metrics.routes) {
        Issue.record("\(surprise)")
      }
      await harness.server.stop()
      await harness.store.stop()
      harness.client.shutDown()
      group.cancelAll()
      while let result = await group.nextResult() {
        if case .failure(let error) = result, !(error is CancellationError) { throw error }
      }
    }
  }

  /// Runs `body` with two servers that share a database, a payment store, a wall clock and their packages, and drains them afterwards.
  /// Needs ``TestDatabase/isOnServer``.
  static func runNodes(
    options: [String] = [], mayBeReplaced: Bool = false,
    _ body: (_ first: ServerHarness, _ second: ServerHarness) async throws -> Void
  ) async throws {
    let log = Log(level: .error)
    // A server takes a hundred connections, of all that test beside.
    let few = ["--database-writers", "3", "--database-readers", "2"]
    let first = try await ServerHarness(
      options: options + few + ["--node", "first"], directory: nil, timer: SystemMonotonicClock(), log: log,
      database: TestDatabase.options, claim: .shared)
    let second = try await ServerHarness(
      options: options + few + ["--node", "second"], directory: nil, timer: SystemMonotonicClock(), log: log,
      database: TestDatabase.options, claim: .shared, beside: first)
    let nodes = [first, second]
    try await withThrowingTaskGroup { group in
      for node in nodes {
        group.addTask {
          do {
            try await node.server.run()
          } catch {
            node.failure.withLock { $0 = error }
            throw error
          }
        }
      }
      do {
        try await body(first, second)
      } catch {
        Issue.record(error)
      }
      for node in nodes { await node.server.stop() }
      await first.store.stop()
      for node in nodes { node.client.shutDown() }
      group.cancelAll()
      while let result = await group.nextResult() {
        guard case .failure(let error) = result, !(error is CancellationError) else { continue }
        if !(mayBeReplaced && error is NodeMembership.Replaced) { throw error }
      }
    }
  }

  private init(
    options: [String], directory: TemporaryDirectory?, timer: any MonotonicClock, log: Log,
    database: Database.Options, claim: PostgreSQLOptions.Claim = .alone, beside peer: ServerHarness? = nil
  ) async throws {
    self.directory = try directory ?? TemporaryDirectory()
    // Of a directory that a test brings, the server makes what is not there.
    if directory == nil, peer == nil { try NewDatabase.put(into: self.directory.path("state")) }
    if let peer {
      try FileManager.default.createDirectory(
        atPath: self.directory.path("state"), withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(
        atPath: self.directory.path("state/blobs"), withDestinationPath: peer.directory.path("state/blobs"))
    }
    clock = peer?.clock ?? ManualWallClock(Self.start)
    store = try peer?.store ?? FakePaymentStore(clock: clock)
    let arguments =
      [
        "--listen", "127.0.0.1:0", "--state", self.directory.path + "/state", "--store-url", store.url,
        "--store-credential", FakePaymentStore.credential, "--operator-key", Self.operatorKey, "--loops", "1",
      ]
      + (try TestDatabase.url(for: (peer?.directory ?? self.directory).path).map { ["--database", $0] } ?? [])
      + options
    let parser = ArgumentParser(DeliveryConfiguration.command, environment: [:])
    guard case .run(let parsed) = try parser.parse(arguments) else { throw Unparsed() }
    configuration = try ConfigurationLoader.load(DeliveryConfiguration.self, arguments: parsed)
    source = ConfigurationSource(parsed)
    server = try DeliveryServer(
      configuration, log: log, clock: clock, timer: timer, options: database, claim: claim,
      listing: ConfigurationReport<DeliveryConfiguration>(parsed).listing)
    try await server.start()
    client = try HTTPClient()
    let url = "http://" + (server.addresses.first ?? "")
    api = APIClient(baseURL: url, client: client)
    operatorAPI = APIClient(baseURL: url, credential: Self.operatorKey, client: client)
    device = Device(id: try #require(DeviceIdentifier("2b1f0c1e-7d3a-4c53-9b52-0a53f3f4b7aa")))
  }

  private struct Unparsed: Error {}

  /// Uploads `bytes` as a single file, or as the package of a manifest, and releases it as that version; answers the record.
  @discardableResult
  func publish(
    _ bytes: [UInt8], as product: String = "com.example.issue1", version: String = "1.0",
    manifest: Manifest? = nil, description: ProductDescription = ProductDescription()
  ) async throws -> VersionRecord {
    _ = try await operatorAPI.call(
      "PUT", "/v1/operator/products/\(product)", body: description, as: OperatorProduct.self)
    let record = try await submit(bytes, as: product, version: version, manifest: manifest)
    for step in ["submit", "approve", "release"] {
      _ = try await operatorAPI.call(
        "POST", "/v1/operator/products/\(product)/versions/\(version)/\(step)", body: ReasonBody(),
        as: VersionRecord.self)
    }
    return record
  }

  func submit(
    _ bytes: [UInt8], as product: String, version: String, manifest: Manifest? = nil
  ) async throws -> VersionRecord {
    let upload = try await upload(bytes, name: manifest == nil ? "issue.cbz" : "issue.zip")
    let submission = VersionSubmission(
      upload: upload, version: try #require(ContentVersion(version)),
      manifest: manifest.map { Base64.encode($0.canonicalBytes()) })
    return try await operatorAPI.call(
      "POST", "/v1/operator/products/\(product)/versions", body: submission, as: VersionRecord.self
    ).value
  }

  /// Makes a version 1.0 of an upload, named by its identifier or its address.
  func submit(upload: String, as product: String) async throws -> VersionRecord {
    _ = try await operatorAPI.call(
      "PUT", "/v1/operator/products/\(product)", body: ProductDescription(), as: OperatorProduct.self)
    let submission = VersionSubmission(upload: upload, version: try #require(ContentVersion("1.0")))
    return try await operatorAPI.call(
      "POST", "/v1/operator/products/\(product)/versions", body: submission, as: VersionRecord.self
    ).value
  }

  /// The upload's identifier.
  func upload(_ bytes: [UInt8], name: String = "issue.cbz") async throws -> String {
    let response = try await operatorAPI.exchange(
      "POST", "/v1/operator/uploads", bytes: bytes, mediaType: "application/offset+octet-stream",
      headers: [
        ("Tus-Resumable", "1.0.0"), ("Upload-Length", String(bytes.count)),
        ("Upload-Metadata", "filename " + Base64.encode(Array(name.utf8))),
      ])
    #expect(response.headers["Upload-Offset"] == String(bytes.count))
    let location = try #require(response.headers["Location"])
    return try #require(location.split(separator: "/").last.map(String.init))
  }

  func purchase(
    of product: String = "com.example.issue1", id: String = "2000000000000001", expires: Timestamp? = nil,
    cancelled: Timestamp? = nil
  ) -> InAppPurchase {
    let date = Timestamp(millisecondsSinceEpoch: clock.now().secondsSinceEpoch * 1000)
    var purchase = InAppPurchase(
      productIdentifier: product, transactionIdentifier: id, originalTransactionIdentifier: id,
      purchaseDate: date, originalPurchaseDate: date)
    purchase.expiresDate = expires
    purchase.cancellationDate = cancelled
    return purchase
  }

  func grant(
    _ product: String = "com.example.issue1", receipt: String, device: Device? = nil,
    transaction: String? = nil
  ) async throws -> APIResponse<GrantResponse> {
    let request = GrantRequest(
      proof: Proof(store: "sandbox", receipt: receipt), product: try #require(ProductIdentifier(product)),
      device: device ?? self.device, transaction: transaction.flatMap { TransactionIdentifier($0) })
    return try await api.call("POST", "/v1/grants", body: request, as: GrantResponse.self)
  }

  /// A grant for a purchase of the product just made.
  func grantForPurchase(device: Device? = nil) async throws -> GrantResponse {
    let device = device ?? self.device
    let receipt = try store.receipt(of: [purchase()], device: device.id)
    return try await grant(receipt: receipt, device: device).value
  }

  func fetch(
    _ grant: GrantResponse, ticket: String? = nil, headers: [(String, String)] = []
  ) async throws -> ClientResponse {
    let url = api.url(grant.download.contentURL, query: [("ticket", ticket ?? grant.download.ticket)])
    var request = ClientRequest(method: "GET", url: url, headers: headers)
    request.maximumResponseLength = .mebibytes(8)
    return try await client.send(request)
  }

  /// A connection that asked for the content and read the head and the first bytes of the answer, and no more.
  func slowReader(of grant: GrantResponse) async throws -> RawConnection {
    let port = try #require(server.addresses.first?.split(separator: ":").last.flatMap { UInt16($0) })
    let connection = try RawConnection.tcp(port: port, receiveBuffer: 65_536)
    try await connection.send(
      "GET \(grant.download.contentURL)?ticket=\(grant.download.ticket) HTTP/1.1\r\nHost: a\r\n\r\n")
    let head = try await connection.receive(through: "\r\n\r\n")
    #expect(head.hasPrefix("HTTP/1.1 200 "))
    _ = try await connection.receive(exactly: 1000)
    return connection
  }

  func report(_ grant: GrantResponse) -> CompletionReport {
    CompletionReport(
      digest: grant.download.digest, version: grant.download.version, length: grant.download.length,
      placedAt: clock.now(), grant: grant.grant, device: device.id)
  }

  func complete(
    _ grant: GrantResponse, _ report: CompletionReport? = nil
  ) async throws -> APIResponse<CompletionResponse> {
    try await owner(of: grant).call(
      "POST", "/v1/grants/\(grant.grant)/completion", body: report ?? self.report(grant),
      as: CompletionResponse.self)
  }

  func status(_ grant: GrantResponse) async throws -> GrantStatus {
    try await owner(of: grant).get("/v1/grants/\(grant.grant)", as: GrantStatus.self)
  }

  /// The device that the grant was handed to: it has no key, and so the secret.
  func owner(of grant: GrantResponse) -> APIClient {
    APIClient(baseURL: api.baseURL, credential: grant.renewalSecret, client: client)
  }

  func renew(_ grant: GrantResponse) async throws -> TicketResponse {
    try await owner(of: grant).call(
      "POST", "/v1/grants/\(grant.grant)/tickets", body: EmptyBody?.none, as: TicketResponse.self
    ).value
  }

  /// The handle in the grant's ticket.
  func handle(of grant: GrantResponse) throws -> DeliveryHandle {
    let ticket = try #require(Base64.decode(grant.download.ticket, .url))
    return try #require(DeliveryHandle(Array(ticket[14..<30])))
  }

  /// The grant's name for operators.
  func shortName(of grant: GrantResponse) throws -> String { try handle(of: grant).shortName.description }

  /// The problem that `body` is refused with.
  func problem(_ body: () async throws -> Void) async throws -> Problem {
    do {
      try await body()
    } catch let error as APICallError {
      if case .problem(let problem) = error { return problem }
      throw error
    }
    Issue.record("nothing was refused")
    return Problem(.internalError)
  }
}
