import Commerce
import CoreTypes
import Synchronization

/// What tickets, limits and proxies are decided by, and an operator may change while the server runs.
struct DeliverySettings: Sendable {
  var keys: TicketKeys
  var ticketLifetime: Duration
  var classes: RateClasses
  var proxies = TrustedProxies()
  /// Nil where this server sends every body itself.
  var accelRedirect: AccelRedirect?
  /// The sites whose pages may call the public interface.
  var origins = CrossOriginPolicy.none
  /// By whose rules prices are written where that is not by the likely language of their territory.
  var priceLocales: [Territory: String] = [:]
  /// Since when: what is priced was another document before. A restart counts, which may have brought others.
  var pricesSince = Timestamp(millisecondsSinceEpoch: 0)
}

/// The settings that count now. What asks for every request keeps a copy and reads again when the generation
/// has changed.
final class LiveSettings: Sendable {
  private let settings: Mutex<DeliverySettings>
  let generation: Generation
  private let looksAtProxies: Atomic<Bool>
  private let looksAtOrigins: Atomic<Bool>

  init(_ settings: DeliverySettings, generation: Generation) {
    self.settings = Mutex(settings)
    looksAtProxies = Atomic(Self.needsProxies(settings))
    looksAtOrigins = Atomic(!settings.origins.isNone)
    self.generation = generation
  }

  var value: DeliverySettings { settings.withLock { $0 } }

  /// Whether anything depends on the proxy that forwards a request: false for most servers, which then need
  /// not look.
  var dependsOnProxies: Bool { looksAtProxies.load(ordering: .relaxed) }

  /// Whether the pages of any site may call this server: false for most servers.
  var allowsOrigins: Bool { looksAtOrigins.load(ordering: .relaxed) }

  private static func needsProxies(_ settings: DeliverySettings) -> Bool {
    !settings.proxies.networks.isEmpty
  }

  func replace(_ new: DeliverySettings) {
    settings.withLock { $0 = new }
    looksAtProxies.store(Self.needsProxies(new), ordering: .relaxed)
    looksAtOrigins.store(!new.origins.isNone, ordering: .relaxed)
    generation.advance()
  }
}
