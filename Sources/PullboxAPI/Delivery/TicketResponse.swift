public import CoreTypes

/// The answer to `POST /v1/grants/{grant}/tickets`.
public struct TicketResponse: Codable, Sendable {
  public var ticket: String
  public var ticketExpires: Timestamp

  public init(ticket: String, ticketExpires: Timestamp) {
    self.ticket = ticket
    self.ticketExpires = ticketExpires
  }
}
