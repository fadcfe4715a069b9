public import CoreTypes
public import Database
internal import Files
public import HTTPServer
internal import ServiceRuntime
internal import Synchronization
internal import SystemCalls

/// The page behind `/metrics` of a service: the program and its process, the file systems and the database that it uses, what
/// its HTTP engine counted, the requests of all routes, and what each part of the service counts.
///
/// A part that counts something is a ``MetricSource``: it names its metrics itself, in the file where it counts
/// them, and the page renders whatever is registered. The sources stand in the order of the page.
///
///     let metrics = ServiceMetrics(
///       server: reference, database: database, directories: ["state": path], sources: [recorder, tickets])
///     let text = await metrics.page()  // "# HELP pullbox_build_info …"
///
/// A new metric needs no change here: its owner registers it, and `docs/metrics.md` lists it.
public struct ServiceMetrics: Sendable {
  /// Where requests are counted.
  public let routes: RouteMetrics
  private let registry: MetricRegistry

  /// `directories` are paths by the names that the page has for them; `lostRecords` answers how many requests have no line in
  /// the access log though they have an access record; `speaksForAll`, whether this process tells what several share
  /// (``MetricRegistry/registerShared(_:snapshot:)``).
  public init(
    server: WeakServerReference, database: Database, directories: KeyValuePairs<String, String>,
    lostRecords: @escaping @Sendable () -> UInt64 = { 0 },
    speaksForAll: @escaping @Sendable () async throws -> Bool = { true }, sources: [any MetricSource]
  ) {
    routes = RouteMetrics()
    let common: [any MetricSource] = [
      ProcessMetrics(), FileSystemMetrics(directories: directories.map { ($0.key, $0.value) }),
      DatabaseMetrics(database: database), HTTPServerMetrics(server: server, lostRecords: lostRecords),
      routes,
    ]
    var registry = MetricRegistry(speaksForAll: speaksForAll)
    for source in common + sources { source.register(in: &registry) }
    self.registry = registry
  }

  /// The page, in version 0.0.4 of the text format.
  public func page() async -> String { await registry.page() }
}

/// The server that a route is part of, which is made after the route. Weak: the server holds the route.
public final class WeakServerReference: Sendable {
  private struct Reference: Sendable {
    weak var server: HTTPServer?
  }

  private let reference = Mutex(Reference())

  /// Refers to nothing yet.
  public init() {}

  /// From now on its server is this one.
  public func set(_ server: HTTPServer) {
    reference.locked { $0.server = server }
  }

  var server: HTTPServer? { reference.locked { $0.server } }

  /// The addresses at which it listens; none before its start, and without a server.
  public var addresses: [ServerAddress] { server?.boundAddresses ?? [] }

  /// When the first certificate of the chain in use ends; nil without TLS, and without a server.
  public var certificateExpiry: Timestamp? { server?.certificateExpiry }
}

/// The version of the program, and what the kernel knows of the process, by the names that Prometheus' own clients use.
struct ProcessMetrics: MetricSource {
  /// Looked up once: computed again it would be another one whenever the wall clock is set.
  private let started = try? ProcessStatus.current().started

  func register(in metrics: inout MetricRegistry) {
    metrics.register([
      .gauge(
        "pullbox_build_info",
        help: "1, with the version of the program and the commit that it was built from.",
        labels: ["version", "commit"]
      ) {
        [.init(1, labels: [ProductVersion.current, ProductVersion.commit ?? "unknown"])]
      }
    ])
    let started = started
    let process: [Metric<ProcessStatus>] = [
      .counter(
        "process_cpu_seconds_total", help: "Processor time, of user and system, in seconds.", labels: []
      ) {
        [.init(fraction: $0.processorTime.inSeconds)]
      },
      .gauge("process_resident_memory_bytes", help: "Resident memory in bytes.") {
        $0.residentMemory.rawValue
      },
      .gauge("process_virtual_memory_bytes", help: "Virtual memory in bytes.") { $0.virtualMemory.rawValue },
      .gauge("process_open_fds", help: "File descriptors that are open.") { $0.openFiles },
      .gauge("process_max_fds", help: "File descriptors that may be open.") { $0.maximumFiles },
      .gauge("process_threads", help: "Threads of the process.") { $0.threads },
      .gauge(
        "process_start_time_seconds", help: "When the process began, in seconds since the epoch.", labels: []
      ) { _ in started.map { [.init($0)] } ?? [] },
    ]
    metrics.register(process) { try await BlockingPool.shared.run(ProcessStatus.current) }
  }
}

/// The room on the file systems that the service writes to. One that is not there has no value.
struct FileSystemMetrics: MetricSource {
  let directories: [(name: String, path: String)]

  func register(in metrics: inout MetricRegistry) {
    let labels = ["directory"]
    let space: [Metric<[(name: String, space: FileSystemSpace)]>] = [
      .gauge(
        "pullbox_filesystem_free_bytes",
        help: "What the service may still write to the directory's file system.",
        labels: labels
      ) { $0.map { .init($0.space.free.rawValue, labels: [$0.name]) } },
      .gauge(
        "pullbox_filesystem_size_bytes", help: "The size of the directory's file system.", labels: labels
      ) {
        $0.map { .init($0.space.size.rawValue, labels: [$0.name]) }
      },
    ]
    let directories = directories
    metrics.register(space) {
      await BlockingPool.shared.run {
        directories.compactMap { name, path in (try? FileSystem.space(at: path)).map { (name, $0) } }
      }
    }
  }
}

/// The size of the database's files, and how long is waited for it.
struct DatabaseMetrics: MetricSource {
  let database: Database

  func register(in metrics: inout MetricRegistry) {
    let kinds = ["kind"]
    let listed: [Metric<DatabaseStatistics>] = [
      .gauge("pullbox_database_size_bytes", help: "The length of the database's file.", labels: []) {
        $0.file.map { [.init($0.length.rawValue)] } ?? []
      },
      .gauge("pullbox_database_log_bytes", help: "The length of the database's write-ahead log.", labels: [])
      {
        $0.file.map { [.init($0.logLength.rawValue)] } ?? []
      },
      .gauge("pullbox_database_queue_depth", help: "Transactions that wait for their turn.", labels: kinds) {
        [.init($0.reads.waiting, labels: ["read"]), .init($0.writes.waiting, labels: ["write"])]
      },
      .histogram(
        "pullbox_database_wait_seconds", help: "How long transactions waited for their turn.", labels: kinds
      ) { [.init($0.reads.waits, labels: ["read"]), .init($0.writes.waits, labels: ["write"])] },
      .gauge("pullbox_database_write_failing", help: "1 when the last write to the database was not written.")
      {
        $0.isWriteFailing ? 1 : 0
      },
    ]
    let database = database
    metrics.register(listed) { try await BlockingPool.shared.run { try database.statistics() } }
  }
}
