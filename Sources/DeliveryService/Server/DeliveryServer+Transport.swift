import PullboxAPIServer
import HTTPServer
import CoreTypes
import ServiceRuntime
import SystemCalls

/// Where the server is reached, and how.
extension DeliveryServer {
  /// Sockets that were handed over take the place of the configured addresses, those for TLS included.
  static func transport(
    _ configuration: DeliveryConfiguration, inherited: [InheritedSocket], log: Log
  ) throws -> HTTPServerConfiguration {
    var http = HTTPServerConfiguration(
      addresses: inherited.isEmpty ? try addresses(configuration.listen) : [])
    http.inherited = inherited
    if let tls = configuration.tls {
      let secure = TLSConfiguration(
        addresses: inherited.isEmpty ? try addresses(tls.listen ?? []) : [],
        certificateFile: tls.certificate, keyFile: tls.key)
      try warnOfExposedKey(secure, log: log)
      http.tls = secure
    }
    if !inherited.isEmpty {
      log.info(
        "listening on sockets that were handed over; 'listen' does not count",
        ["sockets": LogValue(inherited.map(\.name).joined(separator: " "))])
    }
    http.loops = configuration.loops
    http.drainDeadline = configuration.drainDeadline.duration
    http.useProblemDocuments()
    try limitConnections(&http, configuration)
    return http
  }

  private static func limitConnections(
    _ http: inout HTTPServerConfiguration, _ configuration: DeliveryConfiguration
  ) throws {
    http.maximumConnections = configuration.maximumConnections
    http.maximumConnectionsPerAddress = configuration.maximumConnectionsPerAddress
    guard configuration.headDeadline.duration > .zero, configuration.idleDeadline.duration > .zero else {
      throw StartError("headDeadline and idleDeadline: more than nothing is needed")
    }
    http.headDeadline = configuration.headDeadline.duration
    http.idleDeadline = configuration.idleDeadline.duration
    http.minimumReceiveRate = UInt64(configuration.minimumReceiveRate.bytes.rawValue)
    http.minimumSendRate = UInt64(configuration.minimumSendRate.bytes.rawValue)
    http.unlimitedAddresses += try (configuration.unlimitedAddresses ?? []).map { text in
      guard let network = PeerNetwork(text) else {
        throw StartError("not a network: \(text); such as 10.0.0.0/8 or 2001:db8::1")
      }
      return network
    }
  }

  private static func warnOfExposedKey(_ tls: TLSConfiguration, log: Log) throws {
    guard try tls.keyIsExposed() else { return }
    log.warning("everybody on this machine may read the TLS key", ["file": LogValue(tls.keyFile)])
  }

  private static func addresses(_ texts: [String]) throws -> [ServerAddress] {
    try texts.map { text in
      guard let address = ServerAddress(text) else {
        throw StartError("not an address: \(text); HOST:PORT or unix:PATH is needed")
      }
      return address
    }
  }
}
