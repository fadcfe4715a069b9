package import Commerce
package import CoreTypes
package import HTTPServer
import Synchronization

/// The settings of tickets, limits, proxies and prices that an operator may change while the server runs.
package struct DeliverySettings: Sendable {
  package var keys: TicketKeys
  package var ticketLifetime: Duration
  /// How long a license is good.
  package var licenseLifetime: Duration = .seconds(30 * 86_400)
  package var classes: RateClasses
  package var proxies = TrustedProxies()
  /// Nil where this server sends every body itself.
  package var accelRedirect: AccelRedirect?
  /// The sites whose pages may call the public interface.
  package var origins = CrossOriginPolicy.none
  /// By whose rules prices are written where that is not by the likely language of their territory.
  package var priceLocales: [Territory: String] = [:]
  /// Since when: what is priced was another document before. A restart counts, which may have brought others.
  package var pricesSince = Timestamp(millisecondsSinceEpoch: 0)

  package init(
    keys: TicketKeys, ticketLifetime: Duration, classes: RateClasses,
    proxies: TrustedProxies = TrustedProxies(), accelRedirect: AccelRedirect? = nil,
    origins: CrossOriginPolicy = CrossOriginPolicy.none, priceLocales: [Territory: String] = [:],
    pricesSince: Timestamp = Timestamp(millisecondsSinceEpoch: 0)
  ) {
    self.keys = keys
    self.ticketLifetime = ticketLifetime
    self.classes = classes
    self.proxies = proxies
    self.accelRedirect = accelRedirect
    self.origins = origins
    self.priceLocales = priceLocales
    self.pricesSince = pricesSince
  }
}

/// The settings that count now. What asks for every request keeps a copy and reads again when the generation
/// has changed.
package final class LiveSettings: Sendable {
  private let settings: Mutex<DeliverySettings>
  package let generation: Generation
  private let looksAtProxies: Atomic<Bool>
  private let looksAtOrigins: Atomic<Bool>

  package init(_ settings: DeliverySettings, generation: Generation) {
    self.settings = Mutex(settings)
    looksAtProxies = Atomic(Self.needsProxies(settings))
    looksAtOrigins = Atomic(!settings.origins.isNone)
    self.generation = generation
  }

  package var value: DeliverySettings { settings.locked { $0 } }

  /// Whether anything depends on the proxy that forwards a request: false for most servers, which then need
  /// not look.
  package var dependsOnProxies: Bool { looksAtProxies.load(ordering: .relaxed) }

  /// Whether the pages of any site may call this server: false for most servers.
  package var allowsOrigins: Bool { looksAtOrigins.load(ordering: .relaxed) }

  private static func needsProxies(_ settings: DeliverySettings) -> Bool {
    !settings.proxies.networks.isEmpty
  }

  /// Puts other settings in place of all and advances the generation, by which the loops notice it with their
  /// next request.
  package func replace(_ new: DeliverySettings) {
    settings.locked { $0 = new }
    looksAtProxies.store(Self.needsProxies(new), ordering: .relaxed)
    looksAtOrigins.store(!new.origins.isNone, ordering: .relaxed)
    generation.advance()
  }
}

extension LiveSettings {
  /// Puts other ticket keys in place of those that there are, unless they are the same.
  package func replaceKeys(_ keys: TicketKeys) {
    let isNew = settings.locked { settings in
      guard settings.keys.identifiers != keys.identifiers else { return false }
      settings.keys = keys
      return true
    }
    if isNew { generation.advance() }
  }

  /// The client's address, as a trusted proxy names it.
  package func client(of request: HTTPRequest) -> PeerAddress {
    guard dependsOnProxies else { return request.peer }
    return value.proxies.origin(of: request.peer, ForwardingFields(request)).client
  }
}
