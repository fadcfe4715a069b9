import APIServing
import BlobStore
import Commerce
import Database
import Digests
import HTTPClient
import HTTPServer
public import Measures
import PullboxAPI
import Receipts
public import ServiceRuntime
public import SystemCalls

/// The delivery server with everything it needs: opened from a configuration, run by a ``ServiceGroup``.
public final class DeliveryServer: Service {
  private let lock: LockFile
  private let database: Database
  private let client: HTTPClient
  let server: HTTPServer
  private let outbox: Outbox
  private let recorder: DeliveryRecorder
  let settings: CurrentSettings
  let operators: OperatorKeys
  let configuration: DeliveryConfiguration
  let accessLog: AccessLog?
  let stops: Stops
  let collector: Collector
  private let collections: CollectionSchedule
  private let releases: ReleaseScheduler
  private let clock: any WallClock
  private let timer: any MonotonicClock
  private let run: Int64
  let log: Log

  public var name: String { "delivery server" }

  /// Opens the state directory, which no other process may hold. Blocks. Throws ``StartError`` for what an operator can
  /// mend.
  public init(
    _ configuration: DeliveryConfiguration, log: Log, clock: any WallClock = SystemWallClock(),
    timer: any MonotonicClock = SystemMonotonicClock(), inherited: [InheritedSocket] = []
  ) throws {
    self.clock = clock
    self.timer = timer
    self.log = log
    self.configuration = configuration
    let state = configuration.state
    try FileSystem.createDirectories(state, permissions: 0o700)
    guard let lock = try LockFile.acquire(state + "/lock") else {
      throw StartError("another process uses the state directory \(state)")
    }
    self.lock = lock
    var http = try Self.transport(configuration, inherited: inherited, log: log)
    let keys = OperatorKeys(
      try Self.operatorKeys(configuration), needsSecondKey: configuration.requireSecondKey ?? false)
    operators = keys
    let database = try Database.open(path: state + "/server.db", migrations: Schema.migrations)
    self.database = database
    let blobs = try BlobStore.open(directory: state, measures: configuration.storageQuota != nil)
    client = try HTTPClient()

    let now = clock.now()
    let begun = try database.writeBlocking { connection in
      let run = try RunTable.begin(at: now, in: connection)
      if run.previousDied { try GrantTable.markCountsIncomplete(in: connection) }
      return run
    }
    run = begun.id
    if begun.previousDied { log.warning("the last run was not ended: counts of live grants may have a hole") }

    let store = try Self.store(configuration, client: client, timer: timer)
    let ledger = GrantLedger(database: database, clock: clock)
    outbox = Outbox(ledger: ledger, stores: [store.name: store], clock: timer, log: log)
    let meters = DeliveryMeters(timer: timer)
    recorder = DeliveryRecorder(meters: meters, database: database, timer: timer)
    let changes = ChangeCount()
    let settings = CurrentSettings(
      try configuration.gateSettings(keys: try TicketKeyFile.loadOrCreate(TicketKeyFile.path(in: state))),
      changes: changes)
    self.settings = settings
    let stops = Stops(meters: meters, changes: changes)
    self.stops = stops
    try database.readBlocking { connection in
      stops.restore(
        grants: try GrantTable.revoked(in: connection), contents: try ContentStopTable.all(in: connection))
    }
    let tickets = TicketIssuer(settings: settings, clock: clock)
    let gate = Gate(
      ledger: ledger, stores: [store.name: store], outbox: outbox,
      tickets: tickets, stops: stops, recorder: recorder,
      rules: EntitlementRules(), publicURL: configuration.publicURL ?? "",
      storePatience: configuration.storePatience.duration, timer: timer)
    let uploads = try UploadDesk.open(
      database: database, blobs: blobs, clock: clock,
      limits: UploadLimits(
        lifetime: configuration.uploadLifetime.duration, quota: configuration.storageQuota?.bytes))
    releases = ReleaseScheduler(database: database, clock: clock, timer: timer, stops: stops, log: log)
    let desk = VersionDesk(
      database: database, clock: clock, operators: keys, stops: stops, scheduler: releases)
    let catalogue = Catalogue(database: database, clock: clock)
    let content = ContentLibrary(blobs: blobs, database: database)
    let access = ContentAccess(settings: settings, stops: stops, clock: clock)
    let collector = Collector(
      database: database, blobs: blobs, uploads: uploads, clock: clock,
      rules: Collector.Rules(
        grace: configuration.collectionGrace.duration,
        keepsWithdrawn: !(configuration.collectWithdrawn ?? false)),
      didRemove: { content.close($0) })
    self.collector = collector
    collections = CollectionSchedule(
      collector: collector, interval: configuration.collectionInterval.duration, timer: timer, log: log)
    let publisher = Publisher(
      database: database, blobs: blobs, uploads: uploads, collector: collector, clock: clock)

    var routes = ContractRoutes()
    CatalogRoutes(catalogue: catalogue, list: SaleList(catalogue: catalogue), keys: keys).add(to: &routes)
    GateRoutes(gate: gate, settings: settings).add(to: &routes)
    UploadRoutes(desk: uploads, keys: keys).add(to: &routes)
    PublishingRoutes(
      publisher: publisher, desk: desk, costs: CostEstimator(database: database), keys: keys
    ).add(to: &routes)
    GrantRoutes(gate: gate, keys: keys).add(to: &routes)
    ContentRoutes(
      content: content, access: access, meters: meters, timer: timer, publicURL: configuration.publicURL ?? ""
    ).add(to: &routes)
    CollectionRoutes(collector: collector, keys: keys).add(to: &routes)
    let accessLog = configuration.accessLog.map { AccessLog(path: $0, log: log) }
    try accessLog?.check()
    self.accessLog = accessLog
    let (routeCounts, contentCounts) = (RouteCounts(), ContentCounts())
    let running = Running()
    let metrics = ServiceMetrics(
      database: database, recorder: recorder, stops: stops, tickets: tickets, routes: routeCounts,
      content: contentCounts, accessLog: accessLog, statistics: { running.statistics })
    OperationsRoutes(database: database, metrics: metrics).add(to: &routes)
    ListRoutes(database: database, recorder: recorder, keys: keys).add(to: &routes)

    try DeliveryServer.limitConnections(&http, configuration)
    http.loops = configuration.loops
    http.drainDeadline = configuration.drainDeadline.duration
    http.refuseWithProblems()
    http.unlimitedAddresses += settings.value.proxies.networks
    http.recorder = accessLog
    server = HTTPServer(
      configuration: http,
      inline: ContentHandler(
        content: content, access: access, meters: meters, timer: timer, counts: contentCounts),
      handler: ClientNaming(
        handler: routes.router(
          reporting: { request, error in
            log.error(
              "request failed",
              [
                "request": LogValue(request.id), "method": LogValue(request.method.rawValue),
                "path": LogValue(AccessLine.redacted(request.path)), "error": LogValue(error),
              ])
          },
          observing: { route, _, response, problem in
            routeCounts.add(route: route, status: response.status.rawValue, problem: problem?.code?.text)
          }), settings: settings))
    let server = server
    running.set(server)
    stops.abortBodies { [weak server] meter in server?.abortBodies(meteredBy: meter) }
  }

  /// Where it listens, with the real port where any free one was asked for.
  public var addresses: [String] {
    server.boundAddresses.map(\.description) + server.boundSecureAddresses.map { "https://\($0)" }
  }

  public func start() async throws {
    try server.start()
    log.info("listening", ["addresses": LogValue(addresses.joined(separator: " "))])
  }

  public func run() async throws {
    await withTaskGroup { group in
      group.addTask { await self.outbox.run() }
      group.addTask { await self.recorder.run(log: self.log) }
      group.addTask { await self.stops.run(clock: self.timer) }
      if let accessLog = self.accessLog { group.addTask { await accessLog.run() } }
      group.addTask { await self.collections.run() }
      group.addTask { await self.releases.run() }
    }
  }

  public func pulse() async {
    await server.ping()
  }

  public func stop() async {
    await server.drain()
    accessLog?.end()
    do {
      try await recorder.record()
      let run = run
      let now = clock.now()
      try await database.write { try RunTable.end(run, at: now, in: $0) }
    } catch {
      log.error("the end of this run could not be written down", ["error": LogValue(error)])
    }
    client.shutDown()
  }

  static func operatorKeys(_ configuration: DeliveryConfiguration) throws -> [OperatorKeys.Key] {
    var keys = (configuration.operatorKeys ?? []).map { key in
      OperatorKeys.Key(name: key.name, secret: SecretDigest(of: key.key.revealed), scopes: Set(key.scopes))
    }
    if let key = configuration.operatorKey {
      keys.append(
        OperatorKeys.Key(name: "operator", secret: SecretDigest(of: key.revealed), scopes: [.admin]))
    }
    guard Set(keys.map(\.secret)).count == keys.count else {
      throw StartError("two operator keys are the same")
    }
    guard Set(keys.map(\.name)).count == keys.count else {
      throw StartError("two operator keys have the same name: the audit log could not tell them apart")
    }
    return keys
  }

  private static func store(
    _ configuration: DeliveryConfiguration, client: HTTPClient, timer: any MonotonicClock
  ) throws -> any PaymentStore {
    guard let name = StoreIdentifier(configuration.store.name) else {
      throw StartError("not a store's name: \(configuration.store.name)")
    }
    return SandboxStoreClient(
      name: name, url: configuration.store.url, credential: configuration.store.credential.revealed,
      policy: VerifyReceiptPolicy(
        bundleIdentifiers: Set(configuration.store.bundles), environments: [.sandbox]), client: client,
      timer: timer)
  }
}

/// Why a server cannot start, in words for its operator.
public struct StartError: Error, Sendable, CustomStringConvertible {
  public let description: String

  init(_ description: String) {
    self.description = description
  }
}
