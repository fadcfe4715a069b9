import CoreTypes
import HTTPClient
import HTTPServer
import PullboxAPIClient
import PullboxAPIServer
public import ServiceRuntime
import SystemCalls

/// The whole agent as one service: restores its state, watches the store's queue, downloads, and answers on
/// its socket.
public final class AgentService: Service {
  /// What a test sets otherwise.
  struct Tuning: Sendable {
    var transfer = PieceTransfer.Limits()
    var downloadRetry = RetryPolicy()
    var transactionRetry = RetryPolicy(
      backoff: Backoff(initial: .milliseconds(500), factor: 2, cap: .seconds(30), jitter: 0.3))
    /// The pauses between the probes of a network that is not open.
    var probes = NetworkGate.standardBackoff
    var heartbeat: Duration = .seconds(15)
    /// Pieces in memory at once, of 1 MiB each; two for each download where that is more.
    var buffers = 12
  }

  /// The name in the log.
  public let name = "agent"

  private let lock: LockFile
  private let database: AgentDatabase
  private let client: HTTPClient
  let downloads: DownloadManager
  let transactions: TransactionManager
  let hub: EventHub
  private let server: HTTPServer
  private let socketPath: String
  private let clock: any MonotonicClock
  private let log: Log

  /// Opens the state directory and makes it this process's own. Blocks. Throws ``ConfigurationError`` for a
  /// configuration that cannot work, ``StateDirectoryError`` for a state directory that another process uses
  /// or that is damaged, `SystemError`, or what the database throws.
  public convenience init(configuration: AgentConfiguration, log: Log) throws {
    try self.init(
      configuration: configuration, log: log, clock: SystemMonotonicClock(), wallClock: SystemWallClock(),
      tuning: Tuning())
  }

  init(
    configuration: AgentConfiguration, log: Log, clock: any MonotonicClock, wallClock: any WallClock,
    tuning: Tuning
  ) throws {
    try configuration.check()
    let environment = ProcessEnvironment.variables
    let accountToken = try configuration.accountToken(environment: environment)
    let access = try configuration.controlAccess()
    let paths = try configuration.paths
    lock = try StateDirectory.claim(paths.state)
    self.log = log
    let identity = try DeviceIdentity.load(from: paths.state)
    database = try AgentDatabase(path: paths.database)
    client = try HTTPClient(configuration: Self.clientConfiguration)

    let serverMonitor = EndpointHealth(
      url: configuration.server, clock: wallClock,
      network: NetworkGate(clock: clock, backoff: tuning.probes))
    let storeMonitor = EndpointHealth(
      url: configuration.store, clock: wallClock,
      network: NetworkGate(clock: clock, backoff: tuning.probes))
    var serverAPI = APIClient(baseURL: configuration.server, client: client)
    serverAPI.trust = configuration.serverTrust
    var storeAPI = APIClient(
      baseURL: configuration.store, credential: accountToken.revealed, client: client)
    storeAPI.trust = configuration.storeTrust
    let delivery = DeliveryClient(
      api: serverAPI, monitor: serverMonitor, identity: identity, time: ServerTime(clock: wallClock))
    let store = StoreQueueClient(
      api: storeAPI, monitor: storeMonitor, device: identity.identifier, clock: clock)
    hub = EventHub()
    let inbox = TransactionInbox(wakeUp: AsyncSignal())
    let maximumDownloads = configuration.maximumDownloads ?? 3
    let library = Library(paths: paths, database: database)
    let trustedKeys = Set(configuration.trustedPublisherKeys ?? [])
    var limits = tuning.transfer
    if let speed = configuration.maximumSpeed { limits.maximumSpeed = ByteCount(speed) }
    downloads = DownloadManager(
      database: database,
      steps: DownloadSteps(
        server: delivery, store: store, library: library, clock: wallClock, trustedKeys: trustedKeys),
      jobSteps: ContentJobSteps(
        server: delivery, client: client, library: library,
        buffers: BufferPool(limit: max(tuning.buffers, 2 * maximumDownloads)), clock: wallClock,
        trustedKeys: trustedKeys, limits: limits),
      maximumActive: maximumDownloads, retryPolicy: tuning.downloadRetry, hub: hub,
      inbox: inbox, clock: clock, log: log)
    transactions = TransactionManager(
      database: database, store: store, server: delivery, downloads: downloads, hub: hub, inbox: inbox,
      pollInterval: configuration.pollInterval?.duration ?? .seconds(5),
      retryPolicy: tuning.transactionRetry, clock: clock, wallClock: wallClock, log: log)
    let control = ControlInterface(
      downloads: downloads, transactions: transactions, library: library, hub: hub, identity: identity,
      server: serverMonitor, store: storeMonitor, access: access, started: wallClock.now(), clock: clock,
      log: log, heartbeat: tuning.heartbeat)
    let socket = configuration.socketPath(environment: environment)
    // Where something names the socket, its directory is the operator's business.
    if socket.isDefault { try FileSystem.createDirectories(FileSystem.parent(of: socket.path)) }
    socketPath = socket.path
    self.clock = clock
    server = HTTPServer(
      configuration: Self.serverConfiguration(socket: socket.path), handler: control.router(), clock: clock)
  }

  /// Where the control interface answers; empty before the start.
  public var boundAddresses: [String] { server.boundAddresses.map(\.description) }

  /// Restores the state and listens. Throws what the database or the socket throws.
  public func start() async throws {
    try await downloads.restore()
    try await transactions.restore()
    try server.start()
  }

  /// Runs downloads and transactions until the task is cancelled.
  public func run() async throws {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [downloads] in await downloads.run() }
      group.addTask { [transactions] in await transactions.run() }
    }
  }

  /// Returns once everything that has to turn has been seen to: the client's loop and that of the control interface, by a
  /// request of one to the other, then the loops of downloads and transactions. What stands still keeps it from returning,
  /// and the watchdog from being fed.
  public func pulse() async {
    await proveConnection()
    await downloads.pulse()
    await transactions.pulse()
  }

  private func proveConnection() async {
    var request = ClientRequest(method: "GET", url: "http://agent/healthz")
    request.unixSocketPath = socketPath
    request.totalTimeout = .seconds(10)
    while !Task.isCancelled {
      if (try? await client.send(request))?.status == 200 { return }
      try? await clock.sleep(for: .seconds(1))
    }
  }

  /// Ends event streams and connections, then transfers: what they have verified is recorded when this
  /// returns.
  public func stop() async {
    hub.close()
    await server.drain()
    await downloads.stop()
    client.shutDown()
    await BlockingPool.shared.run { [database] in database.close() }
  }

  private static var clientConfiguration: HTTPClientConfiguration {
    var configuration = HTTPClientConfiguration()
    configuration.userAgent = "pullbox-agent"
    return configuration
  }

  private static func serverConfiguration(socket: String) -> HTTPServerConfiguration {
    var configuration = HTTPServerConfiguration(addresses: [.unix(path: socket)])
    configuration.loops = 1
    configuration.maximumConnections = 256
    configuration.maximumBodyLength = .mebibytes(1)
    configuration.readsPeerCredentials = true
    configuration.useProblemDocuments()
    return configuration
  }
}
