import Digests
import Measures
import PullboxAPI

/// Seals tickets for grants that live.
struct TicketIssuer: Sendable {
  let keys: TicketKeys
  let lifetime: Duration
  let clock: any WallClock

  /// Expiries are whole seconds; the last one is rounded up, so that a ticket is never shorter than promised.
  func issue(for grant: GrantRecord) -> TicketResponse {
    let expires = clock.now() + lifetime + .milliseconds(999)
    let seconds = max(0, expires.secondsSinceEpoch)
    let ticket = Ticket(
      keyIdentifier: keys.newest.identifier, expiry: UInt64(seconds), grant: Ticket.InlineGrant(grant.id),
      device: Ticket.tag(of: grant.device))
    return TicketResponse(
      ticket: ticket.sealed(with: keys.newest.secret, for: grant.digest),
      ticketExpires: Timestamp(millisecondsSinceEpoch: seconds * 1000))
  }
}
