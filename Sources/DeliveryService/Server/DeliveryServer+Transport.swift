import CoreTypes
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
    var http = HTTPServerConfiguration(
      addresses: inherited.isEmpty ? try addresses(configuration.listen, of: "listen") : [])
    http.inherited = inherited
    if let tls = configuration.tls {
      var secure = TLSConfiguration(
        addresses: inherited.isEmpty ? try addresses(tls.listen ?? [], of: "tls.listen") : [],
        certificateFile: tls.certificate, keyFile: tls.key)
      secure.strictTransport = tls.strictTransport?.duration
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
    for (key, deadline) in [
      ("headDeadline", configuration.headDeadline), ("idleDeadline", configuration.idleDeadline),
    ] where deadline.duration <= .zero {
      throw ConfigurationError(subject: key, message: "more than nothing is needed")
    }
    http.headDeadline = configuration.headDeadline.duration
    http.idleDeadline = configuration.idleDeadline.duration
    http.minimumReceiveRate = UInt64(configuration.minimumReceiveRate.bytes.rawValue)
    http.minimumSendRate = UInt64(configuration.minimumSendRate.bytes.rawValue)
    http.unlimitedAddresses += try (configuration.unlimitedAddresses ?? []).map { text in
      guard let network = PeerNetwork(text) else {
        throw ConfigurationError(
          subject: "unlimitedAddresses", message: "not a network: \(text); such as 10.0.0.0/8 or 2001:db8::1")
      }
      return network
    }
  }

  private static func warnOfExposedKey(_ tls: TLSConfiguration, log: Log) throws {
    guard try tls.keyIsExposed() else { return }
    log.warning("every user of this machine may read the TLS key", ["file": LogValue(tls.keyFile)])
  }

  private static func addresses(_ texts: [String], of key: String) throws -> [ServerAddress] {
    try texts.map { text in
      guard let address = ServerAddress(text) else {
        throw ConfigurationError(
          subject: key, message: "not an address: \(text); HOST:PORT or unix:PATH is needed")
      }
      return address
    }
  }
}
