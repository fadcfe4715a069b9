package import Crypto

/// A ticket that was verified, and what its next request needs. It is empty at first; a connection keeps its last one.
package struct VerifiedTicket {
  package var ticket = InlineArray<72, UInt8>(repeating: 0)
  /// Seconds since the epoch.
  package var expiry: UInt64 = 0
  /// The ``TicketVerifier/generation`` it was verified under.
  package var generation: UInt64 = 0
  package var package: OpenPackage?
  var meter: GrantMeter?
  package var limits = RateLimits.none

  /// Whether this is the ticket, for that package, and nothing has changed since it was verified. The texts are
  /// compared in constant time.
  @inline(__always)
  package func covers(_ text: Span<UInt8>, for digest: SHA256Digest, now: UInt64, generation: UInt64) -> Bool
  {
    guard self.generation == generation, now < expiry, let package, package.digest == digest else {
      return false
    }
    return equalInConstantTime(text, ticket.span)
  }
}

/// The tickets that one loop verified. A proxy sends the requests of many devices over few connections: their tickets
/// are compared with these, instead of computed anew with every request.
///
/// The cache is bounded: a newer ticket replaces an older one. It keeps packages open and meters alive until it is told to let
/// go: when a package was removed or enough of them were forgotten, and when a meter is due to be. Weak references would
/// need no word, but make every count of a reference to the same object several times as dear.
// @unchecked: used on its loop's thread only; ContentHandler makes one for each loop.
final class TicketCache: @unchecked Sendable {
  package static let capacity = 256

  private var entries: [VerifiedTicket] = []
  private var settings: DeliverySettings?
  private var settingsGeneration: UInt64 = 0

  /// The current settings, read again only after a change.
  package func settings(of current: LiveSettings, generation: UInt64) -> DeliverySettings {
    if let settings, settingsGeneration == generation { return settings }
    let read = current.value
    settings = read
    settingsGeneration = generation
    return read
  }

  /// The ticket with that text, if it was remembered and still opens the package.
  package func ticket(
    _ text: Span<UInt8>, for digest: SHA256Digest, now: UInt64, generation: UInt64
  ) -> VerifiedTicket? {
    guard !entries.isEmpty else { return nil }
    let slot = Self.slot(of: text)
    guard entries[slot].covers(text, for: digest, now: now, generation: generation) else { return nil }
    return entries[slot]
  }

  /// Keeps the ticket instead of the one in its slot.
  package func remember(_ ticket: VerifiedTicket, for text: Span<UInt8>) {
    if entries.isEmpty { entries = Array(repeating: VerifiedTicket(), count: Self.capacity) }
    entries[Self.slot(of: text)] = ticket
  }

  /// Lets go of all packages and meters: their tickets are verified anew.
  package func removeAll() { entries = [] }

  /// A slot by the end of the ticket, which is its code and as good as random.
  private static func slot(of text: Span<UInt8>) -> Int {
    var slot = 0
    for index in max(0, text.count - 4)..<text.count { slot = slot &* 31 &+ Int(text[index]) }
    return slot % capacity
  }
}
