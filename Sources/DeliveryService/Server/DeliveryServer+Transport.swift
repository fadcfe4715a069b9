import ContentDelivery
import CoreTypes
import Files
import Glibc
import HTTPServer
import PullboxAPIServer
import ServiceRuntime
import SystemCalls

/// The server's addresses, TLS and limits of connections, made from the configuration.
extension DeliveryServer {
  /// Sockets that were handed over take the place of the configured addresses, those for TLS included.
  static func transport(
    _ configuration: DeliveryConfiguration, inherited: [InheritedSocket], log: Log
  ) throws -> HTTPServerConfiguration {
    let inherited = inherited.filter { $0.name != managementSocketName }
    var http = HTTPServerConfiguration(
      addresses: inherited.isEmpty
        ? try DeliveryConfiguration.addresses(configuration.listen, of: "listen") : [])
    http.inherited = inherited
    if let tls = configuration.tls {
      var secure = TLSConfiguration(
        addresses: inherited.isEmpty
          ? try DeliveryConfiguration.addresses(tls.listen ?? [], of: "tls.listen") : [],
        certificateFile: tls.certificate, keyFile: tls.key)
      secure.strictTransport = tls.strictTransport?.duration
      http.tls = secure
    }
    if !inherited.isEmpty {
      log.info(
        "listening on sockets that were handed over; 'listen' does not count",
        ["sockets": LogValue(inherited.map(\.name).joined(separator: " "))])
    }
    http.loops = configuration.loops
    http.drainDeadline = configuration.drainDeadline.duration
    try limitConnections(&http, configuration)
    let descriptors = try DescriptorLimit.current()
    http.maximumConnections = connections(
      wanted: configuration.maximumConnections, of: descriptors,
      loops: configuration.loops > 0 ? configuration.loops : Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
    if http.maximumConnections < configuration.maximumConnections {
      log.warning(
        "fewer connections than configured: the others would leave no file descriptors for content",
        [
          "connections": LogValue(http.maximumConnections),
          "configured": LogValue(configuration.maximumConnections),
          "descriptors": LogValue(descriptors),
        ])
    }
    return http
  }

  /// How many of the wanted connections leave file descriptors for everything else: the packages that are kept open, those
  /// that only connections between two requests have open, the connections that are only told to come back (64 a loop), and 384 for the database, uploads, calls of stores, logs and
  /// the management's connections. Half of the descriptors at least are for connections.
  static func connections(wanted: Int, of descriptors: Int, loops: Int) -> Int {
    let reserve = OpenPackageCache.maximumOpen + OpenPackageCache.maximumForgotten + 64 * loops + 384
    return max(1, min(wanted, max(descriptors / 2, descriptors - reserve)))
  }

  private static func limitConnections(
    _ http: inout HTTPServerConfiguration, _ configuration: DeliveryConfiguration
  ) throws {
    http.maximumConnections = configuration.maximumConnections
    http.maximumConnectionsPerAddress = configuration.maximumConnectionsPerAddress
    try configuration.checkDeadlines()
    http.headDeadline = configuration.headDeadline.duration
    http.idleDeadline = configuration.idleDeadline.duration
    http.minimumReceiveRate = UInt64(configuration.minimumReceiveRate.bytes.rawValue)
    http.minimumSendRate = UInt64(configuration.minimumSendRate.bytes.rawValue)
    http.unlimitedAddresses += try configuration.unlimitedNetworks()
    // More could hardly be admitted, and each has a task and what has come of its body.
    http.maximumWaitingRequests = 256
    // A body that no request may keep yet waits in the kernel: what was received at once, and no more.
    http.bodyBufferLength = 16_384
  }

  /// The addresses of the routes for operators and monitoring; nil where they have none of their own. It is a server
  /// of its own, with a loop of its own: it answers when the public one is as full as it may be.
  static func managementTransport(
    _ configuration: DeliveryConfiguration, inherited: [InheritedSocket]
  ) throws -> HTTPServerConfiguration? {
    let sockets = inherited.filter { $0.name == managementSocketName }
    guard configuration.management != nil || !sockets.isEmpty else { return nil }
    let texts = sockets.isEmpty ? configuration.management?.listen ?? [] : []
    var http = HTTPServerConfiguration(
      addresses: try DeliveryConfiguration.addresses(texts, of: "management.listen"))
    http.inherited = sockets
    http.loops = 1
    http.drainDeadline = configuration.drainDeadline.duration
    try limitConnections(&http, configuration)
    http.maximumConnections = min(configuration.maximumConnections, 256)
    return http
  }

  /// The name that `FileDescriptorName=` gives a socket for operators and monitoring.
  static let managementSocketName = "management"
}
