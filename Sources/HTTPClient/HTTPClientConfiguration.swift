/// What holds for every transfer of a client.
public struct HTTPClientConfiguration: Sendable {
  /// Sent as `User-Agent` unless a request brings its own.
  public var userAgent = "pullbox"
  /// Connections kept for reuse, idle ones included.
  public var maximumConnections = 32
  /// Connections to one host at a time; further transfers wait for one. Zero is no bound.
  public var maximumConnectionsPerHost = 0
  /// Whether `http_proxy`, `https_proxy` and `no_proxy` of the environment count. Loopback addresses and Unix
  /// sockets are always reached directly.
  public var usesProxyOfEnvironment = true
  /// PEM file of the certificate authorities to trust in place of the system's.
  public var certificateAuthorityFile: String?

  public init() {}
}
