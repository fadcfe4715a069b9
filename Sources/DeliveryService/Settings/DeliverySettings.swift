import Synchronization

/// What the gate decides by and an operator may change while it runs.
struct DeliverySettings: Sendable {
  var keys: TicketKeys
  var ticketLifetime: Duration
  var classes: RateClasses
  var proxies = TrustedProxies()
  /// Nil where this server sends every body itself.
  var handOff: AccelRedirect?
}
