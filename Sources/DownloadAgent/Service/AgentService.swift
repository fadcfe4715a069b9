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
    let paths = configuration.paths
    lock = try StateDirectory.claim(paths.state)
    self.log = log
    let identity = try DeviceIdentity.load(from: paths.state)
    database = try AgentDatabase(path: paths.database)
    client = try HTTPClient(configuration: Self.clientConfiguration)

    let serverMonitor = EndpointHealth(url: configuration.server, clock: wallClock)
    let storeMonitor = EndpointHealth(url: configuration.store, clock: wallClock)
    let delivery = DeliveryClient(
      api: APIClient(baseURL: configuration.server, client: client), monitor: serverMonitor,
      identity: identity, time: ServerTime(clock: wallClock))
    let store = StoreQueueClient(
      api: APIClient(baseURL: configuration.store, credential: configuration.accountToken, client: client),
      monitor: storeMonitor, device: identity.identifier)
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
      retryPolicy: tuning.transactionRetry, clock: clock, log: log)
    let control = ControlInterface(
      downloads: downloads, transactions: transactions, library: library, hub: hub, identity: identity,
      server: serverMonitor, store: storeMonitor, started: wallClock.now(), clock: clock, log: log,
      heartbeat: tuning.heartbeat)
    server = HTTPServer(
      configuration: Self.serverConfiguration(socket: configuration.socketPath), handler: control.router(),
      clock: clock)
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

  /// Returns once the control interface's loop has answered: a sign of life for the watchdog.
  public func pulse() async {
    await server.ping()
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
    configuration.useProblemDocuments()
    return configuration
  }
}
