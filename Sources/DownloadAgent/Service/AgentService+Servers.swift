import CoreTypes
import HTTPClient
import HTTPServer
import PullboxAPIServer
import ServiceRuntime

/// The settings of the client and of the servers.
extension AgentService {
  /// The configuration of the client: the defaults, and the agent's name.
  static var clientConfiguration: HTTPClientConfiguration {
    var configuration = HTTPClientConfiguration()
    configuration.userAgent = "pullbox-agent"
    return configuration
  }

  /// The configuration for monitoring: one loop, few connections, hardly a body. Throws ``ConfigurationError`` for what
  /// is no address.
  static func monitoringConfiguration(
    _ text: String
  ) throws(ConfigurationError) -> HTTPServerConfiguration {
    guard let address = ServerAddress(text) else {
      throw ConfigurationError(
        subject: "metricsListen", message: "not an address: \(text); HOST:PORT or unix:PATH is needed")
    }
    var configuration = HTTPServerConfiguration(addresses: [address])
    configuration.loops = 1
    configuration.maximumConnections = 64
    configuration.maximumBodyLength = .kibibytes(1)
    configuration.useProblemDocuments()
    return configuration
  }

  /// One loop, and the credentials of whatever connects, for ``ControlAccess``.
  static func serverConfiguration(socket: String) -> HTTPServerConfiguration {
    var configuration = HTTPServerConfiguration(addresses: [.unix(path: socket)])
    configuration.loops = 1
    configuration.maximumConnections = 256
    // What takes longer, the check of a library, is stopped, so that the agent ends within ten seconds whatever runs.
    configuration.drainDeadline = .seconds(3)
    configuration.maximumBodyLength = .mebibytes(1)
    configuration.readsPeerCredentials = true
    configuration.useProblemDocuments()
    return configuration
  }
}
