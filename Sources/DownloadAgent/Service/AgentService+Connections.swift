import CoreTypes
import HTTPClient
import HTTPServer
import PullboxAPIServer
import ServiceRuntime

// The bounds of the agent's client and of its servers.
extension AgentService {
  /// The longest answer of a service, manifests and content aside: enough for some 11,000 purchases. Reading an answer
  /// takes many times its length in memory.
  static let maximumAnswer = ByteCount.mebibytes(3)

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
