// Whichever of the two modules the compiler finds the socket addresses in first.
internal import CLinux
internal import Glibc
import HTTPParsing

/// The address at the other end of a connection: an IP address with its port, or a Unix socket.
public struct PeerAddress: Hashable, Sendable, CustomStringConvertible {
  /// The kinds of address that a peer has.
  public enum Family: UInt8, Hashable, Sendable {
    /// A Unix socket, whose other end has no address.
    case unix
    /// An IPv4 address, mapped ones included.
    case version4
    /// Any other IPv6 address.
    case version6
  }

  /// Tells how to read ``high`` and ``low``.
  public let family: Family
  /// The peer's port; 0 for a Unix socket, and where it is not known.
  public let port: UInt16
  /// The upper 64 bits of a version 6 address, as a number; 0 in version 4.
  public let high: UInt64
  /// The lower 64 bits of a version 6 address; a whole version 4 address in its lower 32 bits.
  public let low: UInt64

  /// The peer of a Unix socket.
  public static let unix = PeerAddress(family: .unix, port: 0, high: 0, low: 0)

  /// An address from its bits; see ``high`` and ``low``.
  public init(family: Family, port: UInt16, high: UInt64, low: UInt64) {
    self.family = family
    self.port = port
    self.high = high
    self.low = low
  }

  /// An address without brackets, of either version; nil for anything else. A version 4 address mapped into
  /// version 6 (RFC 4291 §2.5.5.2) is a version 4 address.
  public init?(host: String, port: UInt16 = 0) {
    self.init(host: host.utf8.span, port: port)
  }

  /// The same from ASCII, without allocating anything.
  public init?(host: Span<UInt8>, port: UInt16 = 0) {
    if let address = AddressText.version4(host) {
      self.init(family: .version4, port: port, high: 0, low: UInt64(address))
    } else if let (high, low) = AddressText.version6(host) {
      let isMapped = high == 0 && low >> 32 == 0xFFFF
      self.init(
        family: isMapped ? .version4 : .version6, port: port, high: high,
        low: isMapped ? low & 0xFFFF_FFFF : low)
    } else {
      return nil
    }
  }

  /// A version 4 address that came through a version 6 socket is a version 4 address.
  init(_ storage: sockaddr_storage) {
    switch Int32(storage.ss_family) {
    case AF_INET:
      let address = unsafe withUnsafeBytes(of: storage) { unsafe $0.load(as: sockaddr_in.self) }
      self.init(
        family: .version4, port: UInt16(bigEndian: address.sin_port), high: 0,
        low: UInt64(UInt32(bigEndian: address.sin_addr.s_addr)))
    case AF_INET6:
      let address = unsafe withUnsafeBytes(of: storage) { unsafe $0.load(as: sockaddr_in6.self) }
      var bits = address.sin6_addr
      let (high, low) = unsafe withUnsafeBytes(of: &bits) {
        unsafe (
          UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
          UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        )
      }
      let isMapped = high == 0 && low >> 32 == 0xFFFF
      self.init(
        family: isMapped ? .version4 : .version6, port: UInt16(bigEndian: address.sin6_port), high: high,
        low: isMapped ? low & 0xFFFF_FFFF : low)
    default: self = .unix
    }
  }

  /// `127.0.0.1:8080`, `[::1]:8080`, or `unix`.
  public var description: String {
    var bytes: [UInt8] = []
    appendDescription(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Without port and brackets.
  public var host: String {
    var bytes: [UInt8] = []
    AddressText.append(self, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Appends ``description`` in ASCII, without making a text of it.
  public func appendDescription(to bytes: inout [UInt8]) {
    if family == .version6 { bytes.append(ASCII.leftBracket) }
    AddressText.append(self, to: &bytes)
    if family == .unix { return }
    if family == .version6 { bytes.append(ASCII.rightBracket) }
    bytes.append(ASCII.colon)
    AddressText.append(decimal: port, to: &bytes)
  }
}
