import BlobStore
public import CoreTypes
import Database
import HTTPClient
import HTTPServer
public import ServiceRuntime
public import SystemCalls

/// The delivery server with everything it needs: opened from a configuration, run by a ``ServiceGroup``.
public final class DeliveryServer: Service {
  private let lock: LockFile
  private let database: Database
  private let client: HTTPClient
  private let components: DeliveryComponents
  let metrics: ServiceMetrics
  let server: HTTPServer
  let configuration: DeliveryConfiguration
  let accessLog: AccessLog?
  private let clock: any WallClock
  private let run: Int64
  let log: Log

  public var name: String { "delivery server" }
  var settings: LiveSettings { components.settings }
  var operators: OperatorKeys { components.operators }
  var stops: RevocationList { components.stops }
  var collector: GarbageCollector { components.collector }

  /// Opens the state directory, which no other process may hold. Blocks. Throws ``StartError`` for what an operator can
  /// mend.
  public init(
    _ configuration: DeliveryConfiguration, log: Log, clock: any WallClock = SystemWallClock(),
    timer: any MonotonicClock = SystemMonotonicClock(), inherited: [InheritedSocket] = []
  ) throws {
    self.clock = clock
    self.log = log
    self.configuration = configuration
    let state = configuration.state
    try FileSystem.createDirectories(state, permissions: 0o700)
    guard let lock = try LockFile.acquire(state + "/lock") else {
      throw StartError("another process uses the state directory \(state)")
    }
    self.lock = lock
    var http = try Self.transport(configuration, inherited: inherited, log: log)
    database = try Database.open(path: state + "/server.db", migrations: Migrations.all)
    client = try HTTPClient()
    let components = try DeliveryComponents(
      on: DeliveryComponents.Infrastructure(
        configuration: configuration, database: database,
        blobs: try BlobStore.open(directory: state, measures: configuration.storageQuota != nil),
        client: client, clock: clock, timer: timer, log: log))
    self.components = components
    let accessLog = configuration.accessLog.map { AccessLog(path: $0, log: log) }
    try accessLog?.check()
    self.accessLog = accessLog
    // Only now: a configuration that cannot be used is no run, and none that died.
    run = try Self.beginRun(in: database, at: clock.now(), log: log)

    http.unlimitedAddresses += components.settings.value.proxies.networks
    http.recorder = accessLog
    let running = WeakServerReference()
    let metrics = ServiceMetrics(
      database: database, recorder: components.recorder, stops: components.stops, tickets: components.tickets,
      routes: RouteMetrics(), content: InlineMetrics(), accessLog: accessLog,
      statistics: { running.statistics })
    self.metrics = metrics
    let server = HTTPServer(
      configuration: http, inline: components.contentHandler(metrics), handler: components.handler(metrics))
    self.server = server
    running.set(server)
    components.stops.abortBodies { [weak server] meter in server?.abortBodies(meteredBy: meter) }
  }

  private static func beginRun(in database: Database, at now: Timestamp, log: Log) throws -> Int64 {
    let run = try database.writeBlocking { connection in
      let run = try ServerRunTable.begin(at: now, in: connection)
      if run.previousDied { try GrantTable.markCountsIncomplete(in: connection) }
      return run
    }
    if run.previousDied { log.warning("the last run was not ended: counts of live grants may have a hole") }
    return run.id
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
      group.addTask { await self.components.run() }
      if let accessLog = self.accessLog { group.addTask { await accessLog.run() } }
    }
  }

  public func pulse() async {
    await server.ping()
  }

  public func stop() async {
    await server.drain()
    accessLog?.end()
    do {
      try await components.recorder.record()
      let run = run
      let now = clock.now()
      try await database.write { try ServerRunTable.end(run, at: now, in: $0) }
    } catch {
      log.error("the end of this run could not be written down", ["error": LogValue(error)])
    }
    client.shutDown()
  }
}

extension DeliveryServer {
  /// Reads configuration, ticket keys and certificate again: operator keys and whether review takes two, limits, trusted
  /// proxies, the tickets' lifetime and keys and the log's level take effect at once, for connections that are open as well;
  /// tickets that are out stay good while their key is in the file. Everything is read and checked first: where something is
  /// wrong, all stays as it was and the log says why.
  public func reload(_ load: @escaping @Sendable () throws -> DeliveryConfiguration) async {
    do {
      let state = configuration.state
      let (new, keys) = try await BlockingPool.shared.run {
        (try load(), try TicketKeyFile.load(TicketKeyFile.path(in: state)))
      }
      let operatorKeys = try new.namedOperatorKeys()
      guard let level = LogLevel(name: new.logLevel) else {
        throw StartError("not a log level: \(new.logLevel)")
      }
      let grants = try new.deliverySettings(keys: keys)
      let server = server
      try await BlockingPool.shared.run { try server.reloadCertificates() }
      operators.replace(operatorKeys, needsSecondKey: new.requireSecondKey ?? false)
      settings.replace(grants)
      log.level = level
      accessLog?.reopen()
      log.info("reloaded", ["ticketKey": LogValue(keys.newest.identifier)])
      warnOfOthers(new)
    } catch {
      log.error("reloading failed; everything stays as it was", ["error": LogValue(error)])
    }
  }

  private func warnOfOthers(_ new: DeliveryConfiguration) {
    let keys = new.settingsThatNeedRestart(since: configuration)
    guard !keys.isEmpty else { return }
    log.warning("some changes need a restart", ["keys": LogValue(keys.joined(separator: " "))])
  }
}
