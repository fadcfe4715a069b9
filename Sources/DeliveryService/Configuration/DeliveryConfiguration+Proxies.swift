import HTTPServer
import ServiceRuntime

extension DeliveryConfiguration {
  /// Throws ``StartError`` for what is neither an address nor a block of them.
  func proxies() throws -> TrustedProxies {
    TrustedProxies(
      networks: try (trustedProxies ?? []).map { text in
        guard let network = PeerNetwork(text) else {
          throw StartError("trustedProxies: \(text) is no address, no block such as 10.0.0.0/8, and not unix")
        }
        return network
      })
  }

  /// Throws ``StartError`` for what is no path.
  func accelRedirect() throws -> AccelRedirect? {
    guard let accelRedirectPrefix else { return nil }
    guard let redirect = AccelRedirect(prefix: accelRedirectPrefix, longest: accelRedirectLongest?.bytes)
    else {
      throw StartError("accelRedirectPrefix: \(accelRedirectPrefix) is no path")
    }
    return redirect
  }

  /// Everything of the gate that may change while it runs. Throws ``StartError``.
  func deliverySettings(keys: TicketKeys) throws -> DeliverySettings {
    DeliverySettings(
      keys: keys, ticketLifetime: ticketLifetime.duration, classes: try classes(), proxies: try proxies(),
      accelRedirect: try accelRedirect())
  }
}
