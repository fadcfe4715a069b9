import Commerce
import CoreTypes
import DeliveryService
import DownloadAgent
import Files
import Glibc
import HTTPClient
import PullboxAPI
import PullboxAPIClient
public import PullboxKit
public import PullboxOperatorKit
import PullboxTesting
import SandboxStore
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// A payment store, a delivery server and a download agent in the process of an app's tests: the programs' own, at free ports of this machine and
/// a socket in a temporary directory, with a date that jumps, payments that are declined and ways that are slow.
///
/// ```swift
/// try await TestSession.with { session in
///   try await session.publish("com.example.issue1", title: "Heroes 1", price: "2.99", pages: ["1.jpg": page])
///   let shown = try await Product.products(for: ["com.example.issue1"], from: session.agent)
///   try await session.declineNextPurchase()
///   guard case .declined = try await shown[0].purchase(confirm: { _ in true }) else { return fail() }
/// }
/// ```
///
/// Nothing is left of it when the closure has returned or thrown. It needs no framework for tests.
public final class TestSession: Sendable {
  /// The settings in which sessions differ.
  public struct Options: Sendable {
    /// Where the account buys, ISO 3166 alpha-3.
    public var territory = "USA"
    /// How long a month of the store lasts: `real`, or a number of `s`, `m` or `h` from `2s` on. Real months are for ``advance(by:)``.
    public var month = "real"
    /// After how many renewals a subscription ends.
    public var renewals = 12
    /// Downloads that transfer at the same time, 1 to 8.
    public var maximumDownloads = 3

    /// An account in the USA, and real months.
    public init() {}
  }

  /// The agent on this device.
  public let agent: AgentClient
  /// The delivery server, as its operator.
  public let server: OperatorClient
  /// The time of all three.
  let clock: JumpingClock
  let store: APIClient
  let directory: TemporaryDirectory
  let serverProxy: PackageProxy
  let storeProxy: PackageProxy
  private let parts: Parts
  /// The ends of everything that a start has begun.
  private let stops: StopOrder

  /// The services that work until they are stopped.
  private struct Parts: Sendable {
    let server: DeliveryServer
    let agent: AgentService
  }

  /// A session's members, once everything has started.
  private struct Started: Sendable {
    let clock: JumpingClock
    let directory: TemporaryDirectory
    let serverProxy: PackageProxy
    let storeProxy: PackageProxy
    let store: APIClient
    let agent: AgentClient
    let server: OperatorClient
    let parts: Parts
  }

  /// Runs `body` with a session of its own; everything is stopped and removed afterwards, however `body` ends. Throws what `body` throws, and
  /// what starting throws.
  public static func with<Value: Sendable>(
    _ options: Options = Options(), _ body: @Sendable (TestSession) async throws -> Value
  ) async throws -> Value {
    let session = try await TestSession(options)
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await session.parts.server.run() }
      group.addTask { try await session.parts.agent.run() }
      do {
        let value = try await body(session)
        await session.stop()
        group.cancelAll()
        return value
      } catch {
        await session.stop()
        group.cancelAll()
        throw error
      }
    }
  }

  /// Nothing is left of a session of which one part does not start.
  private init(_ options: Options) async throws {
    let (started, stops) = try await StopOrder.starting { noted in
      try await TestSession.start(options, noting: &noted)
    }
    clock = started.clock
    directory = started.directory
    serverProxy = started.serverProxy
    storeProxy = started.storeProxy
    store = started.store
    agent = started.agent
    server = started.server
    parts = started.parts
    self.stops = stops
  }

  /// Starts everything from the inside outwards, and notes in `stops` how each is stopped. A part that has not started whole is stopped as well.
  private static func start(_ options: Options, noting stops: inout StopOrder) async throws -> Started {
    let clock = JumpingClock()
    let directory = try TemporaryDirectory()
    // The directory is there until all else has stopped.
    stops.note { withExtendedLifetime(directory) {} }
    let (operatorKey, credential) = ("operator-key-of-a-test-session", "store-credential-of-a-test-session")
    // Failures show in what the test sees; a log would be lost in its output.
    let log = Log(level: .error, output: { _ in })
    var configuration = HTTPClientConfiguration()
    configuration.usesProxyOfEnvironment = false
    let client = try HTTPClient(configuration: configuration)
    stops.note { client.shutDown() }
    let storeProxy = try PackageProxy()
    stops.note { storeProxy.close() }
    let serverProxy = try PackageProxy()
    stops.note { serverProxy.close() }

    let store = EmbeddedStore(
      state: directory.path("store"), catalog: serverProxy.url, serverCredential: credential, clock: clock,
      log: log)
    stops.note { await store.stop() }
    storeProxy.setUpstream(port: try await store.start())
    let arguments = [
      "--listen", "127.0.0.1:0", "--state", directory.path("server"), "--store-url", storeProxy.url,
      "--store-credential", credential, "--operator-key", operatorKey, "--loops", "1", "--refund-poll", "1s",
      "--store-device-limit", "1000", "--drain-deadline", "1s",
    ]
    let server = try await BlockingPool.shared.run {
      guard
        case .run(let parsed) = try ArgumentParser(DeliveryConfiguration.command, environment: [:])
          .parse(arguments)
      else { throw UsageError("the server's options are not those of this version") }
      return try DeliveryServer(
        try ConfigurationLoader.load(DeliveryConfiguration.self, arguments: parsed), log: log, clock: clock,
        timer: clock)
    }
    stops.note { await server.stop() }
    try await server.start()
    let port = server.addresses.first.flatMap { $0.split(separator: ":").last }.flatMap { UInt16($0) }
    serverProxy.setUpstream(port: port)

    let account = try await openAccount(options, at: APIClient(baseURL: storeProxy.url, client: client))
    try DurableFile.write(
      Array("\(account)\n".utf8).span, to: directory.path("account-token"), permissions: 0o600,
      ifPresent: .refuse)
    var agentConfiguration = AgentConfiguration(
      server: serverProxy.url, store: storeProxy.url, accountTokenFile: directory.path("account-token"),
      state: directory.path("agent"), socket: directory.path("agent.sock"),
      pollInterval: ConfigurationDuration(.milliseconds(100)), maximumDownloads: options.maximumDownloads)
    agentConfiguration.logLevel = "error"
    let (finished, isolated) = (agentConfiguration, log)
    let agent = try await BlockingPool.shared.run {
      try AgentService(embedded: finished, log: isolated, clock: clock, wallClock: clock)
    }
    stops.note { await agent.stop() }
    try await agent.start()

    return Started(
      clock: clock, directory: directory, serverProxy: serverProxy, storeProxy: storeProxy,
      store: APIClient(baseURL: storeProxy.url, credential: account, client: client),
      agent: try AgentClient(socketPath: directory.path("agent.sock")),
      server: try OperatorClient(server: serverProxy.url, key: operatorKey),
      parts: Parts(server: server, agent: agent))
  }

  /// A new account, whose token is returned, in a store with the session's calendar.
  private static func openAccount(_ options: Options, at store: APIClient) async throws -> String {
    _ = try await store.call(
      "PUT", "/sandbox/v1/time", body: StoreTime(month: options.month, renewals: options.renewals),
      as: StoreTime.self)
    return try await store.call(
      "POST", "/sandbox/v1/accounts", body: AccountRequest(territory: options.territory, name: "Reader"),
      as: AccountResponse.self
    ).value.token
  }

  /// From the outside inwards.
  private func stop() async {
    serverProxy.setRate(nil)
    await stops.run()
  }
}
