package import HTTPServer
package import ServiceRuntime

/// An address at which the library is served as a catalog: this device's alone.
package enum CatalogAddress {
  /// Reads `127.0.0.1:PORT`, `[::1]:PORT`, `localhost:PORT` or `unix:PATH`. Throws ``ConfigurationError``, with the text, for anything
  /// else: what is bought is read on this device, and not from its network.
  package static func parse(_ text: String) throws(ConfigurationError) -> ServerAddress {
    guard let address = ServerAddress(text) else {
      throw refusal("not an address: \(text); 127.0.0.1:PORT, [::1]:PORT or unix:PATH is needed")
    }
    switch address {
    case .unix: return address
    case .tcp(let host, _):
      guard isLoopback(host) else {
        throw refusal("\(text) is not this device's alone; 127.0.0.1:PORT, [::1]:PORT or unix:PATH is needed")
      }
      return address
    }
  }

  private static func refusal(_ message: String) -> ConfigurationError {
    ConfigurationError(subject: "catalogListen", message: message)
  }

  /// An address of 127.0.0.0/8 or ::1 (RFC 6890), or the name that stands for them (RFC 6761 §6.3).
  private static func isLoopback(_ host: String) -> Bool {
    if host == "::1" || host == "localhost" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }
}
