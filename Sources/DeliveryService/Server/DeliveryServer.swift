import BlobStore
import ContentDelivery
import ContentGrants
import ContentPublishing
public import CoreTypes
import Database
import DeliveryRecords
import Files
import HTTPClient
import HTTPServer
import Monitoring
import OperatorConsole
import PaymentStores
import PostgreSQLEngine
import PullboxAPIServer
import RouteAccess
public import ServiceRuntime
public import SystemCalls

/// The delivery server with everything it needs: opened from a configuration, run by a ``ServiceGroup``. It
/// holds the state directory (database, packages, ticket keys), answers devices and operators over HTTP, and
/// works beside that: store calls, scheduled releases, garbage collection. ``DeliveryComponents`` joins the
/// parts.
///
///     let server = try DeliveryServer(configuration, log: Log())
///     let group = ServiceGroup([server], log: log, environment: try .process())
///     let code = await group.run()
public final class DeliveryServer: Service {
  private let lock: LockFile
  private let database: Database
  private let client: HTTPClient
  let components: DeliveryComponents
  let metrics: ServiceMetrics
  private let reloads: ReloadMetrics
  let server: HTTPServer
  /// Answers operators and monitoring where they have an address of their own; nil where ``server`` does.
  let management: HTTPServer?
  /// The pages for operators; nil where they are off.
  private let console: Console?
  let configuration: DeliveryConfiguration
  let accessLog: AccessLog?
  private let clock: any WallClock
  private let node: NodeMembership
  let log: Log

  /// The name of the service in the log.
  public var name: String { "delivery server" }
  var settings: LiveSettings { components.access.settings }
  var operators: OperatorKeys { components.access.operators }
  var revocations: RevocationList { components.content.revocations }
  var collector: GarbageCollector { components.publishing.collector }
  var scrubber: PackageScrubber { components.publishing.scrubber }
  var outbox: Outbox { components.stores.outbox }
  var grants: GrantService { components.grants }
  var googleStores: [GoogleStoreClient] { components.notifications.google.stores }
  var confirmation: GrantConfirmation { components.granting.confirmation }
  var refundPoll: RefundPoll { components.notifications.refundPoll }
  var notificationHistory: NotificationHistory { components.notifications.history }
  var pools: DeliveryPools { components.infrastructure.pools }
  var recorder: DeliveryRecorder { components.content.recorder }
  var retention: Retention { components.retention }
  /// Every route that is not answered on a loop, as it was declared.
  let routeDeclarations: [ScopedRoutes.Declaration]

  /// Opens the state directory, which no other process may hold. Blocks. Throws ``ConfigurationError`` or
  /// ``StateDirectoryError`` for what an operator can fix, and what the database or the system throws.
  public convenience init(
    _ configuration: DeliveryConfiguration, log: Log, clock: any WallClock = SystemWallClock(),
    timer: any MonotonicClock = SystemMonotonicClock(), inherited: [InheritedSocket] = [],
    listing: ConfigurationListing = ConfigurationListing()
  ) throws {
    try self.init(
      configuration, log: log, clock: clock, timer: timer, inherited: inherited,
      options: Database.Options(reserve: .mebibytes(4)), listing: listing)
  }

  /// Opens the database with `options`, and with `claim` in place of the configuration's, which tests choose.
  init(
    _ configuration: DeliveryConfiguration, log: Log, clock: any WallClock, timer: any MonotonicClock,
    inherited: [InheritedSocket] = [], options: Database.Options, claim: PostgreSQLOptions.Claim? = nil,
    listing: ConfigurationListing = ConfigurationListing()
  ) throws {
    self.clock = clock
    self.log = log
    self.configuration = configuration
    let state = configuration.state
    // Before anything is written there.
    try BackupGeneration.refuse(in: state)
    lock = try StateDirectory.claim(state)
    try RestoreMark.refuse(in: state)
    if configuration.database == nil { try MoveMark.refuse(in: state) }
    try PackagesMark.refuse(in: state, unless: try configuration.packageStorePlace())
    var http = try Self.transport(configuration, inherited: inherited, log: log)
    var managementHTTP = try Self.managementTransport(configuration, inherited: inherited)
    let claim = claim ?? configuration.claimOfDatabase()
    database = try configuration.openDatabase(options, claim: claim)
    client = try HTTPClient()
    let pools = DeliveryPools()
    let blobs = try BlobStore.open(
      directory: state, measures: configuration.storageQuota != nil, pool: pools.blobs)
    let storage = try PackageStorageComponents(configuration, database: database, blobs: blobs, log: log)
    let accessLog = configuration.accessLog.map { AccessLog(path: $0, log: log) }
    try accessLog?.check()
    self.accessLog = accessLog
    let node = try NodeMembership.join(
      as: try configuration.nodeName(), database: database, isAlone: claim == .alone, wall: clock,
      timer: timer)
    self.node = node
    if node.previousDied {
      log.warning("the last run was not ended: some bytes that were sent may not have been counted")
    }
    let components: DeliveryComponents
    do {
      components = try DeliveryComponents(
        on: DeliveryComponents.Infrastructure(
          configuration: configuration, database: database, node: node, blobs: blobs, storage: storage,
          client: client, clock: clock, timer: timer, log: log, pools: pools,
          listing: CurrentListing(listing)))
    } catch {
      // A configuration that cannot be used is no run that died.
      do {
        try node.leaveBlocking()
      } catch let later {
        log.warning("the end of this run could not be written down", ["error": LogValue(later)])
      }
      throw error
    }
    self.components = components

    http.unlimitedAddresses += components.access.settings.value.proxies.networks
    http.recorder = accessLog
    managementHTTP?.recorder = accessLog
    let admission = components.admission
    http.useProblemDocuments {
      let seconds = admission.secondsForConnection()
      return seconds + Int.random(in: 0...max(1, seconds / 8))
    }
    managementHTTP?.useProblemDocuments()
    let running = WeakServerReference()
    let reloads = ReloadMetrics(at: clock.now())
    self.reloads = reloads
    let metrics = ServiceMetrics(
      server: running, database: database, directories: ["state": state],
      lostRecords: { accessLog?.lostLines ?? 0 },
      speaksForAll: components.speaksForAll(database),
      sources: components.metricSources + [BackupMetrics(state: state), reloads])
    self.metrics = metrics
    let routes = components.routes(metrics, of: running)
    routeDeclarations = routes.declarations
    let isSeparate = managementHTTP != nil
    let console = configuration.console == .off ? nil : components.console(over: routes, metrics)
    self.console = console
    let server = HTTPServer(
      configuration: http, inline: components.loopHandler(metrics),
      handler: components.handler(
        of: routes.filtered { !isSeparate || !$0.isManagement }, metrics,
        console: configuration.console == .everywhere ? console : nil))
    self.server = server
    management = managementHTTP.map { http in
      HTTPServer(
        configuration: http,
        handler: components.handler(
          of: routes.filtered { $0.isManagement || $0.isHealth }, metrics, console: console))
    }
    running.set(server)
    components.content.revocations.abortBodies { [weak server] meters in
      server?.abortBodies(meteredBy: meters)
    }
    components.content.packages.releaseIdle { [weak server] in server?.releaseIdleFiles() }
    components.content.meters.releaseIdle { [weak server] in server?.releaseIdleFiles() }
  }

  /// The addresses it listens on, with the real port where any free one was asked for.
  public var addresses: [String] {
    server.boundAddresses.map(\.description) + server.boundSecureAddresses.map { "https://\($0)" }
  }

  /// The addresses of the routes for operators and monitoring; empty where they are on all addresses.
  public var managementAddresses: [String] { management?.boundAddresses.map(\.description) ?? [] }

  /// Asks the object store, if there is one, and listens. Throws ``ConfigurationError`` for a store that cannot be used, and what the server
  /// throws for an address that cannot be bound.
  public func start() async throws {
    try await components.infrastructure.storage.start()
    do {
      try management?.start()
      try server.start()
    } catch {
      await management?.drain()
      // A server that cannot listen is no run that died.
      do {
        try await node.leave()
      } catch let later {
        log.warning("the end of this run could not be written down", ["error": LogValue(later)])
      }
      throw error
    }
    try await node.tell(address: addresses.joined(separator: " "))
    log.info("listening", ["addresses": LogValue(addresses.joined(separator: " "))])
    if management != nil {
      log.info(
        "operators and monitoring have an address of their own",
        ["addresses": LogValue(managementAddresses.joined(separator: " "))])
    }
    let limits = components.admission.limits
    log.info(
      "admission",
      [
        "connections": LogValue(configuration.maximumConnections), "inProgress": LogValue(limits.inProgress),
        "bodyMemory": LogValue(limits.bodyBytes.rawValue), "classes": LogValue(limits.description),
      ])
  }

  /// Makes store calls, scheduled releases, collections and records until the task is cancelled.
  public func run() async throws {
    try await withThrowingTaskGroup { group in
      group.addTask { await self.components.run() }
      group.addTask { try await self.node.run(log: self.log) }
      if let accessLog = self.accessLog { group.addTask { await accessLog.run() } }
      // The first failure ends all of them.
      while try await group.next() != nil {}
    }
  }

  /// Returns once every loop has come round.
  public func pulse() async {
    await server.ping()
    await management?.ping()
  }

  /// Lets running bodies end within the drain deadline, writes down what was sent, and closes all but the
  /// state directory, which is free once this object is gone.
  public func stop() async {
    components.feeds.close()
    console?.close()
    async let managementEnd: Void? = management?.drain()
    await server.drain()
    _ = await managementEnd
    accessLog?.end()
    do {
      try await components.content.recorder.record()
      try await components.grants.grantStore.writeLaterDates()
      try await node.leave()
    } catch {
      log.error("the end of this run could not be written down", ["error": LogValue(error)])
    }
    do {
      try await database.optimize()
    } catch {
      log.warning("the database gathered no statistics", ["error": LogValue(error)])
    }
    client.shutDown()
    components.infrastructure.storage.stop()
  }
}

extension DeliveryServer {
  /// Reads configuration, ticket keys and certificate again: operator keys and whether review takes two,
  /// limits, trusted proxies, the tickets' lifetime and keys and the log's level take effect at once, for
  /// connections that are open as well; tickets that are out stay good while their key is in the file.
  /// Everything is read and checked first: where something is wrong, all stays as it was and the log says
  /// why.
  public func reload(from source: ConfigurationSource<DeliveryConfiguration>) async {
    await reload(reading: {
      let (configuration, listing) = try source.read()
      return (configuration, listing)
    })
  }

  /// The same with a configuration that comes from elsewhere, and is not listed.
  func reload(_ load: @escaping @Sendable () throws -> DeliveryConfiguration) async {
    await reload(reading: { (try load(), nil) })
  }

  private func reload(
    reading load: @escaping @Sendable () throws -> (DeliveryConfiguration, ConfigurationListing?)
  ) async {
    do {
      let (new, listing, keyring) = try await BlockingPool.shared.run {
        let (new, listing) = try load()
        return (new, listing, try new.keyring())
      }
      let keys = try await components.access.ticketKeys.load()
      let grants = try new.deliverySettings(keys: keys, at: clock.now(), before: settings.value)
      var limits = try new.admissionLimits()
      // These are the connections' as well, which need a restart.
      limits.unlimited = components.admission.limits.unlimited
      let server = server
      try await BlockingPool.shared.run { try server.reloadCertificates() }
      operators.replace(
        keyring.keys, needsSecondKey: new.requireSecondKey ?? false,
        reviewsProducts: new.requireProductReview ?? false,
        needsSecondOperator: new.secondOperator ?? false)
      settings.replace(grants)
      components.admission.replace(limits)
      log.level = LogLevel(name: new.logLevel) ?? log.level
      accessLog?.reopen()
      keyring.warn(log)
      log.info("reloaded", ["ticketKey": LogValue(keys.newest.identifier)])
      reloads.succeeded(at: clock.now())
      let waiting = new.keysThatNeedRestart(
        since: configuration, options: DeliveryConfiguration.command.options)
      if let listing { components.infrastructure.listing.reload(listing, besides: waiting) }
      guard !waiting.isEmpty else { return }
      log.warning("some changes need a restart", ["keys": LogValue(waiting.joined(separator: " "))])
    } catch {
      reloads.failed()
      log.refuseReload(error)
    }
  }
}
