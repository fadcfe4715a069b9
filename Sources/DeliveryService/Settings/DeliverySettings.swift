import Synchronization

/// What tickets, limits and proxies are judged by, and an operator may change while the server runs.
struct DeliverySettings: Sendable {
  var keys: TicketKeys
  var ticketLifetime: Duration
  var classes: RateClasses
  var proxies = TrustedProxies()
  /// Nil where this server sends every body itself.
  var accelRedirect: AccelRedirect?
}
