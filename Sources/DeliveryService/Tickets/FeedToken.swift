import CoreTypes
import Crypto

/// Names a feed and its device, sealed with a key of tickets: good for `GET /v1/feed` and nothing else.
///
/// It has 45 bytes, in base64url 60 characters without padding; numbers are big-endian:
///
///     offset  length  meaning
///          0       1  layout, 129: no ticket's
///          1       4  key id
///          5       8  expiry, seconds since 1970-01-01T00:00:00Z
///         13       8  number of the feed
///         21       8  first bytes of SHA-256(device identifier)
///         29      16  first bytes of HMAC-SHA256(key, bytes 0..<29)
struct FeedToken: Hashable, Sendable {
  static let layout: UInt8 = 129
  static let textLength = 60
  private static let authenticatedLength = 29

  /// The token is good before this second, not in it.
  var expiry: UInt64
  var feed: Int64
  /// ``Ticket/tag(of:)`` the device.
  var device: UInt64

  func sealed(with key: TicketKeys.Key) -> String {
    let head =
      [Self.layout] + key.identifier.bigEndianBytes + expiry.bigEndianBytes + feed.bigEndianBytes
      + device.bigEndianBytes
    return Base64.encode(head + Self.code(of: head, with: key), .url)
  }

  /// Throws ``TicketKeys/Refusal``: `expired` only for a genuine one.
  init(_ text: String, openedWith keys: TicketKeys, now: UInt64) throws(TicketKeys.Refusal) {
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
    guard now < expiry else { throw .expired }
  }

  init(expiry: UInt64, feed: Int64, device: UInt64) {
    self.expiry = expiry
    self.feed = feed
    self.device = device
  }

  private static func code(of head: [UInt8], with key: TicketKeys.Key) -> [UInt8] {
    // What tickets authenticate is longer, and ends in a digest.
    let nothing: [UInt8] = []
    return Array(key.secret.authenticate(head.span, nothing.span).array.prefix(16))
  }
}
