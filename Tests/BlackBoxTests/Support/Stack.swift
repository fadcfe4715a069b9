import Commerce
import CoreTypes
import Files
import Foundation
import Glibc
import HTTPClient
import PullboxAPI
import PullboxTesting
import ServiceAPI
import SystemCalls

/// Sandbox store, delivery server and agent as processes of their own, each on a free port, with a proxy before the two
/// servers: their addresses stay while they come and go, and what passes can be held, cut and changed.
actor Stack {
  enum Part: String, Sendable, CaseIterable {
    case store
    case server
    case agent
  }

  /// The settings that differ from test to test.
  struct Options: Sendable {
    var parts: Set<Part> = [.store, .server, .agent]
    /// Whether the server knows the store as one of the kind google.
    var asksAsGoogle = false
    /// `--ticket-lifetime` of the server.
    var ticketLifetime = "15m"
    /// Whether the server also knows the store as one that signs what it says, of the kind apple, with its interface and notifications.
    var signsData = false
    /// Whether such a store also notifies the server.
    var isNotified = true
  }

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  nonisolated let directory: TemporaryDirectory
  nonisolated let serverProxy: PackageProxy
  nonisolated let storeProxy: PackageProxy
  nonisolated let client: HTTPClient
  private let options: Options
  private let operatorKey = "operator-key-of-a-test"
  private let storeCredential = "store-credential-of-a-test"
  private(set) var account = ""
  private var daemons: [Part: Daemon] = [:]
  /// Agents of other devices of the same account, by name.
  private var others: [String: Daemon] = [:]

  /// Runs `body` with a started stack; nothing of it is left afterwards.
  static func with<Value: Sendable>(
    _ options: Options = Options(), _ body: @Sendable (Stack) async throws -> Value
  ) async throws -> Value {
    let stack = try Stack(options)
    do {
      try await stack.startAll()
      let value = try await body(stack)
      await stack.tearDown()
      return value
    } catch {
      let logs = await stack.tearDown()
      // Shown only for a test that failed, where it is what one wants to see first.
      FileHandle.standardError.write(Data("---- logs of a stack whose test threw \(error)\n\(logs)\n".utf8))
      throw error
    }
  }

  private init(_ options: Options) throws {
    self.options = options
    directory = try TemporaryDirectory()
    serverProxy = try PackageProxy()
    storeProxy = try PackageProxy()
    var configuration = HTTPClientConfiguration()
    configuration.usesProxyOfEnvironment = false
    client = try HTTPClient(configuration: configuration)
  }

  private func startAll() async throws {
    for part in Part.allCases where options.parts.contains(part) { try await start(part) }
  }

  /// The end of every log.
  @discardableResult
  private func tearDown() async -> String {
    serverProxy.close()
    storeProxy.close()
    for daemon in Array(daemons.values) + Array(others.values) { await daemon.process.killAndWait() }
    client.shutDown()
    return Part.allCases.compactMap { part in
      // A part that was never started has no log.
      (try? Executables.text(directory.path("\(part).log"))).map { "\(part): \($0.suffix(4000))" }
    }.joined(separator: "\n")
  }

  // MARK: Starting and stopping

  /// Starts a part that does not run, with the state it had. `arguments` are more of the store's or the server's; `environment`
  /// is added to that of the server or the agent; `state` is the agent's directory, for a device other than the first, or the server's, for one that was restored.
  func start(
    _ part: Part, arguments: [String] = [], environment: [String: String] = [:], state: String? = nil
  ) async throws {
    switch part {
    case .store:
      let state = directory.path("store")
      // One that is set up anew later makes its own.
      if account.isEmpty, try FileSystem.status(of: state) == nil { try await StoreKeys.put(into: state) }
      let daemon = try await Daemon.start(
        "pullbox-sandbox",
        [
          "--listen", "127.0.0.1:0", "--state", state, "--catalog", serverProxy.url,
          "--server-credential", storeCredential,
        ] + signingStoreArguments + (options.asksAsGoogle ? googleStoreOptions : []) + arguments,
        name: part.rawValue, in: directory)
      daemons[part] = daemon
      storeProxy.setUpstream(port: daemon.port)
      if account.isEmpty { account = try await makeAccount() }
    case .server:
      // On a slow machine the store still takes a completion before that is answered.
      let patience = arguments.contains("--store-patience") ? [] : ["--store-patience", "30s"]
      let daemon = try await Daemon.start(
        "pullbox-server",
        [
          "--listen", "127.0.0.1:0", "--state", directory.path(state ?? "server"), "--operator-key",
          operatorKey, "--ticket-lifetime", options.ticketLifetime,
        ]
          + (options.asksAsGoogle
            ? googleServerOptions
            : [
              "--store-url", storeProxy.url, "--store-credential", storeCredential,
              // One account buys on a new device again and again.
              "--store-device-limit", "100000",
            ])
          + (try signingServerArguments()) + patience + arguments,
        name: part.rawValue, in: directory, environment: environment)
      daemons[part] = daemon
      serverProxy.setUpstream(port: daemon.port)
    case .agent:
      let token = try AccountTokenFile(account, in: directory)
      daemons[part] = try await Daemon.start(
        "pullbox-agent",
        [
          "--state", directory.path(state ?? "agent"), "--server", serverProxy.url, "--store", storeProxy.url,
          "--account-token-file", token.path, "--socket", agentSocket, "--poll-interval", "1",
        ], name: part.rawValue, in: directory, environment: Self.ownMachine.merging(environment) { $1 })
    }
  }

  /// A test tells its agent's conditions itself: the machine that it runs on may have a battery.
  private static let ownMachine = ["PULLBOX_CONDITION_SOURCES": "none"]

  private var signingStoreArguments: [String] {
    guard options.signsData else { return [] }
    let notifications =
      options.isNotified ? ["--notification-url", "\(serverProxy.url)/v1/notifications/apple"] : []
    return ["--ocsp-url", "\(storeProxy.url)/ocsp"] + notifications
  }

  private func signingServerArguments() throws -> [String] {
    guard options.signsData else { return [] }
    let key = try apiKey()
    return [
      "--payment-store",
      """
      {name: 'apple', kind: 'apple', bundles: ['\(Self.bundle)'], roots: ['\(directory.path("store/pki/signed-data-root.pem"))'],
       addresses: {sandbox: '\(storeProxy.url)', api: {sandbox: '\(storeProxy.url)'}},
       issuer: '\(Self.issuer)', keyId: '\(key.name)', keyFile: '\(key.path)'}
      """,
    ]
  }

  private nonisolated var googleNotificationURL: String { serverProxy.url + "/v1/notifications/google" }

  private nonisolated var googleStoreOptions: [String] {
    ["--google-notification-url", googleNotificationURL, "--google-token-url", storeProxy.url + "/token"]
  }

  private nonisolated var googleServerOptions: [String] {
    [
      "--payment-store",
      """
      {name: 'google', kind: 'google', bundles: ['com.example.pullbox'], allowSandbox: true,
       keyFile: '\(directory.path("store/google-service-account.json"))',
       addresses: {play: '\(storeProxy.url)', keys: '\(storeProxy.url)/oauth2/v3/certs'},
       notificationAudience: '\(googleNotificationURL)',
       notificationAccount: 'push@sandbox-store.iam.gserviceaccount.com'}
      """,
    ]
  }

  /// Starts another device's agent, for the same account of the store, or starts it again with the state it had.
  func startAgent(named name: String) async throws {
    let token = try AccountTokenFile(account, in: directory)
    others[name] = try await Daemon.start(
      "pullbox-agent",
      [
        "--state", directory.path(name), "--server", serverProxy.url, "--store", storeProxy.url,
        "--account-token-file", token.path, "--socket", directory.path("\(name).sock"), "--poll-interval",
        "1",
      ], name: name, in: directory, environment: Self.ownMachine)
  }

  /// SIGKILL to another device's agent.
  func killAgent(named name: String) async {
    await others.removeValue(forKey: name)?.process.killAndWait()
  }

  /// SIGKILL.
  func kill(_ part: Part) async {
    guard let daemon = daemons.removeValue(forKey: part) else { return }
    await daemon.process.killAndWait()
  }

  /// The process of a part that runs.
  func processIdentifier(of part: Part) -> Int32? { daemons[part]?.process.identifier }

  /// How a part that runs ends; returns when it has.
  func ending(of part: Part) async throws -> ChildProcess.Ending {
    guard let daemon = daemons[part] else { throw Failure(description: "\(part) does not run") }
    return await daemon.process.ending()
  }

  /// Sends a signal to a part that runs, such as SIGSTOP.
  func signal(_ part: Part, _ signal: Int32) throws {
    guard let daemon = daemons[part], Glibc.kill(daemon.process.identifier, signal) == 0 else {
      throw Failure(description: "\(part) does not run")
    }
  }

  /// SIGTERM; how it ended.
  @discardableResult
  func terminate(_ part: Part) async throws -> ChildProcess.Ending {
    guard let daemon = daemons.removeValue(forKey: part) else {
      throw Failure(description: "\(part) does not run")
    }
    return await daemon.process.terminateAndWait()
  }

  func restart(_ part: Part) async throws {
    await kill(part)
    try await start(part)
  }

  /// A second account at the store.
  func makeAccount() async throws -> String {
    let answer = try await store().post(
      "/sandbox/v1/accounts", AccountRequest(territory: "USA", name: "Reader"))
    guard answer.status == 200 || answer.status == 201 else { throw Failure(description: answer.text) }
    return try answer.decoded(AccountResponse.self).token
  }

  // MARK: Talking to it

  nonisolated var agentSocket: String { directory.path("agent.sock") }

  /// The server without a credential, through the proxy as a device reaches it.
  nonisolated var server: Web { Web(base: serverProxy.url, client: client) }

  nonisolated var agent: AgentClient { AgentClient(socket: agentSocket, client: client) }

  nonisolated func agent(named name: String) -> AgentClient {
    AgentClient(socket: directory.path("\(name).sock"), client: client)
  }

  var operatorWeb: Web { Web(base: serverProxy.url, credential: operatorKey, client: client) }

  /// The store as the account of the agent, or without an account.
  func store() -> Web {
    Web(base: storeProxy.url, credential: account.isEmpty ? nil : account, client: client)
  }

  func logged(by part: Part) throws -> String { try Executables.text(directory.path("\(part).log")) }

  /// Runs `pullbox` with the stack's addresses and key.
  nonisolated func pullbox(_ arguments: String...) async throws -> Executables.Outcome {
    try await pullbox(arguments)
  }

  nonisolated func pullbox(_ arguments: [String]) async throws -> Executables.Outcome {
    try await Executables.run(
      Executables.path("pullbox"), arguments, environment: commandEnvironment, in: directory)
  }

  /// Runs `pullbox` with words for a shell on a terminal of its own, 80 columns wide; both of its streams are in the output, as the
  /// terminal got them. `environment` is added.
  nonisolated func pullbox(onTerminal words: String, environment: [String: String] = [:]) async throws
    -> Executables.Outcome
  {
    try await Executables.run(
      "/usr/bin/script",
      ["-qefc", "stty cols 80 rows 24; exec \(Executables.path("pullbox")) \(words)", "/dev/null"],
      environment: commandEnvironment.merging(["TERM": "xterm"]) { $1 }.merging(environment) { $1 },
      in: directory)
  }

  /// Starts the command line as ``pullbox(_:)`` does, for a test that ends it itself.
  nonisolated func startPullbox(_ arguments: String...) throws -> ChildProcess {
    try ChildProcess(
      Executables.path("pullbox"), arguments, environment: commandEnvironment,
      output: directory.path("pullbox.log"))
  }

  private nonisolated var commandEnvironment: [String: String] {
    var environment = Executables.environment
    environment["PULLBOX_SERVER"] = serverProxy.url
    environment["PULLBOX_STORE"] = storeProxy.url
    environment["PULLBOX_AGENT_SOCKET"] = agentSocket
    environment["PULLBOX_OPERATOR_KEY"] = operatorKey
    environment["HOME"] = directory.path
    return environment
  }

  /// Puts a single file on sale as version 1.0 of `product`, by the operator's interface alone.
  func publish(_ path: String, as product: String) async throws {
    try await describe(product, ProductDescription())
    try await release(path, as: product)
  }

  /// Makes a product, or changes it.
  func describe(_ product: String, _ description: ProductDescription) async throws {
    try await Self.require(
      operatorWeb.send(
        "PUT", "/v1/operator/products/\(product)", headers: [("Content-Type", "application/json")],
        body: try APIJSON.encode(description)))
  }

  /// Releases a single file as a version of a product that there is.
  func release(_ path: String, as product: String, version: String = "1.0") async throws {
    let web = operatorWeb
    let bytes = try FileSystem.read(path, upTo: .mebibytes(64))
    let upload = try await Self.require(
      web.send(
        "POST", "/v1/operator/uploads",
        headers: [
          ("Tus-Resumable", "1.0.0"), ("Upload-Length", "\(bytes.count)"),
          ("Content-Type", "application/offset+octet-stream"),
        ], body: bytes))
    guard let location = upload.headers["Location"], let identifier = location.split(separator: "/").last
    else {
      throw Failure(description: "an upload without a Location")
    }
    let versions = "/v1/operator/products/\(product)/versions"
    try await Self.require(web.post(versions, ["upload": String(identifier), "version": version]))
    for step in ["submit", "approve", "release"] {
      try await Self.require(web.post("\(versions)/\(version)/\(step)"))
    }
  }

  @discardableResult
  private static func require(_ answer: Answer) throws -> Answer {
    guard (200..<300).contains(answer.status) else { throw Failure(description: answer.text) }
    return answer
  }

  /// Puts a folder or file on sale as an operator would, with these options besides.
  nonisolated func publishByCommand(
    _ path: String, as product: String, version: String = "1.0", _ options: [String] = []
  ) async throws {
    let outcome = try await pullbox(
      ["publish", path, "--product", product, "--version", version, "--release"] + options)
    guard outcome.succeeded else {
      throw Failure(description: "publish: \(outcome.ending) \(outcome.output) \(outcome.errors)")
    }
  }

  /// Every grant of a product, as the operator sees it.
  func deliveries(of product: String) async throws -> [OperatorGrant] {
    try await operatorWeb.get("/v1/operator/deliveries?product=\(product)").decoded(Page<OperatorGrant>.self)
      .items
  }

  /// The transactions that the store's queue still holds for the account.
  func unfinishedTransactions() async throws -> [StoreTransaction] {
    try await store().get("/store/v1/transactions?unfinished=true").decoded(TransactionsResponse.self)
      .transactions
  }

  // MARK: The chain by hand, as an app without the agent would

  /// Buys at the store; the transaction.
  func buy(_ product: String, device: String) async throws -> StoreTransaction {
    let answer = try await store().post("/store/v1/purchases", ["product": product, "device": device])
    guard (200..<300).contains(answer.status) else { throw Failure(description: answer.text) }
    return try answer.decoded(TransactionResponse.self).transaction
  }

  func receipt(device: String, bundle: String? = nil) async throws -> String {
    let answer = try await store().get(
      "/store/v1/receipt?device=\(device)" + (bundle.map { "&bundle=\($0)" } ?? ""))
    guard answer.status == 200 else { throw Failure(description: answer.text) }
    return try answer.decoded(ReceiptResponse.self).receipt
  }

  /// The token that proves a transaction to a server that knows the store as one of the kind google.
  func purchaseToken(of transaction: StoreTransaction) async throws -> String {
    let answer = try await store().post("/store/v1/transactions/\(transaction.id)/purchase-token")
    guard answer.status == 200 else { throw Failure(description: answer.text) }
    return try answer.decoded(PurchaseTokenResponse.self).purchaseToken
  }

  nonisolated func askForGrant(
    of product: String, purchaseToken: String, device: String
  ) async throws -> Answer {
    guard let identifier = ProductIdentifier(product), let device = DeviceIdentifier(device) else {
      throw Failure(description: "not identifiers: \(product), \(device)")
    }
    return try await server.post(
      "/v1/grants",
      GrantRequest(
        proof: Proof(purchaseToken: purchaseToken), product: identifier, device: Device(id: device)))
  }

  nonisolated func askForGrant(of product: String, receipt: String, device: String) async throws -> Answer {
    guard let identifier = ProductIdentifier(product), let device = DeviceIdentifier(device) else {
      throw Failure(description: "not identifiers: \(product), \(device)")
    }
    return try await server.post(
      "/v1/grants",
      GrantRequest(proof: Proof(receipt: receipt), product: identifier, device: Device(id: device)))
  }

  /// The device that the grant was handed to, which has no key.
  nonisolated func device(holding grant: GrantResponse) -> Web {
    Web(base: serverProxy.url, credential: grant.renewalSecret, client: client)
  }

  /// Buys, and asks for a grant with the receipt.
  func grant(of product: String, device: String) async throws -> GrantResponse {
    _ = try await buy(product, device: device)
    let answer = try await askForGrant(
      of: product, receipt: try await receipt(device: device), device: device)
    guard answer.status == 201 else { throw Failure(description: answer.text) }
    return try answer.decoded()
  }

  /// How many requests a daemon at `web` has answered on a route, by its own count.
  static func requests(to route: String, of web: Web) async throws -> Int {
    let page = try await web.get("/metrics")
    let samples = try PrometheusPage(String(decoding: page.body, as: UTF8.self)).samples
    return samples.filter {
      $0.key.hasPrefix("pullbox_http_requests_total{") && $0.key.contains("route=\"\(route)\"")
    }.reduce(0) { $0 + Int($1.value) }
  }
}
