import PullboxAPIServer
import Database
import HTTPClient
import HTTPServer
import CoreTypes
import ServiceRuntime
import SystemCalls

/// A store with everything it holds open: its directory's lock, its database, its client, its server.
final class RunningStore: Sendable {
  let store: PaymentStore
  let server: HTTPServer
  private let lock: LockFile
  private let database: Database
  private let client: HTTPClient

  /// Opens all but the server, which is only made. Blocks; at the first start for as long as it takes to make three RSA
  /// keys.
  init(_ configuration: SandboxConfiguration, clock: any WallClock, log: Log) throws {
    let addresses = try configuration.addresses()
    let directory = StoreStateDirectory(path: configuration.state)
    lock = try directory.acquire()
    let authority = try directory.authority(now: clock.now())
    let credential = try configuration.serverCredential ?? directory.serverCredential()
    client = try HTTPClient()
    database = try Database.open(path: directory.databasePath, migrations: StoreSchema.migrations)
    store = PaymentStore(
      database: database, catalog: RemoteCatalog(baseURL: configuration.catalog, client: client),
      issuer: ReceiptIssuer(authority: authority, bundleIdentifier: configuration.bundle, clock: clock),
      clock: clock)
    let routes = StoreRoutes(
      store: store, serverCredential: SecretDigest(of: credential.revealed), log: log)
    var serverConfiguration = HTTPServerConfiguration(addresses: addresses)
    serverConfiguration.loops = 1
    serverConfiguration.maximumBodyLength = .mebibytes(4)
    serverConfiguration.useProblemDocuments()
    server = HTTPServer(configuration: serverConfiguration, handler: routes.router())
  }

  /// Answers what was asked before, then closes everything. The directory is free once this object is gone.
  func close() async {
    await server.drain()
    client.shutDown()
    await BlockingPool.shared.run { [database] in database.close() }
  }
}
