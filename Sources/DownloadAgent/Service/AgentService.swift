import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import Crypto
import Files
import HTTPClient
import HTTPServer
import LibraryCatalog
import MachineConditionSources
import MessageBus
import Monitoring
import PullboxAPI
import PullboxAPIClient
import ServiceAPI
public import ServiceRuntime
public import SystemCalls

/// The whole agent as one service: restores its state, watches the store's queue, downloads, and answers on its socket.
public final class AgentService: Service {
  /// The limits, retry policies and intervals that tests replace. The defaults are those of the program.
  struct Tuning: Sendable {
    /// The bounds of transfers.
    var transfer = PieceTransfer.Limits()
    /// The pauses of downloads and of content jobs.
    var downloadRetry = RetryPolicy()
    /// The pauses of transactions.
    var transactionRetry = RetryPolicy(
      backoff: Backoff(initial: .milliseconds(500), factor: 2, cap: .seconds(30), jitter: 0.3))
    /// Transactions that a page of the store's queue is asked for.
    var queuePage = StoreQueueClient.pageLength
    /// The pauses after questions to the feed that were not answered.
    var feedRetry = Backoff(initial: .seconds(1), cap: .seconds(300))
    /// The time until a download that did not begin is looked at again.
    var feedSecondLook: Duration = .seconds(60)
    /// When the feed is asked by an agent that fetches or lists what it tells.
    var arrivalRhythm = ArrivalFollower.Rhythm.ofArrivals
    /// When the feed is asked by an agent that fetches nothing of it.
    var ownershipRhythm = ArrivalFollower.Rhythm.ofOwnership
    /// The pauses after titles and covers that could not be read.
    var listingRetry = Backoff(initial: .seconds(2), factor: 3, cap: .seconds(600), jitter: 0.2)
    /// The pauses after licenses that could not be renewed.
    var licenseRetry = Backoff(initial: .seconds(5), factor: 2, cap: .seconds(3600), jitter: 0.2)
    /// The pauses between the probes of a network that is not open.
    var probes = NetworkGate.standardBackoff
    /// The time between two requests of a service while the machine says that it has no network.
    var doubt = NetworkGate.standardDoubt
    /// The time between two comment lines of a resting event stream.
    var heartbeat: Duration = .seconds(15)
    /// The zone of windows and of the budget.
    var calendar = LocalCalendar { LocalOffset.seconds(at: $0) }
    /// The sources of the machine's conditions; nil for all that this machine can have.
    var conditionSources: [any ConditionSource]?
    /// How fast conditions settle.
    var conditionPace = ConditionLedger.Pace()
    /// Whether the services are reached by the network; nil where their addresses say so.
    var needsNetwork: Bool?
    /// Pieces in memory at once, of 1 MiB each; two for each download where that is more.
    var buffers = 6
    /// When the server is told how far products were read, and asked.
    var reading = ReadingExchange.Rhythm()
    /// The environment that names the buses.
    var busEnvironment = ProcessEnvironment.variables
    /// The directory of processes.
    var processes = "/proc"
    /// The file operations for staging, for the library and for the files beside the database.
    var fileOperations: any FileOperations = SystemFileOperations()
  }

  /// The name in the log.
  public let name = "agent"

  /// The state directory's, held until the service is gone.
  private let lock: LockFile
  /// The records. They are closed last, once nothing writes any more.
  private let database: AgentDatabase
  /// The client of both services.
  private let client: HTTPClient
  /// The manager of downloads.
  let downloads: DownloadManager
  /// The manager of transactions.
  let transactions: TransactionManager
  /// The follower of the feed.
  let arrivals: ArrivalFollower
  /// The keeper of the license, and of content that was taken back.
  let licenses: LicenseKeeper
  /// The hub of the event stream.
  let hub: EventHub
  /// Closed by ``stop()``, after the last step.
  let library: Library
  /// The watch over the library's volume and its room.
  private let watch: LibraryWatch
  /// The conditions of the machine.
  let conditions: ConditionWatch
  /// The removal of versions that were replaced.
  private let sweeper: VersionSweeper
  /// The places of reading, to and from the customer's other devices; nil where they stay here.
  private let exchange: ReadingExchange?
  /// The server of the control interface, on a Unix socket.
  private let server: HTTPServer
  /// The functions below the socket's routes.
  let control: ControlInterface
  /// Answers monitoring, which reaches no Unix socket; nil where no address is configured.
  private let monitoring: HTTPServer?
  /// Shows the library to programs of this device; nil where no address is configured.
  private let catalog: CatalogServer?
  /// The agent on a bus; nil where none is configured, and without the library.
  let bus: AgentBus?
  /// The configuration of the start.
  private let configuration: AgentConfiguration
  /// The log of the agent.
  private let log: Log
  /// The fields of the log line that the agent writes once it answers.
  private let facts: KeyValuePairs<String, LogValue>

  /// Opens the state directory and makes it this process's own. Blocks. Throws ``ConfigurationError`` for a
  /// configuration that cannot work, ``StateDirectoryError`` for a state directory that another process uses
  /// or that is damaged, `SystemError`, or what the database throws.
  /// The control interface answers on `inherited` Unix sockets in place of the configured one; any other is a ``ConfigurationError``.
  public convenience init(
    configuration: AgentConfiguration, log: Log, inherited: [InheritedSocket] = []
  ) throws {
    try self.init(
      configuration: configuration, log: log, clock: SystemMonotonicClock(), wallClock: SystemWallClock(),
      tuning: Tuning(), inherited: inherited)
  }

  /// The order matters: the configuration is checked before anything is locked, the lock is taken before
  /// anything is read, and nothing listens or asks a service before ``start()``.
  init(
    configuration: AgentConfiguration, log: Log, clock: any MonotonicClock, wallClock: any WallClock,
    tuning: Tuning, inherited: [InheritedSocket] = []
  ) throws {
    try configuration.check()
    try Self.requireUnixSockets(inherited)
    let environment = ProcessEnvironment.variables
    let accountToken = try configuration.accountToken(environment: environment)
    let access = try configuration.controlAccess()
    let paths = try configuration.paths
    lock = try StateDirectory.claim(paths.state)
    self.log = log
    self.configuration = configuration
    let opened = try Self.openState(
      configuration, paths: paths, operations: tuning.fileOperations, log: log, at: wallClock.now())
    let identity = opened.identity
    database = opened.database
    client = try HTTPClient(configuration: Self.clientConfiguration)

    let serverMonitor = EndpointHealth(
      url: configuration.server, clock: wallClock,
      network: NetworkGate(
        clock: clock, backoff: tuning.probes, longestWish: tuning.downloadRetry.longestRequestedDelay,
        doubt: tuning.doubt))
    let storeMonitor = EndpointHealth(
      url: configuration.store, clock: wallClock,
      network: NetworkGate(
        clock: clock, backoff: tuning.probes, longestWish: tuning.downloadRetry.longestRequestedDelay,
        doubt: tuning.doubt))
    var serverAPI = APIClient(baseURL: configuration.server, client: client)
    serverAPI.maximumResponseLength = Self.maximumAnswer
    serverAPI.trust = configuration.serverTrust
    var storeAPI = APIClient(
      baseURL: configuration.store, credential: accountToken.revealed, client: client)
    storeAPI.maximumResponseLength = Self.maximumAnswer
    storeAPI.trust = configuration.storeTrust
    let delivery = DeliveryClient(
      api: serverAPI, consent: configuration.consumptionConsent.map { Consent(consumption: $0) },
      monitor: serverMonitor, identity: identity,
      time: ServerTime(clock: wallClock, offset: try database.serverClockOffset()) { [database, log] offset in
        do {
          try await BlockingPool.shared.run { try database.setServerClockOffset(offset) }
        } catch {
          log.warning("the server's time cannot be saved", ["error": LogValue(error)])
        }
      })
    let store = StoreQueueClient(
      api: storeAPI, monitor: storeMonitor, device: identity.identifier, name: configuration.storeName,
      clock: clock, pageLength: tuning.queuePage)
    hub = EventHub()
    let inbox = TransactionInbox(wakeUp: AsyncSignal())
    let maximumDownloads = configuration.maximumDownloads ?? 3
    library = Library(
      paths: paths, database: database, mayBegin: opened.mayBegin,
      reserve: configuration.spaceReserve?.bytes ?? .mebibytes(32), quota: configuration.quota?.bytes,
      clock: wallClock, pauses: clock, operations: tuning.fileOperations, log: log)
    let locale = configuration.locale ?? ReaderLocale.tag(environment)
    let trustedKeys = Set(configuration.trustedPublisherKeys ?? [])
    var limits = tuning.transfer
    let downloadLimits = try configuration.downloadLimits()
    if let maximum = configuration.maximumConnections {
      limits.connections = ConnectionPlan(maximum: maximum)
    }
    let connection = Self.connection(to: configuration.bus, tuning.busEnvironment, log: log)
    let (sources, inhibitor) = try Self.machine(
      configuration, sharing: connection, background: Self.background(database, hub), tuning: tuning,
      clock: clock, wallClock: wallClock, log: log)
    if let speed = configuration.maximumSpeed { limits.maximumSpeed = ByteCount(speed) }
    downloads = DownloadManager(
      database: database,
      steps: DownloadSteps(
        server: delivery, store: store, library: library, clock: wallClock,
        preferences: try configuration.sectionPreferences(locale: locale)),
      jobSteps: ContentJobSteps(
        server: delivery, client: client, library: library,
        buffers: BufferPool(limit: max(tuning.buffers, 2 * maximumDownloads)),
        pacer: TransferPacer(rate: downloadLimits.rate, clock: clock), clock: wallClock,
        trustedKeys: trustedKeys, limits: limits, inhibitor: inhibitor),
      maximumActive: maximumDownloads, retryPolicy: tuning.downloadRetry, hub: hub,
      inbox: inbox, limits: downloadLimits, calendar: tuning.calendar, clock: clock, log: log)
    transactions = TransactionManager(
      database: database, store: store, server: delivery, downloads: downloads, hub: hub, inbox: inbox,
      pollInterval: configuration.pollInterval?.duration ?? .seconds(5),
      retryPolicy: tuning.transactionRetry, clock: clock, wallClock: wallClock, log: log)
    licenses = LicenseKeeper(
      LicenseKeeper.Terms(
        service: configuration.server, keys: try configuration.licenseKeys(),
        device: identity.identifier, deviceKey: identity.key.verificationKey),
      database: database, server: delivery, library: library, hub: hub, clock: clock, wallClock: wallClock,
      boot: try? FileSystem.bootIdentifier(), backoff: tuning.licenseRetry, log: log)
    arrivals = ArrivalFollower(
      database: database, server: delivery, store: store, transactions: transactions, downloads: downloads,
      licenses: licenses, hub: hub, policies: try configuration.arrivalPolicies(),
      listings: ListingKeeper(
        library: library, server: delivery, store: store, hub: hub,
        locale: locale, clock: clock, log: log,
        backoff: tuning.listingRetry),
      clock: clock, wallClock: wallClock, log: log,
      backoff: tuning.feedRetry, secondLook: tuning.feedSecondLook, arrivalRhythm: tuning.arrivalRhythm,
      ownershipRhythm: tuning.ownershipRhythm)
    watch = LibraryWatch(library: library, downloads: downloads, licenses: licenses, clock: clock, log: log)
    conditions = try Self.conditionWatch(
      configuration, downloads: downloads, client: client, environment: environment,
      gates: [(configuration.server, serverMonitor), (configuration.store, storeMonitor)],
      sources: sources, tuning: tuning, clock: clock, wallClock: wallClock, log: log)
    sweeper = VersionSweeper(
      library: library, downloads: downloads, hub: hub,
      keeps: configuration.keepPrevious?.duration ?? VersionSweeper.standard, clock: clock, log: log)
    let running = WeakServerReference()
    let metrics = ServiceMetrics(
      server: running, database: database.database,
      directories: ["state": paths.state, "library": paths.library],
      sources: [
        AgentMetrics(
          downloads: downloads, transactions: transactions, library: library, server: serverMonitor,
          store: storeMonitor)
      ])
    exchange =
      configuration.privateReading == true
      ? nil
      : ReadingExchange(
        database: database, server: delivery, clock: clock, log: log, rhythm: tuning.reading)
    let reading = ReadingShelf(library: library, sharing: exchange?.sharing ?? ReadingShelf.Sharing())
    catalog = try configuration.catalogListen.map { [library] address in
      try CatalogServer(
        at: address, of: library, reading: reading, state: paths.state, clock: clock, wallClock: wallClock,
        log: log)
    }
    let readers = Self.readers(configuration.bus, connection, tuning.processes)
    let control = ControlInterface(
      downloads: downloads, transactions: transactions, licenses: licenses, arrivals: arrivals,
      library: library, reading: reading,
      shop: Shop(store: store, server: delivery, transactions: transactions, clock: clock, log: log),
      hub: hub, identity: identity,
      server: serverMonitor, store: storeMonitor, conditions: conditions,
      probes: PeerProbes(
        delivery: delivery, store: store, clock: clock,
        storeNotBefore: { [transactions] in await transactions.pollNotBefore }),
      authority: Self.authority(
        access, configuration.bus, connection, readers, tuning.busEnvironment, log: log),
      catalog: catalog, started: wallClock.now(), clock: clock, wallClock: wallClock,
      log: log, metrics: metrics, heartbeat: tuning.heartbeat)
    self.control = control
    let shown = readers.onUserBus
    bus = connection.map { AgentBus(on: $0, control: control, readers: shown, clock: clock, log: log) }
    facts = [
      "version": LogValue(ProductVersion.current), "device": LogValue("\(identity.identifier)"),
      "server": LogValue(configuration.server), "store": LogValue(configuration.store),
      "storeName": LogValue(configuration.storeName?.description ?? "-"), "library": LogValue(paths.library),
    ]
    server = HTTPServer(
      configuration: try Self.serverConfiguration(configuration, environment, inherited),
      handler: control.router(), clock: clock)
    running.set(server)
    monitoring = try configuration.metricsListen.map { address in
      HTTPServer(
        configuration: try Self.monitoringConfiguration(address), handler: control.monitoringRouter(),
        clock: clock)
    }
    // Last: the library then holds what holds it, until the agent stops.
    library.evictionAdvice = Library.EvictionAdvice(
      removable: { [transactions] in await transactions.removable(for: $0) },
      noteRemoval: { [hub] item in hub.publish(.library(LibraryEvent(change: .removed, item: item))) },
      noteChange: { [hub] item in hub.publish(.library(LibraryEvent(change: .changed, item: item))) })
  }

  /// Where the control interface answers; empty before the start.
  public var boundAddresses: [String] { server.boundAddresses.map(\.description) }
  /// Where metrics are answered beside the control interface; empty before the start, and where no address is configured.
  public var monitoringAddresses: [String] { monitoring?.boundAddresses.map(\.description) ?? [] }
  /// The address of the catalog, as programs are given it; nil before the start, and where none is configured.
  var catalogAddress: String? { catalog?.address }

  /// Restores the state and listens. Throws what the database or the socket throws. Downloads are restored
  /// before transactions, which ask about them, and go on at once.
  public func start() async throws {
    try await BlockingPool.shared.run { [database, library] in
      for record in try database.libraryRecords() { library.titles.note(record.title, of: record.product) }
      let listings = try database.listings()
      library.listings.load(listings, publications: try database.publicationTitles())
      library.ownership.load(try database.ownership())
      for (product, listing) in listings {
        if let title = listing.title { library.titles.noteListed(title, of: product) }
      }
    }
    try await licenses.restore()
    try await downloads.restore()
    try await transactions.restore()
    try monitoring?.start()
    do {
      try catalog?.server.start()
      try server.start()
    } catch {
      await monitoring?.drain()
      await catalog?.server.drain()
      throw error
    }
    log.info("the agent answers", facts)
  }

  /// Runs downloads and transactions until the task is cancelled. None of its loops ends by itself.
  public func run() async throws {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [downloads] in await downloads.run() }
      group.addTask { [downloads] in await downloads.runPacer() }
      group.addTask { [downloads] in await downloads.reports.run() }
      group.addTask { [transactions] in await transactions.run() }
      group.addTask { [arrivals] in await arrivals.run() }
      group.addTask { [licenses] in await licenses.run() }
      group.addTask { [watch] in await watch.run() }
      group.addTask { [conditions] in await conditions.run() }
      group.addTask { [sweeper] in await sweeper.run() }
      group.addTask { [exchange] in await exchange?.run() }
      group.addTask { [bus] in await bus?.run() }
    }
  }

  /// Reads the configuration again: the limits of downloads, the rules of the machine's conditions and the level of the log count at once, for downloads that run as well. Where
  /// something is wrong, all stays as it was, and the log says why.
  public func reload(from source: ConfigurationSource<AgentConfiguration>) async {
    do {
      let new = try await BlockingPool.shared.run { try source.read().configuration }
      try new.check()
      let policy = try await BlockingPool.shared.run {
        try new.machinePolicy(environment: ProcessEnvironment.variables, names: .ofThisMachine())
      }
      try await downloads.setLimits(try new.downloadLimits())
      await conditions.setPolicy(policy)
      log.level = LogLevel(name: new.logLevel) ?? log.level
      log.info("reloaded", ["level": LogValue(new.logLevel)])
      let keys = new.keysThatNeedRestart(since: configuration, options: AgentCommand.description.options)
      guard !keys.isEmpty else { return }
      log.warning("some changes need a restart", ["keys": LogValue(keys.joined(separator: " "))])
    } catch {
      log.refuseReload(error)
    }
  }

  /// Returns once everything that has to turn has been seen to: the loops of the control interface and of the HTTP client, then
  /// those of downloads, of the store's queue, of questions to the server and of transactions. What stands still keeps it from
  /// returning, and the watchdog from being fed.
  public func pulse() async {
    await server.ping()
    await monitoring?.ping()
    await catalog?.server.ping()
    await client.pulse()
    await downloads.pulse()
    await transactions.pulse()
  }

  /// Ends event streams and connections, then transfers: what they have verified is recorded when this
  /// returns. The order is from the outside inwards: no request and no step uses what is closed after it.
  public func stop() async {
    bus?.bus.close()
    hub.close()
    library.leases.close()
    async let monitoringEnd: Void? = monitoring?.drain()
    async let catalogEnd: Void? = catalog?.server.drain()
    await server.drain()
    _ = await (monitoringEnd, catalogEnd)
    await downloads.stop()
    await licenses.stop()
    client.shutDown()
    library.close()
    await BlockingPool.shared.run { [database] in database.close() }
  }

  /// The longest answer of a service, manifests and content aside: enough for some 11,000 purchases. Reading an answer
  /// takes many times its length in memory.
  private static let maximumAnswer = ByteCount.mebibytes(3)
}
