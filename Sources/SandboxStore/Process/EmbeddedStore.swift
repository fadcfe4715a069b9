package import CoreTypes
import HTTPServer
package import ServiceRuntime

/// A sandbox store in the process that tests an app: the same store as the program's, at a free port of this machine.
package final class EmbeddedStore: Sendable {
  private let service: SandboxService

  /// A store that sells what the delivery server at `catalog` does. Its state lies in `state`, which is made.
  package init(state: String, catalog: String, serverCredential: String, clock: any WallClock, log: Log) {
    service = SandboxService(
      SandboxConfiguration(
        listen: ["127.0.0.1:0"], state: state, catalog: catalog,
        serverCredential: Redacted(serverCredential), environment: "sandbox", bundle: "com.example.pullbox",
        logLevel: "error"), log: log, clock: clock)
  }

  /// Opens it, and returns its port. Throws as the program's start does.
  package func start() async throws -> UInt16 {
    try await service.start()
    guard case .tcp(_, let port)? = service.addresses.first else {
      throw ConfigurationError(subject: "listen", message: "the store has no port")
    }
    return port
  }

  /// Closes it. The state stays.
  package func stop() async { await service.stop() }
}
