import PullboxAPIServer
import Crypto
import HTTPServer
import CoreTypes
import PullboxAPI

/// Checks the tickets that requests for content carry, against keys and revocations.
struct TicketVerifier: Sendable {
  let settings: LiveSettings
  let revocations: RevocationList
  let clock: any WallClock

  /// Seconds since the epoch.
  var now: UInt64 { UInt64(max(0, clock.now().secondsSinceEpoch)) }

  /// Changes whenever a ticket that was verified might not be valid any more.
  var changes: UInt64 { settings.changes.current }

  /// The ticket of a request for that content. Throws `ticket-missing`, `ticket-invalid`, `ticket-expired`,
  /// `entitlement-revoked`, `content-withdrawn`.
  func ticket(of request: HTTPRequest, for digest: SHA256Digest) throws(Problem) -> Ticket {
    guard let text = request.queryValue("ticket") ?? request.bearerToken else {
      throw Problem(.ticketMissing, "a ticket is needed, as ?ticket= or Authorization: Bearer")
    }
    let bytes = Array(text.utf8)
    let ticket: Ticket
    do {
      ticket = try settings.value.keys.open(bytes.span, for: digest, now: now)
    } catch {
      switch error {
      case .invalid: throw Problem(.ticketInvalid)
      case .expired: throw Problem(.ticketExpired)
      }
    }
    if let reason = revocations.reason(ticket.grant, digest) { throw Problem(reason) }
    return ticket
  }
}
