import Commerce
import CoreTypes
import Database
import Files
import HTTPClient
import HTTPServer
import Monitoring
import PullboxAPIServer
import SandboxRecords
import ServiceRuntime
import Synchronization
import SystemCalls

/// The store as a service: opens its state, answers, drains.
final class SandboxService: Service {
  private let configuration: SandboxConfiguration
  private let log: Log
  private let clock: any WallClock
  /// Nil before the start and after the stop.
  private let open = Mutex<RunningStore?>(nil)
  /// Unstructured, since a service that has started goes on behind its caller's back; ``stop()`` ends it and waits for it.
  private let renewing = Mutex<Task<Void, Never>?>(nil)

  var name: String { "sandbox-store" }

  init(
    _ configuration: SandboxConfiguration, log: Log, clock: any WallClock = SystemWallClock()
  ) {
    self.configuration = configuration
    self.log = log
    self.clock = clock
  }

  /// Opens the state, fails the purchases that an earlier process left open, makes the renewals that fell due since, and
  /// listens. What it opened is closed again before it throws. Throws ``StateDirectoryError`` for a directory
  /// that another process holds or that is damaged, and what listening throws.
  func start() async throws {
    let opened = try await BlockingPool.shared.run { [self] in
      try RunningStore(configuration, clock: clock, log: log)
    }
    do {
      let interrupted = try await opened.store.failInterrupted()
      if interrupted > 0 {
        log.warning("interrupted purchases have failed", ["count": LogValue(interrupted)])
      }
      try await opened.store.restoreFaults()
      try await opened.store.catchUp(waiting: .unlimited)
      try await opened.store.catchUpGoogle()
      try await BlockingPool.shared.run { [configuration] in
        try opened.server.start()
        try opened.chain.adopt(responder: configuration.responder(at: opened.server.boundAddresses))
        try opened.adopt(tokenAddress: configuration.tokenAddress(at: opened.server.boundAddresses))
      }
    } catch {
      await opened.close()
      throw error
    }
    open.locked { $0 = opened }
    renewing.locked { $0 = Task { [log] in await opened.work(log: log) } }
    log.info("the store is open", ["addresses": "\(addresses.map(\.description).joined(separator: " "))"])
  }

  /// Ends the work in the background and waits for it, then answers the requests that have arrived, and
  /// closes everything. Does nothing for a store that is not open.
  func stop() async {
    let opened = open.locked { open in
      defer { open = nil }
      return open
    }
    let task = renewing.locked { $0.take() }
    task?.cancel()
    await task?.value
    await opened?.close()
  }

  /// Where it listens; empty while it does not.
  var addresses: [ServerAddress] {
    open.locked { $0?.server.boundAddresses ?? [] }
  }
}

/// A store with everything it holds open: its directory's lock, its database, its client, its server.
final class RunningStore: Sendable {
  let store: PaymentStore
  let server: HTTPServer
  /// Its responder's address is known once the server listens.
  let chain: SigningChain
  private let sender: NotificationSender
  private let googleSender: GoogleSender
  private let google: GoogleAuthority
  private let directory: StoreStateDirectory
  private let extender: RenewalExtender
  /// Held until this object is gone.
  private let lock: LockFile
  private let database: Database
  private let client: HTTPClient

  /// Opens all but the server, which is only made. Blocks; at the first start for as long as it takes to make
  /// five RSA keys.
  init(_ configuration: SandboxConfiguration, clock: any WallClock, log: Log) throws {
    let addresses = try configuration.addresses()
    directory = StoreStateDirectory(path: configuration.state)
    lock = try directory.acquire()
    let authority = try directory.authority(now: clock.now())
    let credential = try configuration.serverCredential ?? directory.serverCredential()
    client = try HTTPClient()
    database = try Database.open(
      path: directory.databasePath, migrations: StoreSchema.migrations,
      options: Database.Options(readers: 1, reserve: .mebibytes(4)))
    store = PaymentStore(
      database: database,
      catalog: RemoteCatalog(
        baseURL: configuration.catalog, application: configuration.bundle, client: client),
      issuer: ReceiptIssuer(
        authority: authority, bundleIdentifier: configuration.bundle,
        environment: try configuration.storeEnvironment()),
      sharedSecret: (configuration.sharedSecret?.revealed).map(SecretDigest.init(of:)), clock: clock)
    chain = try SigningChain(
      in: directory, responder: configuration.responder(at: addresses), clock: clock)
    let payloads = PayloadIssuer(
      signer: chain, bundleIdentifier: configuration.bundle, appIdentifier: configuration.appAppleID,
      environment: try configuration.storeEnvironment(), clock: clock, faults: store.faults)
    let sender = NotificationSender(
      store: store, issuer: payloads, address: configuration.notificationURL, client: client, log: log)
    let extender = RenewalExtender(store: store, log: log) { sender.wake() }
    (self.sender, self.extender) = (sender, extender)
    google = try directory.googleAuthority(clock: clock)
    let googleSender = GoogleSender(
      store: store, authority: google, package: configuration.bundle,
      address: configuration.googleNotificationURL, client: client, log: log)
    self.googleSender = googleSender
    let apiKey = try directory.apiKey()
    log.info("the key for /inApps", ["file": "\(apiKey.path)", "issuer": "\(configuration.apiIssuer)"])
    let running = WeakServerReference()
    var routes = StoreRoutes(
      store: store, serverCredential: SecretDigest(of: credential.revealed),
      controlKey: (configuration.controlKey?.revealed).map(SecretDigest.init(of:)), log: log,
      metrics: ServiceMetrics(
        server: running, database: database, directories: ["state": configuration.state],
        sources: [store, sender]))
    routes.serverAPI = ServerAPIRoutes(
      store: store, issuer: payloads,
      authority: ServerAPIAuthority(
        keyIdentifier: apiKey.identifier, issuer: configuration.apiIssuer,
        bundleIdentifier: configuration.bundle, key: apiKey.key, clock: clock),
      limiter: ServerAPIRateLimiter(
        payloads.environment == .production ? .production : .sandbox, clock: clock),
      sendsNotifications: configuration.notificationURL != nil, wake: extender.wake, log: log)
    routes.certificates = CertificateRoutes(chain: chain)
    routes.google = GoogleRoutes(
      store: store, authority: google, package: configuration.bundle, log: log)
    routes.didChange = {
      sender.wake()
      googleSender.wake()
    }
    var serverConfiguration = HTTPServerConfiguration(addresses: addresses)
    serverConfiguration.loops = 1
    serverConfiguration.maximumBodyLength = .mebibytes(4)
    serverConfiguration.undividedPaths = [CertificateRoutes.path]
    serverConfiguration.useProblemDocuments()
    server = HTTPServer(configuration: serverConfiguration, handler: routes.router())
    running.set(server)
  }

  /// Tells clients where access tokens are given. Blocks.
  func adopt(tokenAddress: String) throws {
    google.adopt(tokenAddress: tokenAddress)
    try directory.writeKeyFile(of: google)
  }

  /// Runs renewals, extensions and notifications in the background until the task is cancelled. The four
  /// tasks are independent of each other.
  func work(log: Log) async {
    await withTaskGroup { group in
      group.addTask { [store] in await store.runRenewals(log: log) }
      group.addTask { [sender] in await sender.run() }
      group.addTask { [extender] in await extender.run() }
      group.addTask { [googleSender] in await googleSender.run() }
    }
  }

  /// Answers what was asked before, then closes everything. The directory is free once this object is gone.
  func close() async {
    store.questions.end()
    await server.drain()
    client.shutDown()
    await BlockingPool.shared.run { [database] in database.close() }
  }
}
