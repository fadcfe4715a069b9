import APIServing
import Digests
import HTTPServer
import Measures
import PullboxAPI

/// Checks the tickets that requests for content carry.
struct ContentAccess: Sendable {
  let keys: TicketKeys
  let clock: any WallClock

  /// Seconds since the epoch.
  var now: UInt64 { UInt64(max(0, clock.now().secondsSinceEpoch)) }

  /// The ticket of a request for that content. Throws `ticket-missing`, `ticket-invalid`, `ticket-expired`.
  func ticket(of request: HTTPRequest, for digest: SHA256Digest) throws(Problem) -> Ticket {
    guard let text = request.queryValue("ticket") ?? request.bearerToken else {
      throw Problem(.ticketMissing, "a ticket is needed, as ?ticket= or Authorization: Bearer")
    }
    let bytes = Array(text.utf8)
    do {
      return try keys.open(bytes.span, for: digest, now: now)
    } catch {
      switch error {
      case .invalid: throw Problem(.ticketInvalid)
      case .expired: throw Problem(.ticketExpired)
      }
    }
  }
}
