import Commerce
import Crypto
import CoreTypes
import PullboxAPI
import Synchronization

/// Seals tickets for grants that live, with the newest key.
final class TicketIssuer: Sendable {
  private let settings: LiveSettings
  private let clock: any WallClock
  private let first = Atomic<Int>(0)
  private let later = Atomic<Int>(0)

  init(settings: LiveSettings, clock: any WallClock) {
    self.settings = settings
    self.clock = clock
  }

  /// Tickets since the start, for the metrics: with a grant, and to renew one.
  var issued: Int { first.load(ordering: .relaxed) }
  var renewed: Int { later.load(ordering: .relaxed) }

  /// Expiries are whole seconds; the last one is rounded up, so that a ticket is never shorter than promised.
  func issue(for grant: GrantRecord, isRenewal: Bool) -> TicketResponse {
    let settings = settings.value
    let expires = clock.now() + settings.ticketLifetime + .milliseconds(999)
    let seconds = max(0, expires.secondsSinceEpoch)
    let key = settings.keys.newest
    let ticket = Ticket(
      rateClass: settings.classes.number(for: grant.product.text), keyIdentifier: key.identifier,
      expiry: UInt64(seconds), grant: Ticket.InlineGrant(grant.id), device: Ticket.tag(of: grant.device))
    if isRenewal { later.add(1, ordering: .relaxed) } else { first.add(1, ordering: .relaxed) }
    return TicketResponse(
      ticket: ticket.sealed(with: key.secret, for: grant.digest),
      ticketExpires: Timestamp(millisecondsSinceEpoch: seconds * 1000))
  }
}
