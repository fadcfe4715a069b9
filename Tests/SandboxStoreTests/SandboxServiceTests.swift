import Commerce
import CoreTypes
import Files
import HTTPClient
import HTTPServer
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import ServiceRuntime
import SystemCalls
import Testing

@testable import SandboxStore

/// The whole store behind its own port, with a delivery server's catalog behind another.
@Suite("The store as a service")
struct SandboxServiceTests {
  let directory: TemporaryDirectory
  let client: HTTPClient

  init() throws {
    directory = try TemporaryDirectory()
    client = try HTTPClient()
  }

  func service(catalog: String) -> SandboxService {
    SandboxService(
      SandboxConfiguration(
        listen: ["127.0.0.1:0"], state: directory.path("state"), catalog: catalog,
        serverCredential: Redacted("server-credential"), controlKey: nil, sharedSecret: nil,
        environment: "sandbox", bundle: "com.example.pullbox", logLevel: "error"),
      log: Log(output: { _ in }))
  }

  @Test(
    "it starts on a disk that is full, shows what it has, refuses purchases, and takes them again once there is room",
    .enabled(if: SmallDisk.isAvailable))
  func fullDisk() async throws {
    let disk = try SmallDisk(.mebibytes(80))
    let catalog = try catalogServer()
    let address = try #require(catalog.boundAddresses.first)
    func service(_ listen: String) -> SandboxService {
      SandboxService(
        SandboxConfiguration(
          listen: [listen], state: disk.path("state"), catalog: "http://\(address)",
          serverCredential: Redacted("server-credential"), controlKey: nil, sharedSecret: nil,
          environment: "sandbox", bundle: "com.example.pullbox", logLevel: "error"),
        log: Log(output: { _ in }))
    }
    func buy(_ customer: APIClient) async throws -> StoreTransaction {
      try await customer.call(
        "POST", "/store/v1/purchases", body: PurchaseRequest(product: StoreHarness.issue),
        as: TransactionResponse.self
      ).value.transaction
    }
    let first = service("127.0.0.1:0")
    try await first.start()
    let listen = try #require(first.addresses.first)
    let opened: AccountResponse = try await api(first).call(
      "POST", "/sandbox/v1/accounts", body: AccountRequest(territory: "FRA", name: "A reader")
    ).value
    let bought = try await buy(try api(first, opened.token))
    await first.stop()

    try disk.fill()
    // The address is in certificates and in a key file: another one would have to be written down.
    let second = service("\(listen)")
    try await second.start()
    let customer = try api(second, opened.token)
    let queue: TransactionsResponse = try await customer.get("/store/v1/transactions")
    #expect(queue.transactions.map(\.id) == [bought.id])
    var refusal: Problem?
    do {
      // The room that the store had reserved lasts for some.
      for _ in 0..<1000 { _ = try await buy(customer) }
    } catch APICallError.problem(let problem) {
      refusal = problem
    }
    #expect(refusal?.code == .outOfSpace)
    try disk.clear()
    _ = try await buy(customer)
    await second.stop()
    await catalog.drain()
  }

  @Test("the catalog's address has its earlier names too", arguments: ["catalog", "catalogue"])
  func earlierNames(name: String) throws {
    let file = directory.path("config.json5")
    let bytes = Array("{\(name): 'http://file'}".utf8)
    try DurableFile.write(bytes.span, to: file)
    let variable = "PULLBOX_SANDBOX_\(name.uppercased())"
    for (arguments, environment, expected) in [
      (["--\(name)", "http://option"], [:], "http://option"), ([], [variable: "http://var"], "http://var"),
      (["--config", file], [:], "http://file"),
    ] as [([String], [String: String], String)] {
      let parser = ArgumentParser(SandboxCommand.description, environment: environment)
      guard case .run(let parsed) = try parser.parse(arguments) else { continue }
      let configuration = try ConfigurationLoader.load(SandboxConfiguration.self, arguments: parsed)
      #expect(configuration.catalog == expected)
    }
  }

  func api(_ service: SandboxService, _ credential: String? = nil) throws -> APIClient {
    let address = try #require(service.addresses.first)
    return APIClient(baseURL: "http://\(address)", credential: credential, client: client)
  }

  /// Answers as `GET /v1/products` does, with one issue for sale to all but the device `excluded`.
  func catalogServer() throws -> HTTPServer {
    let router = Router { table in
      table.on(.get, "/v1/products") { request, _ in
        var response = ProductsResponse(products: [], invalidProductIdentifiers: [])
        if request.queryValue("id") == StoreHarness.issue.description,
          request.queryValue("device") != "excluded"
        {
          response.products = [
            ProductListing(
              id: StoreHarness.issue, type: .nonConsumable, title: "Issue 1", description: "The first")
          ]
        }
        guard let body = try? APIJSON.encode(response) else {
          return HTTPResponse(status: .internalServerError)
        }
        return HTTPResponse(status: .ok, headers: ["Content-Type": "application/json"], body: .bytes(body))
      }
    }
    var configuration = HTTPServerConfiguration(addresses: [.tcp(host: "127.0.0.1", port: 0)])
    configuration.loops = 1
    let server = HTTPServer(configuration: configuration, handler: router)
    try server.start()
    return server
  }

  @Test("a purchase is listed, proven, verified and finished, and a restart keeps the rest")
  func chain() async throws {
    let catalog = try catalogServer()
    let url = "http://\(try #require(catalog.boundAddresses.first))"
    let service = service(catalog: url)
    try await service.start()

    let opened: AccountResponse = try await api(service).call(
      "POST", "/sandbox/v1/accounts", body: AccountRequest(territory: "FRA", name: "A reader")
    ).value
    let customer = try api(service, opened.token)
    func buy() async throws -> StoreTransaction {
      try await customer.call(
        "POST", "/store/v1/purchases", body: PurchaseRequest(product: StoreHarness.issue),
        as: TransactionResponse.self
      ).value.transaction
    }
    let first = try await buy()
    let second = try await buy()
    let receipt: ReceiptResponse = try await customer.get(
      "/store/v1/receipt", query: [("device", "reader-1")])
    let verdict: VerifyReceiptResponse = try await api(service).call(
      "POST", "/verifyReceipt", body: VerifyReceiptRequest(receiptData: receipt.receipt)
    ).value
    #expect(verdict.status == .valid)
    #expect(
      Set(verdict.receipt?.purchases.map(\.transactionIdentifier) ?? []) == [
        first.id.description, second.id.description,
      ])

    let path = "/store/v1/transactions/\(first.id)/finish"
    await #expect(throws: APICallError.self) {
      try await customer.call("POST", path, body: EmptyBody?.none, as: TransactionResponse.self)
    }
    let server = try api(service, "server-credential")
    let finished: TransactionResponse = try await server.call("POST", path, body: EmptyBody?.none).value
    #expect(finished.transaction.finishedDate != nil)
    await service.stop()

    let again = self.service(catalog: url)
    try await again.start()
    let queue: TransactionsResponse = try await api(again, opened.token).get(
      "/store/v1/transactions", query: [("unfinished", "true")])
    #expect(queue.transactions.map(\.id) == [second.id])
    let later: VerifyReceiptResponse = try await api(again).call(
      "POST", "/verifyReceipt", body: VerifyReceiptRequest(receiptData: receipt.receipt)
    ).value
    #expect(later.status == .valid, "the certificates are the same after a restart")
    await again.stop()
    await catalog.drain()
  }

  @Test("what is for sale to some devices only is sold to these")
  func partOfTheDevices() async throws {
    try NewStore.putKeys(into: directory.path("state"))
    let catalog = try catalogServer()
    let service = service(catalog: "http://\(try #require(catalog.boundAddresses.first))")
    try await service.start()
    let opened: AccountResponse = try await api(service).call(
      "POST", "/sandbox/v1/accounts", body: AccountRequest(territory: "FRA", name: "A reader")
    ).value
    let customer = try api(service, opened.token)
    func buy(on device: String) async throws -> StoreTransaction {
      let request = PurchaseRequest(product: StoreHarness.issue, device: DeviceIdentifier(device))
      return try await customer.call(
        "POST", "/store/v1/purchases", body: request, as: TransactionResponse.self
      ).value.transaction
    }
    #expect(try await buy(on: "included").state == .purchased)
    let error = await #expect(throws: APICallError.self) { try await buy(on: "excluded") }
    guard case .problem(let problem) = error else {
      Issue.record("no problem: \(String(describing: error))")
      return
    }
    #expect(problem.code == .productUnknown)
    #expect(problem.detail == "com.example.heroes.issue1 is not for sale to this device")
    await service.stop()
    await catalog.drain()
  }

  @Test("a second store in the same directory does not start, nor does one on a port that is taken")
  func exclusive() async throws {
    try NewStore.putKeys(into: directory.path("state"))
    let service = service(catalog: "http://127.0.0.1:1")
    try await service.start()
    await #expect(throws: StateDirectoryError.self) {
      try await self.service(catalog: "http://127.0.0.1:1").start()
    }
    await service.stop()
    let again = self.service(catalog: "http://127.0.0.1:1")
    try await again.start()
    #expect(again.addresses.count == 1)
    await again.stop()
    #expect(again.addresses.isEmpty)
  }

  @Test("a delivery server that does not answer makes the catalog unavailable, with a time to try again")
  func unreachableCatalog() async throws {
    try NewStore.putKeys(into: directory.path("state"))
    let service = service(catalog: "http://127.0.0.1:1")
    try await service.start()
    let opened: AccountResponse = try await api(service).call(
      "POST", "/sandbox/v1/accounts", body: AccountRequest(territory: "FRA", name: "A reader")
    ).value
    let error = await #expect(throws: APICallError.self) {
      try await api(service, opened.token).call(
        "POST", "/store/v1/purchases", body: PurchaseRequest(product: StoreHarness.issue),
        as: TransactionResponse.self)
    }
    guard case .problem(let problem) = error else {
      Issue.record("no problem: \(String(describing: error))")
      return
    }
    #expect(problem.code == .catalogUnavailable)
    #expect(problem.retryAfterSeconds == 2)
    await service.stop()
  }

  @Test(
    "an address that is none is refused before anything is made",
    arguments: [[], ["nonsense"], ["127.0.0.1:8090", "unix:"]])
  func badAddress(listen: [String]) throws {
    let configuration = SandboxConfiguration(
      listen: listen, state: directory.path("state"), catalog: "http://127.0.0.1:1", serverCredential: nil,
      controlKey: nil, sharedSecret: nil, environment: "sandbox", bundle: "com.example.pullbox",
      logLevel: "error")
    #expect(throws: ConfigurationError.self) { try configuration.addresses() }
  }
}
