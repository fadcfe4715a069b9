import Commerce
package import ContentDelivery
package import CoreTypes
import Crypto
import DeliveryModel
import DeliveryRecords
package import Monitoring
import PullboxAPI
import ServiceAPI
import Synchronization

/// Seals tickets for grants that live, with the newest key.
package final class TicketIssuer: Sendable {
  private let settings: LiveSettings
  private let clock: any WallClock
  private let started: Timestamp
  private let issued = Atomic<Int>(0)
  private let renewed = Atomic<Int>(0)
  /// In seconds; of this process's tickets.
  private let lastExpiry = Atomic<UInt64>(0)

  /// Creates an issuer. Its start is taken from `clock` now, for ``lastEnd``.
  package init(settings: LiveSettings, clock: any WallClock) {
    self.settings = settings
    self.clock = clock
    started = clock.now()
  }

  /// When all tickets that are out are over, also those of the processes before this one, whose lifetime may have been any.
  var lastEnd: Timestamp {
    let sealed = Timestamp(
      millisecondsSinceEpoch: Int64(clamping: lastExpiry.load(ordering: .relaxed)) * 1000)
    return max(sealed, clock.now() + lifetime + .seconds(1), started + TicketKeyFile.memory)
  }

  /// How long a ticket is good at most, as the server is configured now.
  package var lifetime: Duration { settings.value.ticketLifetime }

  /// Expiries are whole seconds; the last one is rounded up, so that a ticket is never shorter than promised. None is good for longer
  /// than its content is open, until `end`.
  func issue(for grant: GrantRecord, openUntil end: Timestamp?, isRenewal: Bool) -> TicketResponse {
    let settings = settings.value
    let now = clock.now()
    let lifetime = now + settings.ticketLifetime
    let expires = (end.map { min($0, lifetime) } ?? lifetime) + .milliseconds(999)
    let seconds = max(0, expires.secondsSinceEpoch)
    let key = settings.keys.sealing(at: now)
    let ticket = Ticket(
      rateClass: settings.classes.number(for: grant.product.description), keyIdentifier: key.identifier,
      expiry: UInt64(seconds), handle: grant.handle, device: Ticket.tag(of: grant.device))
    lastExpiry.max(UInt64(seconds), ordering: .relaxed)
    if isRenewal { renewed.add(1, ordering: .relaxed) } else { issued.add(1, ordering: .relaxed) }
    return TicketResponse(
      ticket: ticket.sealed(with: key.secret, for: grant.digest),
      ticketExpires: Timestamp(millisecondsSinceEpoch: seconds * 1000))
  }
}

extension TicketIssuer: MetricSource {
  /// Adds the tickets that this process has sealed since its start: those that came with a grant, and those that renewed one.
  package func register(in metrics: inout MetricRegistry) {
    metrics.register([
      .counter(
        "pullbox_tickets_total", help: "Tickets sealed, with a grant or to renew one.", labels: ["kind"]
      ) {
        [
          .init(self.issued.load(ordering: .relaxed), labels: ["issued"]),
          .init(self.renewed.load(ordering: .relaxed), labels: ["renewed"]),
        ]
      }
    ])
  }
}
