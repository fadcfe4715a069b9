import CoreTypes
import Files
import HTTPClient
import HTTPServer
import PullboxAPIServer
import ServiceRuntime
import SystemCalls

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

  /// Throws ``ConfigurationError`` for a socket that does not say who connects, and for one that takes no connections.
  static func requireUnixSockets(_ inherited: [InheritedSocket]) throws(ConfigurationError) {
    guard let other = inherited.first(where: { !($0.isUnix && $0.isListening) }) else { return }
    throw ConfigurationError(
      subject: "the inherited socket '\(other.name)'",
      message: other.isUnix
        ? "it does not listen for connections, as one of ListenStream= does"
        : "the control interface answers on Unix sockets alone")
  }

  /// One loop, and the credentials of whatever connects, for ``ControlAccess``: on the inherited sockets, else on the configured one, whose
  /// directory is made where nothing names it. Throws `SystemError`.
  static func serverConfiguration(
    _ configuration: AgentConfiguration, _ environment: [String: String], _ inherited: [InheritedSocket]
  ) throws -> HTTPServerConfiguration {
    var server = HTTPServerConfiguration(addresses: [])
    server.inherited = inherited
    if inherited.isEmpty {
      let socket = configuration.socketPath(environment: environment)
      // What the agent tells of it means the same to every client.
      let path = try FileSystem.absolutePath(socket.path)
      // Where something names the socket, its directory is the operator's business.
      if socket.isDefault { try FileSystem.createDirectories(FileSystem.parent(of: path)) }
      server.addresses = [.unix(path: path)]
    }
    server.loops = 1
    server.maximumConnections = 256
    // What takes longer, the check of a library, is stopped, so that the agent ends within ten seconds whatever runs.
    server.drainDeadline = .seconds(3)
    server.maximumBodyLength = .mebibytes(1)
    server.readsPeerCredentials = true
    server.useProblemDocuments()
    return server
  }
}
