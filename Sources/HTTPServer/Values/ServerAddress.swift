/// Where a server listens.
public enum ServerAddress: Hashable, Sendable {
  /// `host` is a numeric IPv4 or IPv6 address (no brackets) or `localhost`; port 0 asks for any free one.
  case tcp(host: String, port: UInt16)
  /// A Unix socket: the path of its file, of at most 107 bytes, or an abstract name that begins with `@`.
  case unix(path: String)
}

extension ServerAddress: LosslessStringConvertible {
  /// Reads `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080` and `unix:/run/pullbox.sock`; nil for anything
  /// else.
  public init?(_ description: String) {
    if description.hasPrefix("unix:") {
      let path = String(description.dropFirst(5))
      guard !path.isEmpty else { return nil }
      self = .unix(path: path)
      return
    }
    guard let colon = description.lastIndex(of: ":"),
      let port = UInt16(description[description.index(after: colon)...])
    else { return nil }
    var host = description[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      return nil
    }
    guard !host.isEmpty else { return nil }
    self = .tcp(host: String(host), port: port)
  }

  /// The notation that ``init(_:)`` reads.
  public var description: String {
    switch self {
    case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .unix(let path): "unix:\(path)"
    }
  }
}
