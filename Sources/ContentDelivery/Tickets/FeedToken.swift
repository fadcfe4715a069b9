import CoreTypes
import Crypto

/// Names a feed, its device and its customer, sealed with a key of tickets: good for `GET /v1/feed` and nothing else.
///
/// It has 53 bytes, in base64url 71 characters without padding; numbers are big-endian:
///
///     offset  length  meaning
///          0       1  layout, 130: no ticket's
///          1       4  key id
///          5       8  expiry, seconds since 1970-01-01T00:00:00Z
///         13       8  number of the feed
///         21       8  first bytes of SHA-256(device identifier)
///         29       8  first bytes of SHA-256(customer), 0 for the feed of proofs without a purchase
///         37      16  first bytes of HMAC-SHA256(key, bytes 0..<37)
///
/// Layout 129, of 60 characters, named no customer. What is left of it is over: its device shows its proof again.
package struct FeedToken: Hashable, Sendable {
  static let layout: UInt8 = 130
  static let textLength = 71
  private static let authenticatedLength = 37
  private static let former: (layout: UInt8, textLength: Int) = (129, 60)

  /// The token is good before this second, not in it.
  package var expiry: UInt64
  package var feed: Int64
  /// ``Ticket/tag(of:)`` the device.
  package var device: UInt64
  /// ``tag(ofCustomer:)``.
  package var customer: UInt64

  /// The number that stands for the customer whose identifier has these bytes; 0 for none.
  package static func tag(ofCustomer bytes: [UInt8]?) -> UInt64 {
    guard let bytes else { return 0 }
    return SHA256Digest.of(bytes).array.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  package func sealed(with key: TicketKeys.Key) -> String {
    let head =
      [Self.layout] + key.identifier.bigEndianBytes + expiry.bigEndianBytes + feed.bigEndianBytes
      + device.bigEndianBytes + customer.bigEndianBytes
    return Base64.encode(head + Self.code(of: head, with: key), .url)
  }

  /// Throws ``TicketKeys/Refusal``: `expired` only for a genuine one, and for what has the former layout.
  package init(_ text: String, openedWith keys: TicketKeys, now: UInt64) throws(TicketKeys.Refusal) {
    if text.utf8.count == Self.former.textLength, Base64.decode(text, .url)?.first == Self.former.layout {
      throw .expired
    }
    guard text.utf8.count == Self.textLength, let bytes = Base64.decode(text, .url),
      bytes.count == Self.authenticatedLength + 16, bytes[0] == Self.layout
    else { throw .invalid }
    func number(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
    let head = Array(bytes.prefix(Self.authenticatedLength))
    guard let key = keys.key(UInt32(truncatingIfNeeded: number(1..<5))) else { throw .invalid }
    let sealed = Array(bytes.dropFirst(Self.authenticatedLength))
    let code = Self.code(of: head, with: key)
    guard equalInConstantTime(sealed.span, code.span) else { throw .invalid }
    expiry = number(5..<13)
    feed = Int64(bitPattern: number(13..<21))
    device = number(21..<29)
    customer = number(29..<37)
    guard now < expiry else { throw .expired }
  }

  package init(expiry: UInt64, feed: Int64, device: UInt64, customer: UInt64) {
    self.expiry = expiry
    self.feed = feed
    self.device = device
    self.customer = customer
  }

  private static func code(of head: [UInt8], with key: TicketKeys.Key) -> [UInt8] {
    // What tickets authenticate is longer, and ends in a digest.
    let nothing: [UInt8] = []
    return Array(key.secret.authenticate(head.span, nothing.span).array.prefix(16))
  }
}
