import Crypto

/// The tickets that one loop let in, so that those of many devices that come over few connections, as a proxy's do, are
/// not computed anew with every request. Bounded: a newer ticket takes the place of an older one.
// @unchecked: used on its loop's thread only; ContentHandler makes one for each loop.
final class TicketCache: @unchecked Sendable {
  static let capacity = 256

  private var admissions: [ContentHandler.VerifiedTicket] = []
  private var settings: DeliverySettings?
  private var settingsChanges: UInt64 = 0

  /// The settings that count now, read again only when something has changed.
  func settings(of current: LiveSettings, changes: UInt64) -> DeliverySettings {
    if let settings, settingsChanges == changes { return settings }
    let read = current.value
    settings = read
    settingsChanges = changes
    return read
  }

  func admission(for ticket: Span<UInt8>) -> ContentHandler.VerifiedTicket? {
    admissions.isEmpty ? nil : admissions[Self.place(of: ticket)]
  }

  func remember(_ admission: ContentHandler.VerifiedTicket, for ticket: Span<UInt8>) {
    if admissions.isEmpty {
      admissions = Array(repeating: ContentHandler.VerifiedTicket(), count: Self.capacity)
    }
    admissions[Self.place(of: ticket)] = admission
  }

  /// A ticket ends with its code, which is as good as random.
  private static func place(of ticket: Span<UInt8>) -> Int {
    var place = 0
    for index in max(0, ticket.count - 4)..<ticket.count { place = place &* 31 &+ Int(ticket[index]) }
    return place % capacity
  }
}
