// Whichever of the two modules the compiler finds the socket addresses in first.
internal import CLinux
internal import Glibc
import HTTPParsing

/// A block of addresses, such as those of the proxies in front of a server.
public struct PeerNetwork: Hashable, Sendable, LosslessStringConvertible {
  /// The kind of its addresses.
  public let family: PeerAddress.Family
  /// Bits that all its addresses begin with: 0 to 32, or to 128.
  public let prefixLength: Int
  private let high: UInt64
  private let low: UInt64

  /// 127.0.0.0/8.
  public static let loopback4 = PeerNetwork(family: .version4, prefixLength: 8, high: 0, low: 0x7F00_0000)
  /// ::1.
  public static let loopback6 = PeerNetwork(family: .version6, prefixLength: 128, high: 0, low: 1)
  /// Every peer that connects through a Unix socket.
  public static let unix = PeerNetwork(family: .unix, prefixLength: 0, high: 0, low: 0)

  private init(family: PeerAddress.Family, prefixLength: Int, high: UInt64, low: UInt64) {
    let (highMask, lowMask) = PeerNetwork.masks(of: family, prefixLength: prefixLength)
    self.family = family
    self.prefixLength = prefixLength
    self.high = high & highMask
    self.low = low & lowMask
  }

  /// Reads `10.0.0.0/8`, `192.0.2.7`, `2001:db8::/32`, `::1` and `unix`; nil for anything else. Bits behind
  /// the prefix do not count.
  public init?(_ description: String) {
    if description == "unix" {
      self = .unix
      return
    }
    let parts = description.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(
      String.init)
    var four = in_addr()
    var six = in6_addr()
    let family: PeerAddress.Family
    let width: Int
    var bits: (UInt64, UInt64) = (0, 0)
    if unsafe inet_pton(AF_INET, parts[0], &four) == 1 {
      family = .version4
      width = 32
      bits.1 = UInt64(UInt32(bigEndian: four.s_addr))
    } else if unsafe inet_pton(AF_INET6, parts[0], &six) == 1 {
      family = .version6
      width = 128
      bits = unsafe withUnsafeBytes(of: &six) {
        unsafe (
          UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
          UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        )
      }
    } else {
      return nil
    }
    var prefix = width
    if parts.count > 1 {
      guard parts[1].utf8.allSatisfy(ASCII.isDigit), let number = Int(parts[1]), number <= width else {
        return nil
      }
      prefix = number
    }
    self.init(family: family, prefixLength: prefix, high: bits.0, low: bits.1)
  }

  /// The block that one host is expected to have: a version 4 address, or the 64 bits that a version 6 host
  /// does not choose.
  public init(limiting peer: PeerAddress) {
    self.init(
      family: peer.family, prefixLength: peer.family == .version4 ? 32 : peer.family == .version6 ? 64 : 0,
      high: peer.high, low: peer.low)
  }

  /// Whether the address is of this family and begins with the network's bits; its port does not matter.
  public func contains(_ peer: PeerAddress) -> Bool {
    guard peer.family == family else { return false }
    let (highMask, lowMask) = PeerNetwork.masks(of: family, prefixLength: prefixLength)
    return peer.high & highMask == high && peer.low & lowMask == low
  }

  var firstBits: (high: UInt64, low: UInt64) { (high, low) }

  /// The notation that ``init(_:)`` reads, always with a prefix length, or `unix`.
  public var description: String {
    if family == .unix { return "unix" }
    return "\(PeerAddress(family: family, port: 0, high: high, low: low).host)/\(prefixLength)"
  }

  private static func masks(of family: PeerAddress.Family, prefixLength prefix: Int) -> (UInt64, UInt64) {
    switch family {
    case .unix: (0, 0)
    // Shifts by the width and more give zero, negative ones shift the other way: no case needs its own.
    case .version4: (0, UInt64(UInt32.max << UInt32(32 - prefix)))
    case .version6: (UInt64.max << UInt64(max(0, 64 - prefix)), UInt64.max << UInt64(min(64, 128 - prefix)))
    }
  }
}
