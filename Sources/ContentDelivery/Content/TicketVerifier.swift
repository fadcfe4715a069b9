package import CoreTypes
package import Crypto
package import HTTPServer
package import PullboxAPI
import PullboxAPIServer

/// Checks the tickets of requests for content, against keys and revocations.
package struct TicketVerifier: Sendable {
  package let settings: LiveSettings
  package let revocations: RevocationList
  package let clock: any WallClock

  package init(settings: LiveSettings, revocations: RevocationList, clock: any WallClock) {
    self.settings = settings
    self.revocations = revocations
    self.clock = clock
  }

  /// Seconds since the epoch.
  package var now: UInt64 { UInt64(max(0, clock.now().secondsSinceEpoch)) }

  /// Another number whenever a ticket that was verified might not be valid any more.
  package var generation: UInt64 { settings.generation.current }

  /// The ticket of a request for that content. Throws `ticket-missing`, `ticket-invalid`, `ticket-expired`,
  /// `entitlement-revoked`, `content-withdrawn`, `content-damaged`.
  package func ticket(of request: HTTPRequest, for digest: SHA256Digest) throws(Problem) -> Ticket {
    guard let text = request.queryValue("ticket") ?? request.bearerToken else {
      throw ContentRefusal.ticketMissing.problem
    }
    let bytes = Array(text.utf8)
    let ticket: Ticket
    do {
      ticket = try settings.value.keys.open(bytes.span, for: digest, now: now)
    } catch {
      throw ContentRefusal(error).problem
    }
    if let reason = revocations.reason(for: ticket.handle, content: digest) { throw .stopped(reason) }
    return ticket
  }
}
