import Commerce
import ContentPackage
import CoreTypes
import Crypto
import Files
import HTTPClient
import MachineConditionSources
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords
@testable import ContentLibrary
@testable import DownloadAgent

/// A source that says nothing by itself: tests speak in its name.
struct SilentSource: ConditionSource {
  let name: ConditionSourceName

  func run(_ report: @escaping @Sendable (MachineObservation) async -> Void) async throws {
    try await SystemMonotonicClock().sleep(for: .seconds(86_400))
  }
}

/// A whole agent in the test's process, with a state directory that outlives it, and short waits.
final class AgentHarness: Sendable {
  let directory: TemporaryDirectory
  let client: HTTPClient
  /// The agent's disk.
  let operations = FaultyFileOperations()

  init() throws {
    directory = try TemporaryDirectory()
    client = try HTTPClient()
    try DurableFile.write(
      Array("token\n".utf8).span, to: directory.path("account-token"), permissions: 0o600, ifPresent: .refuse)
  }

  var library: String { directory.path("state/library") }
  private var socket: String { directory.path("agent.sock") }

  /// Runs an agent for as long as `body` takes; it is stopped as by SIGTERM, and gone when this returns. Unless it `runs`,
  /// it answers, and its loops are for `body` to run.
  func run<Result: Sendable>(
    server: String, store: String? = nil, maximumDownloads: Int? = nil,
    trusting keys: [PublisherKeyIdentifier]? = nil, retry: RetryPolicy? = nil, probes: Backoff? = nil,
    ownershipRhythm: ArrivalFollower.Rhythm? = nil, queuePage: Int? = nil,
    stallAfter: Duration = .seconds(20), wallClock: any WallClock = SystemWallClock(),
    calendar: LocalCalendar? = nil, sources: [ConditionSourceName] = [], needsNetwork: Bool? = nil,
    doubt: Duration? = nil,
    pace: ConditionLedger.Pace = ConditionLedger.Pace(),
    bus: PrivateBus? = nil, processes: String = "/proc",
    log: Log = Log(level: .error), configure: (inout AgentConfiguration) -> Void = { _ in },
    runs: Bool = true, _ body: @escaping @Sendable (AgentService) async throws -> Result
  ) async throws -> Result {
    var configuration = AgentConfiguration(
      server: server, store: store ?? server, accountTokenFile: directory.path("account-token"),
      state: directory.path("state"),
      socket: socket, pollInterval: ConfigurationDuration(.milliseconds(40)),
      maximumDownloads: maximumDownloads)
    configuration.trustedPublisherKeys = keys
    // Arrivals are for tests of these alone: their questions count among all others.
    configuration.arrivals = .nothing
    if bus != nil { configuration.bus = .system }
    configure(&configuration)
    var tuning = AgentService.Tuning()
    let quick = Backoff(initial: .milliseconds(20), factor: 1, cap: .milliseconds(20), jitter: 0)
    tuning.downloadRetry =
      retry ?? RetryPolicy(backoff: quick, longestRequestedDelay: .milliseconds(40), requestedJitter: 0)
    tuning.transactionRetry = tuning.downloadRetry
    tuning.feedRetry = quick
    tuning.feedSecondLook = .milliseconds(50)
    tuning.arrivalRhythm.pace = .milliseconds(20)
    tuning.listingRetry = quick
    tuning.reading = ReadingExchange.Rhythm(quiet: .milliseconds(20), patience: .zero, backoff: quick)
    tuning.licenseRetry = quick
    tuning.transfer.stallAfter = stallAfter
    tuning.heartbeat = .milliseconds(50)
    if let probes { tuning.probes = probes }
    if let ownershipRhythm { tuning.ownershipRhythm = ownershipRhythm }
    if let calendar { tuning.calendar = calendar }
    tuning.conditionSources = sources.map(SilentSource.init(name:))
    tuning.needsNetwork = needsNetwork
    if let doubt { tuning.doubt = doubt }
    tuning.conditionPace = pace
    if let bus { tuning.busEnvironment = bus.environment }
    tuning.processes = processes
    if let queuePage { tuning.queuePage = queuePage }
    tuning.fileOperations = operations
    let agent = try AgentService(
      configuration: configuration, log: log, clock: SystemMonotonicClock(),
      wallClock: wallClock, tuning: tuning)
    try await agent.start()
    return try await withThrowingTaskGroup(of: Void.self) { group in
      if runs { group.addTask { try await agent.run() } }
      do {
        let result = try await body(agent)
        await agent.stop()
        group.cancelAll()
        return result
      } catch {
        await agent.stop()
        group.cancelAll()
        throw error
      }
    }
  }

  /// How an agent ends.
  enum End: Sendable {
    /// The end by SIGTERM, in this process.
    case terminated
    /// The built program, by SIGKILL.
    case killed
  }

  /// Runs an agent that ends as `end` says once `body` has returned.
  func run(
    until end: End, server: String, arrivals: ArrivalPolicy = .nothing,
    _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    guard end == .killed else {
      return try await run(server: server, configure: { $0.arrivals = arrivals }) { _ in try await body() }
    }
    let ready = directory.path("ready")
    _ = try FileSystem.removeFile(ready)
    let executable = FileSystem.parent(of: try FileSystem.realPath("/proc/self/exe")) + "/pullbox-agent"
    let process = try ChildProcess(
      executable,
      [
        "--state", directory.path("state"), "--server", server, "--store", server, "--account-token-file",
        directory.path("account-token"), "--socket", socket, "--poll-interval", "1", "--arrivals",
        arrivals.rawValue,
        "--ready-file", ready,
      ], environment: ChildProcess.inheritedEnvironment, output: directory.path("agent.log"))
    do {
      while try FileSystem.status(of: ready) == nil {
        try await Task.sleep(for: .milliseconds(20))
      }
      try await body()
    } catch {
      await process.killAndWait()
      throw error
    }
    await process.killAndWait()
  }

  /// One request to the control interface, whose answer has to be one of docs/agent.openapi.yaml.
  func ask(
    _ method: String, _ path: String, _ body: String? = nil, headers: [(String, String)] = []
  ) async throws -> ClientResponse {
    var request = ClientRequest(method: method, url: "http://agent\(path)")
    request.unixSocketPath = socket
    request.maximumResponseLength = .mebibytes(64)
    request.headers = headers
    if let body {
      request.headers.append(("Content-Type", "application/json"))
      request.body = .bytes(Array(body.utf8))
    }
    let response = try await client.send(request)
    #expect(try AgentContract().faults(of: response, to: method, path) == [], "\(method) \(path)")
    return response
  }

  func get<Value: Decodable>(_ path: String, as type: Value.Type) async throws -> Value {
    let response = try await ask("GET", path)
    #expect(response.status == 200, "\(path)")
    return try APIJSON.decode(type, from: response.body)
  }

  func downloads() async throws -> [DownloadStatus] {
    try await get("/v1/downloads", as: DownloadsResponse.self).downloads
  }

  func transactions() async throws -> [AgentTransaction] {
    try await get("/v1/transactions", as: AgentTransactionsResponse.self).transactions
  }

  /// Whether all the package's files lie in the library as they must, or all of `files`, which are some of them.
  func placed(
    _ package: FixturePackage, _ files: [String]? = nil, in library: String? = nil
  ) throws -> Bool {
    let root = "\(library ?? self.library)/\(package.manifest.product)/\(package.manifest.version)"
    return try package.files.filter { files?.contains($0.key) ?? true }.allSatisfy { path, bytes in
      guard try FileSystem.status(of: "\(root)/\(path)") != nil else { return false }
      return try FileSystem.read("\(root)/\(path)", upTo: .gibibytes(1)).hasSameBytes(as: bytes)
    }
  }
}

extension AgentService {
  /// Returns with the first event that fits; everything that is not over counts as an event at the beginning.
  func event(_ fits: (AgentEvent) -> Bool) async throws -> AgentEvent {
    let observer = try #require(hub.subscribe())
    defer { hub.unsubscribe(observer) }
    return try await observer.first(where: fits)
  }

  /// Until a download is in that state, for that reason where one is given.
  func download(_ state: DownloadStatus.State, _ reason: String? = nil) async throws -> DownloadStatus {
    try await download { $0.state == state && (reason == nil || $0.reason == reason) }
  }

  /// Until a download, of that version where one is given, has finished or failed.
  func ended(_ version: String? = nil) async throws -> DownloadStatus {
    try await download { status in
      (status.state == .finished || status.state == .failed)
        && (version == nil || status.version?.description == version)
    }
  }

  func firstDownload(where fits: (DownloadStatus) -> Bool) async throws -> DownloadStatus {
    try await download(fits)
  }

  private func download(_ fits: (DownloadStatus) -> Bool) async throws -> DownloadStatus {
    let observer = try #require(hub.subscribe())
    defer { hub.unsubscribe(observer) }
    // A download that is over is not told to a new observer.
    if let status = try await downloads.downloads().last(where: fits) { return status }
    return try await observer.firstValue { event in
      guard case .download(let status) = event, fits(status) else { return nil }
      return status
    }
  }

  func transaction(_ identifier: String, isAt step: String) async throws -> AgentTransaction {
    try await transaction { $0.id.description == identifier && $0.step == step }
  }

  func transaction(_ step: String, _ reason: String? = nil) async throws -> AgentTransaction {
    try await transaction { $0.step == step && (reason == nil || $0.reason == reason) }
  }

  private func transaction(_ fits: (AgentTransaction) -> Bool) async throws -> AgentTransaction {
    let observer = try #require(hub.subscribe())
    defer { hub.unsubscribe(observer) }
    if let status = try await transactions.statuses().first(where: fits) { return status }
    return try await observer.firstValue { event in
      guard case .transaction(let status) = event, fits(status) else { return nil }
      return status
    }
  }
}

extension AgentService {
  /// Until all these transactions are finished.
  func finished(_ identifiers: [String]) async throws {
    let observer = try #require(hub.subscribe())
    defer { hub.unsubscribe(observer) }
    var remaining = Set(identifiers)
    for status in try await transactions.statuses(.over) where status.step == "finished" {
      remaining.remove(status.id.description)
    }
    while !remaining.isEmpty {
      let ended = try await observer.firstValue { event -> String? in
        guard case .transaction(let status) = event, status.step == "finished" else { return nil }
        return status.id.description
      }
      remaining.remove(ended)
    }
  }
}

extension EventObserver {
  func first(where fits: (AgentEvent) -> Bool) async throws -> AgentEvent {
    try await firstValue { fits($0) ? $0 : nil }
  }

  /// The value that `pick` makes of the first event that it makes something of.
  func firstValue<Value>(_ pick: (AgentEvent) -> Value?) async throws -> Value {
    while let item = await next() {
      if case .event(let event) = item, let value = pick(event) { return value }
    }
    throw CancellationError()
  }
}
