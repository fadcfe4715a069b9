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
      guard ConfigurationURL.isLoopback(host: host) else {
        throw refusal("\(text) is not this device's alone; 127.0.0.1:PORT, [::1]:PORT or unix:PATH is needed")
      }
      return address
    }
  }

  private static func refusal(_ message: String) -> ConfigurationError {
    ConfigurationError(subject: "catalogListen", message: message)
  }
}
