package import Commerce
import CoreTypes
package import Crypto
import PullboxAPI
package import ServiceAPI

/// A short-lived token for one grant and one package, which the delivery plane checks by itself: without the
/// database, the store or another process.
///
/// It has 54 bytes, in base64url 72 characters without padding; numbers are big-endian:
///
///     offset  length  meaning
///          0       1  layout, 2
///          1       1  rate class, 0 = the default
///          2       4  key id
///          6       8  expiry, seconds since 1970-01-01T00:00:00Z
///         14      16  delivery handle of the grant
///         30       8  first bytes of SHA-256(device identifier)
///         38      16  first bytes of HMAC-SHA256(key, bytes 0..<38 ‖ the content's SHA-256)
///
/// The digest is not carried: it is part of the address, and another one gives another code. Layout 1, of which there
/// may be tickets until they expire, has the grant's name in place of its handle; grants of that time have their name's
/// bytes as their handle, so that both read the same.
///
/// ``TicketIssuer`` makes tickets, ``TicketKeys`` opens them:
///
///     let ticket = Ticket(
///       keyIdentifier: key.identifier, expiry: 1_790_000_000, handle: grant.handle,
///       device: Ticket.tag(of: grant.device))
///     let text = ticket.sealed(with: key.secret, for: digest)  // "?ticket=AgAAAAAB…"
///     let opened = try keys.open(Array(text.utf8).span, for: digest, now: 1_789_999_999)
package struct Ticket: Hashable, Sendable {
  /// The first byte of what is sealed.
  static let layout: UInt8 = 2
  /// The first bytes that are opened.
  static let openedLayouts: ClosedRange<UInt8> = 1...2
  /// Bytes of a ticket.
  package static let length = 54
  /// Bytes before the code.
  static let authenticatedLength = 38
  /// Characters of a ticket in base64url.
  static let textLength = 72

  /// The number of a class of ``RateClasses``; 0 is the default.
  package var rateClass: UInt8 = 0
  package var keyIdentifier: UInt32
  /// Seconds since the epoch: the ticket is valid before this second, not in it.
  package var expiry: UInt64
  package var handle: DeliveryHandle
  /// ``tag(of:)`` the device.
  package var device: UInt64

  package init(
    rateClass: UInt8 = 0, keyIdentifier: UInt32, expiry: UInt64, handle: DeliveryHandle, device: UInt64
  ) {
    self.rateClass = rateClass
    self.keyIdentifier = keyIdentifier
    self.expiry = expiry
    self.handle = handle
    self.device = device
  }
}

extension Ticket {
  /// The number that stands for a device in its tickets: the first bytes of a digest, which do not name it.
  package static func tag(of device: DeviceIdentifier) -> UInt64 {
    SHA256Digest.of(device.description.utf8).array.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The bytes that the code covers.
  private var authenticated: [UInt8] {
    [Ticket.layout, rateClass] + keyIdentifier.bigEndianBytes + expiry.bigEndianBytes
      + handle.high.bigEndianBytes + handle.low.bigEndianBytes + device.bigEndianBytes
  }

  /// The text that clients send, for the package with that digest.
  package func sealed(with key: MessageAuthenticationKey, for digest: SHA256Digest) -> String {
    let head = authenticated
    let content = digest.bytes
    let code = key.authenticate(head.span, content.span)
    return Base64.encode(head + code.array.prefix(Ticket.length - Ticket.authenticatedLength), .url)
  }
}

extension FixedWidthInteger {
  /// Its bytes, the most significant first.
  var bigEndianBytes: [UInt8] {
    stride(from: bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> $0) }
  }
}
