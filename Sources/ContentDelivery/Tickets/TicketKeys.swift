package import CoreTypes
package import Crypto
import PullboxAPI
import ServiceAPI

/// The keys that tickets are sealed with. New tickets use the newest key that seals; older keys are kept until none of their
/// tickets can still be valid, so that a rotation refuses no client. It is a value: each loop holds a copy, so a
/// check takes no lock. ``TicketKeyFile`` keeps the keys on disk.
///
///     let keys = try TicketKeyFile.loadOrCreate(TicketKeyFile.path(in: state))
///     let text = ticket.sealed(with: keys.sealing(at: clock.now()).secret, for: digest)
///     do {
///       let ticket = try keys.open(Array(text.utf8).span, for: digest, now: now)
///     } catch .expired {
///       // A genuine ticket, too late: the client renews it.
///     }
package struct TicketKeys: Sendable {
  /// A secret, and the number by which tickets name it.
  package struct Key: Sendable {
    package var identifier: UInt32
    package var secret: MessageAuthenticationKey
    /// The time from which tickets are sealed with it; nil for at once. It opens them before as well.
    var seals: Timestamp?
  }

  /// Newest first; never empty.
  private let keys: [Key]

  /// Nil for an empty list.
  package init?(_ keys: [Key]) {
    guard !keys.isEmpty else { return nil }
    self.keys = keys
  }

  /// The numbers of the keys, the newest first.
  package var identifiers: [UInt32] { keys.map(\.identifier) }

  /// The key that was added last.
  package var newest: Key { keys[0] }

  /// The key that tickets are sealed with at that time: the newest that has begun to.
  package func sealing(at now: Timestamp) -> Key {
    keys.first { $0.seals.map { $0 <= now } ?? true } ?? keys[keys.count - 1]
  }

  /// The key of that number; nil where there is none any more.
  package func key(_ identifier: UInt32) -> Key? { keys.first { $0.identifier == identifier } }

  /// Why a ticket does not open the package.
  package enum Refusal: Error, Equatable {
    /// No key here has sealed it for that package.
    case invalid
    /// It is genuine, and its time is over.
    case expired
  }

  /// Reads and checks a ticket for the package with that digest, at `now` in seconds since the epoch. Allocates
  /// nothing. A ticket with a wrong code is ``Refusal/invalid`` whatever else it says; only a genuine one can be
  /// ``Refusal/expired``.
  package func open(_ text: Span<UInt8>, for digest: SHA256Digest, now: UInt64) throws(Refusal) -> Ticket {
    guard text.count == Ticket.textLength else { throw .invalid }
    var bytes = InlineArray<54, UInt8>(repeating: 0)
    var output = bytes.mutableSpan
    guard Base64.decode(text, .url, into: &output) == Ticket.length, Ticket.openedLayouts.contains(bytes[0])
    else {
      throw .invalid
    }
    let sealed = bytes.span
    let keyIdentifier = UInt32(truncatingIfNeeded: sealed.bigEndian(at: 2, count: 4))
    guard let index = keys.firstIndex(where: { $0.identifier == keyIdentifier }) else { throw .invalid }
    let content = digest.bytes
    let code = keys[index].secret.authenticate(
      sealed.extracting(0..<Ticket.authenticatedLength), content.span
    ).bytes
    let codeLength = Ticket.length - Ticket.authenticatedLength
    guard
      equalInConstantTime(
        sealed.extracting(Ticket.authenticatedLength..<Ticket.length), code.span.extracting(0..<codeLength))
    else { throw .invalid }
    let ticket = Ticket(
      rateClass: sealed[1], keyIdentifier: keyIdentifier, expiry: sealed.bigEndian(at: 6, count: 8),
      handle: DeliveryHandle(
        high: sealed.bigEndian(at: 14, count: 8), low: sealed.bigEndian(at: 22, count: 8)),
      device: sealed.bigEndian(at: 30, count: 8))
    guard now < ticket.expiry else { throw .expired }
    return ticket
  }
}

extension Span<UInt8> {
  /// `count` bytes from `offset` as one number; at most 8.
  fileprivate func bigEndian(at offset: Int, count: Int) -> UInt64 {
    var value: UInt64 = 0
    for index in offset..<offset + count { value = value << 8 | UInt64(self[index]) }
    return value
  }
}
