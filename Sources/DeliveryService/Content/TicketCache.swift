import Crypto

/// A ticket that was verified, and what its next request needs. Empty to begin with. A connection keeps its last one.
struct VerifiedTicket {
  var ticket = InlineArray<72, UInt8>(repeating: 0)
  /// Seconds since the epoch.
  var expiry: UInt64 = 0
  /// The ``TicketVerifier/changes`` it was verified under.
  var changes: UInt64 = 0
  var package: OpenPackage?
  var meter: GrantMeter?
  var limits = RateLimits.none

  @inline(__always)
  func covers(_ text: Span<UInt8>, _ digest: SHA256Digest, now: UInt64, changes: UInt64) -> Bool {
    guard self.changes == changes, now < expiry, let package, package.digest == digest else { return false }
    return equalInConstantTime(text, ticket.span)
  }
}

/// The tickets that one loop verified, so that those of many devices that come over few connections, as a proxy's do, are
/// not computed anew with every request.
///
/// Bounded: a newer ticket takes the place of an older one. It keeps neither packages open nor meters alive: a package that
/// nothing else holds is closed, and its tickets are verified anew when it is open again.
// @unchecked: used on its loop's thread only; ContentHandler makes one for each loop.
final class TicketCache: @unchecked Sendable {
  static let capacity = 256

  private struct Entry {
    /// Without its package and its meter.
    var ticket = VerifiedTicket()
    weak var package: OpenPackage?
    weak var meter: GrantMeter?
  }

  private var entries: [Entry] = []
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

  /// The ticket of that text if it was remembered and opens the content still.
  func ticket(
    _ text: Span<UInt8>, for digest: SHA256Digest, now: UInt64, changes: UInt64
  ) -> VerifiedTicket? {
    guard !entries.isEmpty else { return nil }
    let place = Self.place(of: text)
    guard let package = entries[place].package, let meter = entries[place].meter else { return nil }
    var ticket = entries[place].ticket
    ticket.package = package
    ticket.meter = meter
    return ticket.covers(text, digest, now: now, changes: changes) ? ticket : nil
  }

  func remember(_ ticket: VerifiedTicket, for text: Span<UInt8>) {
    if entries.isEmpty { entries = Array(repeating: Entry(), count: Self.capacity) }
    var entry = Entry(ticket: ticket, package: ticket.package, meter: ticket.meter)
    entry.ticket.package = nil
    entry.ticket.meter = nil
    entries[Self.place(of: text)] = entry
  }

  /// A ticket ends with its code, which is as good as random.
  private static func place(of text: Span<UInt8>) -> Int {
    var place = 0
    for index in max(0, text.count - 4)..<text.count { place = place &* 31 &+ Int(text[index]) }
    return place % capacity
  }
}
